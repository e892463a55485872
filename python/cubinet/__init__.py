"""Cubinet: grouped-GEMM kernels for mixture-of-experts models, compiled before they are needed and stored in a cabinet.

    import cubinet

    cubinet.warmup(model="config.json", sglang="--tp 8 --ep 8")  # compile every kernel that the server needs; no GPU
    cubinet.start(model="config.json", sglang="--tp 8 --ep 8")   # in the engine: load the kernels
    from cubinet import deep_gemm                                # and call them by DeepGEMM's names
    deep_gemm.m_grouped_bf16_gemm_nt_masked(a, b, d, masked_m, expected_m)

Importing this package does not import PyTorch.
"""

from __future__ import annotations

import atexit as _atexit
import json as _json
import os as _os
import sys as _sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from cubinet import _arguments, _binding, _error
from cubinet._error import Error
from cubinet._nvrtc import folders as _nvrtc_folders

__all__ = [
    "Background",
    "Error",
    "Problem",
    "StartReport",
    "__version__",
    "background",
    "cache_stats",
    "plan",
    "start",
    "wait_for_background",
    "warmup",
]

__version__: str = _binding.version

_DTYPES = _binding.dtypes
_LAYOUTS = _binding.layouts
_MISSES = ("compile", "fallback", "error")
_SHAPES = "a list of tuples (n, k, groups)"
_NOT_FOR_START = {"arch": None, "generic_only": False, "no_generic": False, "recorded": False, "recorded_from": None}
M_MAX = _binding.largest_m  # the largest M of a plan

_Path = _arguments.PathArgument
_Command = str | Sequence[str]


def _check_range(m_min: int, m_max: int) -> None:
    if m_min > m_max:
        raise ValueError(f"m_max: expected an int from m_min, {m_min}, got {m_max}")


@dataclass(frozen=True)
class Problem:
    """A grouped GEMM as one rank sees it: D = A @ B[g].T for each group g, with B (groups, N, K).

    dtype: type of the operands, "bf16" or "fp8"
    layout: "contiguous" or "masked"
    m_min, m_max: the range of M for which kernels are loaded, both ends included. M is the number of rows of A
        (contiguous), or of rows expected per group (masked)
    """

    n: int
    k: int
    groups: int
    dtype: str = "bf16"
    layout: str = "contiguous"
    m_min: int = 1
    m_max: int = M_MAX

    def __post_init__(self) -> None:
        _arguments.place_in("dtype", self.dtype, _DTYPES)
        _arguments.place_in("layout", self.layout, _LAYOUTS)
        for name in ("n", "k", "groups", "m_min", "m_max"):
            most = _arguments.INT32_MAX if name == "groups" else _arguments.INT64_MAX
            object.__setattr__(self, name, _arguments.integer(name, getattr(self, name), 1, most))
        _check_range(self.m_min, self.m_max)

    def _tuple(self) -> tuple[int, int, int, int, int, int, int]:
        dtype, layout = _DTYPES.index(self.dtype), _LAYOUTS.index(self.layout)
        return (dtype, layout, self.n, self.k, self.groups, self.m_min, self.m_max)


@dataclass(frozen=True)
class StartReport:
    """The result of a start, for logs.

    loaded: kernels of the problems that are on the device now
    missing: kernels that neither the cabinet nor a layer held
    compiled: of these, the kernels that were compiled before the return; the others are compiled in the background
    milliseconds: time to find, compile and load
    warning: empty, or: why the cabinet or a layer was not used, why new kernels were not stored, and which kernels were
        made by a compiler that this build was not tested with
    compilers: what made the loaded kernels, "NVRTC 13.0.88"
    """

    loaded: int
    missing: int
    compiled: int
    milliseconds: float
    warning: str
    compilers: str = ""


@dataclass(frozen=True)
class Background:
    """Kernels that are compiled in the background after a miss with miss="fallback".

    pending: not compiled yet; ready: used by calls; failed: not tried again, with the last reason in last_failure
    """

    pending: int
    ready: int
    failed: int
    last_failure: str


def _given_shapes(shapes: Iterable[Sequence[int]] | None) -> list[Sequence[int]]:
    return [] if shapes is None else _arguments.items("shapes", shapes, _SHAPES)


def _shape_problems(
    shapes: list[Sequence[int]], dtypes: list[str], layouts: list[str], m_min: int, m_max: int
) -> list[Problem]:
    problems = []
    for shape in shapes:
        sizes = _arguments.items("shapes", shape, _SHAPES)
        if len(sizes) != 3:
            raise ValueError(f"shapes: expected tuples (n, k, groups), got {shape!r}")
        n, k = (_arguments.integer("shapes", size, 1) for size in sizes[:2])
        groups = _arguments.integer("shapes", sizes[2], 1, _arguments.INT32_MAX)
        problems += [Problem(n, k, groups, dtype, layout, m_min, m_max) for dtype in dtypes for layout in layouts]
    return problems


def _given_problems(problems: Iterable[Problem] | None) -> list[Problem]:
    expected = "a list of cubinet.Problem"
    given = [] if problems is None else _arguments.items("problems", problems, expected)
    for problem in given:
        if not isinstance(problem, Problem):
            raise TypeError(f"problems: expected {expected}, got one of {type(problem).__name__}")
    return given


def _check_unsaid(dtype: object, layout: object) -> None:
    if dtype is not None or layout is not None:
        raise ValueError("dtype, layout: expected none, since each problem says its own")


def _check_recorded(dtype: object, layout: object, m_min: int, m_max: int) -> None:
    if dtype is not None or layout is not None or (m_min, m_max) != (1, M_MAX):
        raise ValueError("dtype, layout, m_min, m_max: expected none, since each recorded problem says its own")


def _request(given: dict[str, Any]) -> Any:
    """The library's request for the arguments of `plan`, which `given` holds by name. Other names are ignored."""
    m_min, m_max = _arguments.integer("m_min", given["m_min"], 1), _arguments.integer("m_max", given["m_max"], 1)
    _check_range(m_min, m_max)
    dtype, layout = given["dtype"], given["layout"]
    dtypes = None if dtype is None else _arguments.some_of("dtype", dtype, _DTYPES)
    layouts = None if layout is None else _arguments.some_of("layout", layout, _LAYOUTS)
    problems, shapes = _given_problems(given["problems"]), _given_shapes(given["shapes"])
    if problems and not shapes:
        _check_unsaid(dtype, layout)
    if shapes:
        problems += _shape_problems(shapes, dtypes or ["bf16"], layouts or list(_LAYOUTS), m_min, m_max)
    model, recorded, recorded_from = given["model"], given["recorded"], given["recorded_from"]
    if _arguments.flag("recorded", recorded):
        _check_recorded(dtype, layout, m_min, m_max)
    elif recorded_from is not None:
        raise ValueError("recorded_from: expected none, since recorded is not True")
    sourced = recorded or given["sglang"] is not None or given["vllm"] is not None
    if model is None and not problems and not sourced and not _arguments.flag("generic_only", given["generic_only"]):
        raise ValueError(
            "model: expected the path of a config.json, or shapes, problems or recorded instead; got none of them"
        )
    if model is not None and problems:
        raise ValueError(f"{'shapes' if shapes else 'problems'}: expected none, since a model is given")

    def checked(check: Callable[[str, Any], Any], name: str) -> Any:
        return None if given[name] is None else check(name, given[name])

    return _binding.request(
        model=checked(_arguments.file, "model"),
        problems=[problem._tuple() for problem in problems],
        expert_parallel=_arguments.integer("ep", given["ep"], 1),
        tensor_parallel=_arguments.integer("tp", given["tp"], 1),
        redundant_experts=_arguments.integer("redundant_experts", given["redundant_experts"], 0),
        sglang=checked(_arguments.command, "sglang"),
        vllm=checked(_arguments.command, "vllm"),
        dtype=None if dtypes is None or problems else ",".join(dtypes),
        layout=None if layouts is None or problems else ",".join(layouts),
        m_first=m_min,
        m_last=m_max,
        arch=checked(_arguments.text, "arch"),
        generic_only=_arguments.flag("generic_only", given["generic_only"]),
        no_generic=_arguments.flag("no_generic", given["no_generic"]),
        recorded=recorded,
        recorded_from=checked(_arguments.file, "recorded_from"),
    )


def _cabinet(cache: _Path | None) -> bytes | None:
    """The cabinet's folder, for functions that need a cabinet; `start` works without one."""
    return None if cache is None else _arguments.folder("cache", cache)


def _options(
    cache: _Path | None = None,
    layers: Iterable[_Path] | None = None,
    device: int = 0,
    jobs: int = 0,
    miss: str = "compile",
) -> Any:
    return _binding.options(
        None if cache is None else _arguments.path("cache", cache),
        [] if layers is None else _arguments.paths("layers", layers),
        [_os.fsencode(folder) for folder in _nvrtc_folders()],
        _arguments.integer("device", device, 0, _arguments.INT32_MAX),
        _arguments.integer("jobs", jobs, 0, _arguments.INT32_MAX),
        _arguments.place_in("miss", miss, _MISSES),
    )


def plan(
    *,
    model: _Path | None = None,
    shapes: Iterable[Sequence[int]] | None = None,
    problems: Iterable[Problem] | None = None,
    dtype: str | Iterable[str] | None = None,
    layout: str | Iterable[str] | None = None,
    ep: int = 1,
    tp: int = 1,
    redundant_experts: int = 0,
    sglang: _Command | None = None,
    vllm: _Command | None = None,
    m_min: int = 1,
    m_max: int = M_MAX,
    arch: str | None = None,
    generic_only: bool = False,
    no_generic: bool = False,
    recorded: bool = False,
    recorded_from: _Path | None = None,
    cache: _Path | None = None,
) -> dict[str, Any]:
    """Which kernels would be compiled, and for which M: the object that `cubinet plan --json` prints. Needs no GPU and
    no NVRTC.

    The problems come from one of these:
    model: path of a model's config.json, or of its folder. dtype (default: the type in which the experts are stored),
        layout (default: both), ep, tp and redundant_experts say how a rank computes it. In place of the last three:
        sglang, vllm: the server's launch command, as text or as a list of words. If it names a folder with a
        config.json, `model` is not needed
    shapes: tuples (n, k, groups), planned for each dtype (default "bf16") and each layout (default both)
    problems: cubinet.Problem objects. Not their own range of M counts, but m_min and m_max of this call
    recorded: the problems that engines recorded in the cabinet `cache`, each with its own dtype, layout and range of M;
        or in recorded_from: another cabinet, or a file written by `cubinet cache problems --json`
    generic_only: only the generic kernels, whose N and K are run-time values, of dtype and layout

    m_min, m_max: the range of M, both ends included
    arch: architecture to compile for; None: "sm_90a"
    no_generic: plan no generic kernels

    Raises ValueError, and Error with status "unsupported", which names the rule, for a problem that no kernel serves.
    """
    request = _request(locals())
    planned: dict[str, Any] = _json.loads(_binding.plan(request, _options(_cabinet(cache))))
    return planned


def warmup(
    *,
    model: _Path | None = None,
    shapes: Iterable[Sequence[int]] | None = None,
    problems: Iterable[Problem] | None = None,
    dtype: str | Iterable[str] | None = None,
    layout: str | Iterable[str] | None = None,
    ep: int = 1,
    tp: int = 1,
    redundant_experts: int = 0,
    sglang: _Command | None = None,
    vllm: _Command | None = None,
    m_min: int = 1,
    m_max: int = M_MAX,
    arch: str | None = None,
    generic_only: bool = False,
    no_generic: bool = False,
    recorded: bool = False,
    recorded_from: _Path | None = None,
    cache: _Path | None = None,
    jobs: int = 0,
    execute: bool = False,
    strict: bool = False,
    memory_budget: int = 0,
    device: Any = None,
    progress: Callable[[str, int, int], object] | None = None,
) -> dict[str, Any]:
    """Compiles every kernel of the plan (see `plan`) that the cabinet lacks. Returns the report that `cubinet warmup
    --json` prints. Needs a GPU only to execute.

    cache: the cabinet's folder; None: CUBINET_CACHE_DIR, else ~/.cache/cubinet
    jobs: compilations at once; 0: as many as cores and memory allow
    execute: run each kernel afterwards and compare its result with a reference. Only with it:
        device: where to run, as for `start`
        memory_budget: bytes of device memory; 0: half of what is free
        strict: count kernels that could not be executed as not done
    progress: called as progress(phase, done, total) after each kernel, on the calling thread

    Raises ValueError; Error with status "incomplete" and the report in `.report` if a part was not done; Error with
    another status if nothing was started. KeyboardInterrupt, or an exception in `progress`, ends the warmup: it
    finishes the kernels that it is compiling, and then raises the exception.
    """
    request = _request(locals())
    execute, strict = _arguments.flag("execute", execute), _arguments.flag("strict", strict)
    memory_budget = _arguments.integer("memory_budget", memory_budget, 0)
    ordinal = _device_number(device) if execute or device is not None else 0
    options = _options(_cabinet(cache), device=ordinal, jobs=jobs)
    if not execute and (strict or memory_budget != 0 or device is not None):
        raise ValueError("strict, memory_budget, device: expected none, since nothing is executed")
    if progress is not None and not callable(progress):
        raise TypeError(f"progress: expected a function of (phase, done, total), got {type(progress).__name__}")
    status, message, text = _binding.warmup(request, options, execute, strict, memory_budget, progress)
    report: dict[str, Any] = _json.loads(text)
    if status == "ok":
        return report
    error = _error.of_library(message, status, text)
    error.report = report
    raise error


def _default_device() -> int:
    """PyTorch's current device if PyTorch has been imported and runs CUDA; else 0."""
    torch = _sys.modules.get("torch")
    return torch.cuda.current_device() if torch is not None and torch.cuda.is_available() else 0


def _device_number(device: Any) -> int:
    """The ordinal of 1, "cuda:1" or torch.device("cuda", 1)."""
    if device is None:
        return _default_device()
    if hasattr(type(device), "__index__"):
        return _arguments.integer("device", device, 0, _arguments.INT32_MAX)
    kind, colon, index = str(device).partition(":")
    if kind != "cuda" or (colon and not (index.isascii() and index.isdigit())):
        raise ValueError(f"device: expected an ordinal, 'cuda:1' or a torch.device of CUDA, got {device!r}")
    return _arguments.integer("device", int(index), 0, _arguments.INT32_MAX) if colon else _default_device()


def start(
    problems: Iterable[Problem] | None = None,
    *,
    model: _Path | None = None,
    shapes: Iterable[Sequence[int]] | None = None,
    dtype: str | Iterable[str] | None = None,
    layout: str | Iterable[str] | None = None,
    ep: int = 1,
    tp: int = 1,
    redundant_experts: int = 0,
    sglang: _Command | None = None,
    vllm: _Command | None = None,
    m_min: int = 1,
    m_max: int = M_MAX,
    device: Any = None,
    cache: _Path | None = None,
    layers: Iterable[_Path] | None = None,
    miss: str | None = None,
    jobs: int = 0,
) -> StartReport:
    """The call for an engine's start: loads the kernels of problems onto a device, for the functions of
    `cubinet.deep_gemm`. The kernels of any other problem are loaded at its first call.

    problems, model, shapes, sglang, vllm: what to load, as for `plan`, but each of `problems` with its own range of M.
        `problems` may be given beside one of the others. None of them: nothing is loaded yet
    device: an ordinal, "cuda:1" or a torch.device; None: PyTorch's current device, else 0
    cache: the cabinet's folder, "" for no cabinet; None: CUBINET_CACHE_DIR, else ~/.cache/cubinet
    layers: further cabinets or bundles that are searched after it; None: those of CUBINET_CACHE_PATH, and the kernels
        that this package contains
    miss: what to do about a kernel that none of them holds: "compile" (the default) compiles it and waits, "fallback"
        lets another kernel stand in while it is compiled in the background, "error" raises Error
    jobs: compilations at once; 0: as many as cores and memory allow

    If cache, layers, miss or jobs is given, later calls on this device use these values, too; otherwise the device's
    service stays as it is. Raises ValueError, and Error with status "driver_missing", "unsupported", "not_prepared",
    "compile_failed" and others.
    """
    ep, tp = _arguments.integer("ep", ep, 1), _arguments.integer("tp", tp, 1)
    redundant_experts = _arguments.integer("redundant_experts", redundant_experts, 0)
    m_min, m_max = _arguments.integer("m_min", m_min, 1), _arguments.integer("m_max", m_max, 1)
    jobs = _arguments.integer("jobs", jobs, 0, _arguments.INT32_MAX)
    reopen = cache is not None or layers is not None or miss is not None or jobs != 0
    options = _options(cache, layers, _device_number(device), jobs, "compile" if miss is None else miss)
    given, listed = _given_problems(problems), _given_shapes(shapes)
    launched = sglang is not None or vllm is not None
    request = None
    if model is None and not launched and (ep, tp) != (1, 1):
        raise ValueError("ep, tp: expected 1, since they divide a model, and none is given")
    if model is None and not launched and redundant_experts != 0:
        raise ValueError("redundant_experts: expected 0, since they are a model's, and none is given")
    if model is None and not listed and not launched:
        _check_unsaid(dtype, layout)
        if (m_min, m_max) != (1, M_MAX):
            raise ValueError("m_min, m_max: expected none, since each problem says its own")
    else:
        request = _request({**locals(), **_NOT_FOR_START, "problems": None, "shapes": listed})
    return StartReport(*_binding.start([problem._tuple() for problem in given], request, options, reopen))


def background(device: Any = None) -> Background:
    """The state of the device's background compilations, which miss="fallback" starts."""
    return Background(*_binding.background(_device_number(device)))


def wait_for_background(seconds: float, device: Any = None) -> bool:
    """Waits until no background compilation of the device is pending, at most `seconds`. False: some still are."""
    return _binding.wait_for_background(_device_number(device), _arguments.seconds("seconds", seconds))


def cache_stats(cache: _Path | None = None) -> dict[str, int | None]:
    """Statistics of a cabinet (None: the environment's): entries, bytes, quarantined, hits, misses, evicted_misses,
    compiles, damage, evictions. A value is None if the index could not be read. Raises Error with status "not_found"
    if there is no cabinet."""
    return _binding.cache_stats(_options(_cabinet(cache)))


_atexit.register(_binding.close)
_os.register_at_fork(after_in_child=_binding.forget)
