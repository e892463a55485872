"""Arguments of plan, warmup and start: errors name the argument, and no argument is ignored."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import cubinet
from cubinet import _binding, _error

SHAPES = [(256, 512, 4)]
ONE = cubinet.Problem(64, 64, 1)
FOR_EACH_PROBLEM = "dtype, layout: expected none, since each problem says its own"
FOR_EXECUTION = "strict, memory_budget, device: expected none, since nothing is executed"


class Scalar:
    """Like NumPy's array of no dimension: its type has __iter__, which raises TypeError."""

    def __iter__(self) -> Iterator[Any]:
        raise TypeError("iteration over a 0-d array")


class Array:
    """Like NumPy's array of one number: its type converts to a number, which later versions of NumPy refuse."""

    def __len__(self) -> int:
        return 1

    def __float__(self) -> float:
        raise TypeError("only 0-dimensional arrays can be converted to Python scalars")


WRONG: list[tuple[Callable[..., Any], dict[str, Any], type[Exception], str]] = [
    (cubinet.plan, {"ep": "8"}, TypeError, "ep: expected an int, got str"),
    (cubinet.plan, {"tp": 1.0}, TypeError, "tp: expected an int, got float"),
    (cubinet.plan, {"ep": True}, TypeError, "ep: expected an int, got bool"),
    (cubinet.plan, {"ep": 2}, ValueError, "ep, tp and redundant_experts divide a model; a problem is already what one rank sees"),
    (cubinet.plan, {"m_max": None}, TypeError, "m_max: expected an int, got NoneType"),
    (cubinet.plan, {"m_min": 0}, ValueError, "m_min: expected an int of at least 1, got 0"),
    (cubinet.plan, {"m_min": 5, "m_max": 3}, ValueError, "m_max: expected an int from m_min, 5, got 3"),
    (cubinet.plan, {"m_max": 1 << 40}, ValueError, f"M from 1 to {1 << 40} is not a range within 1 to 16777216"),
    (cubinet.plan, {"m_max": 1 << 64}, ValueError, f"m_max: expected an int of at most {2**63 - 1}, got {1 << 64}"),
    (cubinet.plan, {"arch": 90}, TypeError, "arch: expected a str, got int"),
    (cubinet.plan, {"arch": ""}, ValueError, "arch: expected a text, got ''"),
    (cubinet.plan, {"dtype": []}, ValueError, "dtype: expected one or more of 'bf16', 'fp8', got none"),
    (cubinet.plan, {"dtype": [8]}, TypeError, "dtype: expected one of 'bf16', 'fp8', got int"),
    (cubinet.plan, {"layout": ()}, ValueError, "layout: expected one or more of 'contiguous', 'masked', got none"),
    (cubinet.plan, {"generic_only": 1}, TypeError, "generic_only: expected True or False, got int"),
    (
        cubinet.plan,
        {"generic_only": True},
        ValueError,
        "more than one thing to plan for: give either model, problems, recorded or generic_only",
    ),
    (cubinet.plan, {"shapes": SHAPES[0]}, TypeError, "shapes: expected a list of tuples (n, k, groups), got int"),
    (cubinet.plan, {"shapes": [("1", 2, 3)]}, TypeError, "shapes: expected an int, got str"),
    (cubinet.plan, {"model": "", "shapes": None}, ValueError, "model: expected the path of a file, got an empty one"),
    (cubinet.plan, {"model": 5, "shapes": None}, TypeError, "model: expected a path, got int"),
    (
        cubinet.plan,
        {"shapes": None, "problems": [(1, 2, 3)]},
        TypeError,
        "problems: expected a list of cubinet.Problem, got one of tuple",
    ),
    (cubinet.plan, {"problems": ONE}, TypeError, "problems: expected a list of cubinet.Problem, got Problem"),
    (
        cubinet.plan,
        {"shapes": None, "problems": [ONE], "model": "x"},
        ValueError,
        "problems: expected none, since a model is given",
    ),
    (cubinet.plan, {"shapes": [], "problems": [ONE], "dtype": "fp8"}, ValueError, FOR_EACH_PROBLEM),
    (
        cubinet.plan,
        {"shapes": [], "problems": [ONE], "model": "x"},
        ValueError,
        "problems: expected none, since a model is given",
    ),
    (
        cubinet.plan,
        {"shapes": []},
        ValueError,
        "model: expected the path of a config.json, or shapes, problems or recorded instead; got none of them",
    ),
    (
        cubinet.plan,
        {"shapes": [(64, 64, 1 << 40)]},
        ValueError,
        f"shapes: expected an int of at most {2**31 - 1}, got {1 << 40}",
    ),
    (cubinet.plan, {"shapes": Scalar()}, TypeError, "shapes: expected a list of tuples (n, k, groups), got Scalar"),
    (cubinet.plan, {"ep": 10**5000}, ValueError, f"ep: expected an int of at most {2**63 - 1}, got one of 16610 bits"),
    (cubinet.warmup, {"memory_budget": "2GiB"}, TypeError, "memory_budget: expected an int, got str"),
    (cubinet.warmup, {"memory_budget": -1}, ValueError, "memory_budget: expected an int of at least 0, got -1"),
    (cubinet.warmup, {"device": 1 << 40}, ValueError, f"device: expected an int of at most {2**31 - 1}, got {1 << 40}"),
    (cubinet.warmup, {"jobs": 5000}, ValueError, "jobs: 5000 is not from 0 to 1024"),
    (
        cubinet.warmup,
        {"progress": 5},
        TypeError,
        "progress: expected a function of (phase, done, total), got int",
    ),
    (cubinet.warmup, {"cache": 5}, TypeError, "cache: expected a path, got int"),
    (cubinet.warmup, {"cache": ""}, ValueError, "cache: expected the path of a folder, got an empty one"),
    (cubinet.cache_stats, {"cache": b""}, ValueError, "cache: expected the path of a folder, got an empty one"),
    (cubinet.warmup, {"strict": True}, ValueError, FOR_EXECUTION),
    (cubinet.warmup, {"memory_budget": 1 << 30}, ValueError, FOR_EXECUTION),
    (cubinet.warmup, {"device": 0}, ValueError, FOR_EXECUTION),
    (cubinet.start, {"dtype": "fp8"}, ValueError, FOR_EACH_PROBLEM),
    (cubinet.start, {"shapes": [], "layout": "masked"}, ValueError, FOR_EACH_PROBLEM),
    (cubinet.start, {"m_max": 64}, ValueError, "m_min, m_max: expected none, since each problem says its own"),
    (cubinet.start, {"ep": 8}, ValueError, "ep, tp: expected 1, since they divide a model, and none is given"),
    (cubinet.start, {"ep": 1.0}, TypeError, "ep: expected an int, got float"),
    (cubinet.start, {"tp": True}, TypeError, "tp: expected an int, got bool"),
    (cubinet.start, {"m_min": True}, TypeError, "m_min: expected an int, got bool"),
    (cubinet.start, {"m_max": 0}, ValueError, "m_max: expected an int of at least 1, got 0"),
    (cubinet.start, {"jobs": 1.0}, TypeError, "jobs: expected an int, got float"),
    (cubinet.start, {"miss": ""}, ValueError, "miss: expected one of 'compile', 'fallback', 'error', got ''"),
    (cubinet.start, {"layers": "/opt/kernels"}, TypeError, "layers: expected a list of paths, got str"),
    (
        cubinet.start,
        {"device": "cuda:"},
        ValueError,
        "device: expected an ordinal, 'cuda:1' or a torch.device of CUDA, got 'cuda:'",
    ),
    (cubinet.wait_for_background, {"seconds": None}, TypeError, "seconds: expected a number of seconds, got NoneType"),
    (cubinet.wait_for_background, {"seconds": -1}, ValueError, "seconds: expected a number of seconds, got -1"),
    (
        cubinet.wait_for_background,
        {"seconds": 10**5000},
        ValueError,
        "seconds: expected a number of seconds, got one beyond a float's range",
    ),
    (cubinet.wait_for_background, {"seconds": Array()}, TypeError, "seconds: expected a number of seconds, got Array"),
    (cubinet.Problem, {"n": "64", "k": 64, "groups": 1}, TypeError, "n: expected an int, got str"),
    (cubinet.Problem, {"n": 64, "k": 0, "groups": 1}, ValueError, "k: expected an int of at least 1, got 0"),
    (
        cubinet.Problem,
        {"n": 64, "k": 64, "groups": 1 << 31},
        ValueError,
        f"groups: expected an int of at most {2**31 - 1}, got {1 << 31}",
    ),
]


@pytest.mark.parametrize(("function", "wrong", "kind", "text"), WRONG, ids=[text for *_, text in WRONG])
def test_wrong_arguments(
    function: Callable[..., Any], wrong: dict[str, Any], kind: type[Exception], text: str
) -> None:
    right: dict[str, Any] = {"shapes": SHAPES} if function in (cubinet.plan, cubinet.warmup) else {}
    with pytest.raises(kind) as refused:
        function(**{**right, **wrong})
    assert str(refused.value) == text


def test_an_invalid_argument_of_the_library_is_a_value_error_with_its_status() -> None:
    with pytest.raises(cubinet.Error) as refused:
        cubinet.warmup(shapes=SHAPES, jobs=5000)
    assert isinstance(refused.value, ValueError) and refused.value.status == "invalid_argument"


def test_numbers_are_accepted_like_python_indices() -> None:
    class Eight:
        def __index__(self) -> int:
            return 8

    problem = cubinet.Problem(64, 64, Eight())  # type: ignore[arg-type]
    assert problem == cubinet.Problem(64, 64, 8) and type(problem.groups) is int
    assert cubinet.plan(shapes=[[64, 64, Eight()]]) == cubinet.plan(shapes=[(64, 64, 8)])


def test_an_empty_list_of_problems_counts_as_none() -> None:
    kernels = cubinet.plan(problems=[], generic_only=True, dtype="bf16")["kernels"]
    assert {kernel["family"] for kernel in kernels} == {"bf16_grouped_contiguous", "bf16_grouped_masked"}


def test_an_empty_list_of_shapes_counts_as_none(qwen_config: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert cubinet.plan(model=qwen_config, shapes=[]) == cubinet.plan(model=qwen_config)
    assert cubinet.plan(problems=[ONE], shapes=iter(())) == cubinet.plan(problems=[ONE])
    started = []
    monkeypatch.setattr(_binding, "start", lambda *given: started.append(given[:2]) or (0, 0, 0, 0.0, ""))
    cubinet.start([ONE], shapes=[])
    cubinet.start([ONE], shapes=iter([(64, 128, 1)]), layout="masked")
    assert [(len(problems), request is not None) for problems, request in started] == [(1, False), (1, True)]


class Odd:
    """An int like NumPy's: comparisons do not return Python's bool."""

    def __init__(self, value: int) -> None:
        self.value = value

    def __index__(self) -> int:
        return self.value

    def __eq__(self, other: object) -> Any:
        return [self.value, other]

    def __ne__(self, other: object) -> Any:
        return [self.value, other]


def test_a_start_accepts_ints_like_numpys(monkeypatch: pytest.MonkeyPatch) -> None:
    reopened = []
    monkeypatch.setattr(_binding, "start", lambda *given: reopened.append(given[3]) or (0, 0, 0, 0.0, ""))
    for jobs in (0, 3):
        cubinet.start(jobs=Odd(jobs), ep=Odd(1), tp=Odd(1), m_min=Odd(1), m_max=Odd(cubinet.M_MAX))  # type: ignore[arg-type]
    assert reopened == [False, True]


def test_a_warmup_executes_on_the_current_device_unless_told_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    cuda = SimpleNamespace(is_available=lambda: True, current_device=lambda: 5)
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(cuda=cuda))
    devices = []
    monkeypatch.setattr(_binding, "options", lambda *given: devices.append(given[3]))
    monkeypatch.setattr(_binding, "warmup", lambda *_: ("ok", "", "{}"))
    cubinet.warmup(shapes=SHAPES, execute=True, strict=True, memory_budget=1)
    cubinet.warmup(shapes=SHAPES, execute=True, device="cuda:2")
    cuda.current_device = lambda: pytest.fail("it was called although nothing is executed")
    cubinet.warmup(shapes=SHAPES)
    assert devices == [5, 2, 0]


def test_messages_of_the_library_use_this_package_s_names_of_arguments(qwen_config: Path) -> None:
    with pytest.raises(cubinet.Error, match="^[^ ]*: expert width 512 over tp 64 gives K = 8: ") as refused:
        cubinet.plan(model=qwen_config, tp=64)
    assert refused.value.status == "unsupported"
    error = _error.of_library("name another folder with options.cache_root", "cache_unusable", "")
    assert str(error) == "name another folder with cache"


def test_a_file_name_is_not_taken_for_an_argument(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("request.json", "a/options.cache_root", "my-request.model", "request.model.json"):
        with pytest.raises(cubinet.Error) as refused:
            cubinet.plan(model=name)
        assert name in str(refused.value)
