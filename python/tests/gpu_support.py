"""Helpers for tests on a GPU: operands, references and checks of results."""

from __future__ import annotations

from typing import Any

import pytest

try:
    import torch
except ImportError:
    torch = None  # type: ignore[assignment]


def reason_to_skip() -> str | None:
    if torch is None:
        return "PyTorch is not installed"
    if not torch.cuda.is_available():
        return "PyTorch sees no GPU"
    if torch.cuda.get_device_capability() != (9, 0):
        return f"the GPU is {torch.cuda.get_device_name()}, not of sm_90a"
    return None


_REASON = reason_to_skip()
needs_gpu = [pytest.mark.gpu, pytest.mark.skipif(_REASON is not None, reason=str(_REASON))]

BF16_LIMIT = 1e-5
FP8_LIMIT = 1e-3


def difference(result: Any, reference: Any) -> float:
    """1 - 2<x,y> / (<x,x> + <y,y>), in FP64."""
    x, y = result.double(), reference.double()
    assert not torch.isnan(x).any()
    scale = (x * x + y * y).sum()
    return 0.0 if scale == 0 else float(1 - 2 * (x * y).sum() / scale)


def random_bf16(*shape: int) -> Any:
    return torch.randn(shape, device="cuda", dtype=torch.bfloat16)


def quantize_rows(x: Any) -> tuple[Any, Any, Any]:
    """FP8 values and scales per 128 columns, row-major, and the numbers that they represent, in FP32."""
    blocks = x.float().reshape(*x.shape[:-1], -1, 128)
    scales = blocks.abs().amax(-1).clamp(1e-10) / 448
    q = (blocks / scales[..., None]).clamp(-448, 448).to(torch.float8_e4m3fn)
    return q.reshape(x.shape), scales, (q.float() * scales[..., None]).reshape(x.shape)


def quantize_blocks(w: Any) -> tuple[Any, Any, Any]:
    """The same per block of 128 x 128, of a tensor (groups, N, K)."""
    groups, n, k = w.shape
    rows = -(-n // 128)
    padded = torch.zeros(groups, rows * 128, k, device=w.device)
    padded[:, :n] = w.float()
    blocks = padded.reshape(groups, rows, 128, k // 128, 128)
    scales = blocks.abs().amax((2, 4)).clamp(1e-10) / 448
    q = (blocks / scales[:, :, None, :, None]).clamp(-448, 448).to(torch.float8_e4m3fn)
    meant = (q.float() * scales[:, :, None, :, None]).reshape(padded.shape)[:, :n]
    return q.reshape(padded.shape)[:, :n].contiguous(), scales, meant.contiguous()


def segments(sizes: list[int], alignment: int = 128) -> Any:
    """m_indices for groups of these sizes, each padded with -1 to the alignment."""
    m_indices: list[int] = []
    for group, size in enumerate(sizes):
        m_indices += [group] * size + [-1] * (-size % alignment)
    return torch.tensor(m_indices, dtype=torch.int32, device="cuda")


def poisoned(*shape: int) -> Any:
    return torch.full(shape, float("nan"), device="cuda", dtype=torch.bfloat16)


class _Operands:
    """A and B as a call takes them, their values in FP32, the allowed difference, and the function of their type."""

    def __init__(self, fp8: bool, layout: str, a: Any, b: Any, column_major: bool) -> None:
        from cubinet import deep_gemm

        self.a: Any = a
        self.b: Any = b
        self.meant_a, self.meant_b = a.float(), b.float()
        if fp8:
            q, scales, self.meant_a = quantize_rows(a)
            self.a = (q, deep_gemm.get_mn_major_tma_aligned_tensor(scales) if column_major else scales)
            q, scales, self.meant_b = quantize_blocks(b)
            self.b = (q, scales)
        self.limit = FP8_LIMIT if fp8 else BF16_LIMIT
        self.call = getattr(deep_gemm, f"m_grouped_{'fp8' if fp8 else 'bf16'}_gemm_nt_{layout}")


class Contiguous(_Operands):
    """A contiguous problem with its reference: `run` calls the function, `check` compares the result."""

    def __init__(self, fp8: bool, n: int, k: int, sizes: list[int], column_major: bool = False) -> None:
        self.m_indices = segments(sizes)
        self.groups, m = len(sizes), len(self.m_indices)
        super().__init__(fp8, "contiguous", random_bf16(m, k), random_bf16(self.groups, n, k), column_major)
        self.d = poisoned(m, n)

    def run(self) -> None:
        assert self.call(self.a, self.b, self.d, self.m_indices) is None

    def check(self) -> None:
        assert torch.isnan(self.d[self.m_indices == -1]).all(), "a padding row was written"
        for group in range(self.groups):
            rows = self.m_indices == group
            expected = self.meant_a[rows] @ self.meant_b[group].T
            assert difference(self.d[rows], expected) < self.limit


class Masked(_Operands):
    """A masked problem with its reference."""

    def __init__(self, fp8: bool, n: int, k: int, counts: list[int], capacity: int, column_major: bool = False) -> None:
        groups, self.counts = len(counts), counts
        self.masked_m = torch.tensor(counts, dtype=torch.int32, device="cuda")
        self.expected_m = max(1, sum(counts) // groups)
        super().__init__(fp8, "masked", random_bf16(groups, capacity, k), random_bf16(groups, n, k), column_major)
        self.d = poisoned(groups, capacity, n)

    def run(self) -> None:
        assert self.call(self.a, self.b, self.d, self.masked_m, self.expected_m) is None

    def check(self) -> None:
        for group, count in enumerate(self.counts):
            assert torch.isnan(self.d[group, count:]).all(), "a row beyond masked_m was written"
            expected = self.meant_a[group, :count] @ self.meant_b[group].T
            assert difference(self.d[group, :count], expected) < self.limit
