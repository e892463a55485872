"""Lets SGLang's DeepGEMM wrapper call Cubinet's kernels: see README.md beside this file."""

from __future__ import annotations

import contextlib
from types import ModuleType
from typing import Any

from cubinet import deep_gemm as cubinet_gemm

# What the wrapper calls and Cubinet serves. Its bf16_gemm_nt has FP32 results, which stay DeepGEMM's, as does all else.
SERVED = (
    "fp8_m_grouped_gemm_nt_masked",
    "m_grouped_fp8_gemm_nt_masked",
    "m_grouped_fp8_gemm_nt_contiguous",
    "m_grouped_bf16_gemm_nt_masked",
    "m_grouped_bf16_gemm_nt_contiguous",
    "fp8_gemm_nt",
)


class _Both:
    """DeepGEMM's module, with the names above from Cubinet."""

    def __init__(self, deep_gemm: ModuleType) -> None:
        self._deep_gemm = deep_gemm
        for name in SERVED:
            setattr(self, name, getattr(cubinet_gemm, name))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._deep_gemm, name)


def _no_hook(*_: object) -> contextlib.AbstractContextManager[None]:
    return contextlib.nullcontext()


def serve(deep_gemm: ModuleType, compile_utils: ModuleType) -> Any:
    """What to call in the place of `deep_gemm`. SGLang's precompilation, which runs every M, ends with it: Cubinet
    prepares a problem over all M at its first sight, from what `cubinet warmup` made."""
    compile_utils.deep_gemm_execution_hook = _no_hook
    return _Both(deep_gemm)
