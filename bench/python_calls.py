#!/usr/bin/env python3
"""Host time of the calls of cubinet.deep_gemm, in microseconds per call.

    python bench/python_calls.py [--rounds 50] [--batch 300]

The problem is small, so that the GPU never keeps the host waiting. Calls are made in batches with a synchronization
between, one call's after another's; the figure is the median over the batches. For comparison, in the same process:
tensor.zero_(), and the launch of the C interface through ctypes, whose own cost is printed, too.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import statistics
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import torch

import cubinet
from cubinet import _nvrtc, deep_gemm

GROUPS, CAPACITY, N, K = 4, 64, 256, 512
M = GROUPS * 128


class Scales(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("type", ctypes.c_int32),
        ("rank", ctypes.c_int32),
        ("shape", ctypes.c_int64 * 3),
        ("strides", ctypes.c_int64 * 3),
    ]


class MaskedArguments(ctypes.Structure):
    """cubinet.h: cubinet_masked_args."""

    _fields_ = [
        ("size", ctypes.c_size_t),
        ("a", ctypes.c_void_p),
        ("b", ctypes.c_void_p),
        ("d", ctypes.c_void_p),
        ("masked_m", ctypes.c_void_p),
        ("capacity", ctypes.c_int64),
        ("expected_m", ctypes.c_int64),
        ("a_scales", Scales),
        ("b_scales", Scales),
        ("workspace", ctypes.c_void_p),
        ("workspace_bytes", ctypes.c_int64),
    ]


class Problem(ctypes.Structure):
    """cubinet.h: cubinet_problem."""

    _fields_ = [
        ("size", ctypes.c_size_t),
        ("dtype", ctypes.c_int32),
        ("layout", ctypes.c_int32),
        *[(name, ctypes.c_int64) for name in ("n", "k", "groups", "m_first", "m_last")],
    ]


def library() -> ctypes.CDLL:
    """The library that the binding has opened."""
    folder = Path(cubinet.__file__).parent
    found = [*folder.glob("lib/libcubinet.so.*"), *folder.glob("../../lib/libcubinet.so")]
    return ctypes.CDLL(str(found[0]))


def check(lib: ctypes.CDLL, status: int) -> None:
    if status != 0:
        lib.cubinet_last_error.restype = ctypes.c_char_p
        raise SystemExit(lib.cubinet_last_error().decode())


def c_launch(lib: ctypes.CDLL, a: Any, b: Any, d: Any, masked_m: Any) -> Callable[[], object]:
    """Launches the masked BF16 problem through the C interface only."""
    service, gemm = ctypes.c_void_p(), ctypes.c_void_p()
    check(lib, lib.cubinet_open(None, ctypes.byref(service)))
    problem = Problem(ctypes.sizeof(Problem), 0, 1, N, K, GROUPS, 1, 16384)
    check(lib, lib.cubinet_prepare(service, ctypes.byref(problem), ctypes.c_size_t(1), ctypes.byref(gemm), None))
    arguments = MaskedArguments(
        ctypes.sizeof(MaskedArguments), *(t.data_ptr() for t in (a, b, d, masked_m)), CAPACITY, 32
    )
    reference, stream = ctypes.byref(arguments), ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
    launch = lib.cubinet_launch_bf16_grouped_masked
    check(lib, launch(gemm, reference, stream))
    return partial(launch, gemm, reference, stream)


def operands() -> dict[str, Any]:
    def bf16(*shape: int) -> Any:
        return torch.randn(shape, device="cuda", dtype=torch.bfloat16)

    def fp8(*shape: int) -> Any:
        return bf16(*shape).to(torch.float8_e4m3fn)

    def scales(*shape: int) -> Any:
        return torch.rand(shape, device="cuda")

    counts = torch.full((GROUPS,), 32, device="cuda", dtype=torch.int32)
    labels = torch.arange(GROUPS, device="cuda", dtype=torch.int32).repeat_interleave(M // GROUPS)
    return {
        "masked": (bf16(GROUPS, CAPACITY, K), bf16(GROUPS, N, K), bf16(GROUPS, CAPACITY, N), counts),
        "contiguous": (bf16(M, K), bf16(GROUPS, N, K), bf16(M, N), labels),
        "fp8 masked": (fp8(GROUPS, CAPACITY, K), scales(GROUPS, CAPACITY, K // 128)),
        "fp8 contiguous": (fp8(M, K), scales(M, K // 128)),
        "fp8 weights": (fp8(GROUPS, N, K), scales(GROUPS, -(-N // 128), K // 128)),
    }


def cases() -> dict[str, Callable[[], object]]:
    given = operands()
    weights, d, masked_d = given["fp8 weights"], given["contiguous"][2], given["masked"][2]
    labels, counts = given["contiguous"][3], given["masked"][3]
    column_major = {
        name: (given[name][0], deep_gemm.get_mn_major_tma_aligned_tensor(given[name][1]))
        for name in ("fp8 masked", "fp8 contiguous")
    }
    dense_a, dense_b, dense_d = given["contiguous"][0], given["contiguous"][1][0], d
    lib = library()
    return {
        "tensor.zero_()": d.zero_,
        "ctypes call that does nothing": lib.cubinet_contiguous_alignment,
        "C launch, bf16 masked, by ctypes": c_launch(lib, *given["masked"]),
        "m_grouped_bf16_gemm_nt_contiguous": partial(deep_gemm.m_grouped_bf16_gemm_nt_contiguous, *given["contiguous"]),
        "m_grouped_bf16_gemm_nt_masked": partial(deep_gemm.m_grouped_bf16_gemm_nt_masked, *given["masked"], 32),
        "m_grouped_fp8_gemm_nt_contiguous": partial(
            deep_gemm.m_grouped_fp8_gemm_nt_contiguous, column_major["fp8 contiguous"], weights, d, labels
        ),
        "m_grouped_fp8_gemm_nt_masked": partial(
            deep_gemm.m_grouped_fp8_gemm_nt_masked, column_major["fp8 masked"], weights, masked_d, counts, 32
        ),
        "  the same, row-major scales": partial(
            deep_gemm.m_grouped_fp8_gemm_nt_masked, given["fp8 masked"], weights, masked_d, counts, 32
        ),
        "bf16_gemm_nt": partial(deep_gemm.bf16_gemm_nt, dense_a, dense_b, dense_d),
    }


def batch_mean(call: Callable[[], object], batch: int) -> float:
    """Microseconds of one call, over a batch."""
    torch.cuda.synchronize()
    begin = time.perf_counter()
    for _ in range(batch):
        call()
    return (time.perf_counter() - begin) / batch * 1e6


def means(calls: dict[str, Callable[[], object]], rounds: int, batch: int) -> dict[str, list[float]]:
    """The batches of each call. They alternate, so that a period in which the core is slow affects all of them."""
    for call in calls.values():
        batch_mean(call, 3 * batch)
    taken: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(rounds):
        for name, call in calls.items():
            taken[name].append(batch_mean(call, batch))
    torch.cuda.synchronize()
    return taken


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=50)
    parser.add_argument("--batch", type=int, default=300)
    given = parser.parse_args()
    # The C interface does not search Python's packages.
    for folder in _nvrtc.folders()[:1]:
        os.environ["CUBINET_NVRTC_DIR"] = folder
    print(
        f"{torch.cuda.get_device_name()}, torch {torch.__version__}, cubinet {cubinet.__version__}; "
        f"N {N}, K {K}, {GROUPS} groups; {given.rounds} batches of {given.batch} calls"
    )
    print(f"{'us per call, host':36} {'median':>7} {'least':>7} {'most':>7}")
    for name, each in means(cases(), given.rounds, given.batch).items():
        print(f"{name:36} {statistics.median(each):7.2f} {min(each):7.2f} {max(each):7.2f}")


if __name__ == "__main__":
    main()
