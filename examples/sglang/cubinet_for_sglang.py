"""Lets SGLang's DeepGEMM wrapper call Cubinet's kernels: see README.md beside this file."""

from __future__ import annotations

import contextlib
from types import ModuleType
from typing import Any

from cubinet import deep_gemm as cubinet_gemm

# What the wrapper calls and Cubinet serves. Its bf16_gemm_nt has FP32 results, which stay DeepGEMM's, as does all else.
# The alignment goes with the kernels: newer versions of DeepGEMM let groups start at fewer rows than these kernels do.
SERVED = (
    "fp8_m_grouped_gemm_nt_masked",
    "m_grouped_fp8_gemm_nt_masked",
    "m_grouped_fp8_gemm_nt_contiguous",
    "m_grouped_bf16_gemm_nt_masked",
    "m_grouped_bf16_gemm_nt_contiguous",
    "fp8_gemm_nt",
    "get_mk_alignment_for_contiguous_layout",
    "set_mk_alignment_for_contiguous_layout",
    "get_theoretical_mk_alignment_for_contiguous_layout",
)

# The wrapper's names of these kernels (compile_utils.DeepGemmKernelType).
SERVED_KINDS = (
    "GROUPED_GEMM_NT_F8F8BF16_MASKED",
    "GROUPED_GEMM_NT_F8F8BF16_CONTIG",
    "GROUPED_GEMM_NT_BF16_MASKED",
    "GROUPED_GEMM_NT_BF16_CONTIG",
    "GEMM_NT_F8F8BF16",
)


class _Both:
    """DeepGEMM's module, with the names above from Cubinet."""

    def __init__(self, deep_gemm: ModuleType) -> None:
        self._deep_gemm = deep_gemm
        for name in SERVED:
            setattr(self, name, getattr(cubinet_gemm, name))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._deep_gemm, name)


def serve(deep_gemm: ModuleType, compile_utils: ModuleType) -> Any:
    """What to call in the place of `deep_gemm`. SGLang's precompilation, which runs every M, is left to the kernels that
    stay DeepGEMM's: Cubinet prepares a problem over all M at its first sight, from what `cubinet warmup` made."""
    precompile = compile_utils.deep_gemm_execution_hook

    def hook(m: int, n: int, k: int, num_groups: int, kernel_type: Any) -> contextlib.AbstractContextManager[Any]:
        if kernel_type.name in SERVED_KINDS:
            return contextlib.nullcontext()
        return precompile(m, n, k, num_groups, kernel_type)

    compile_utils.deep_gemm_execution_hook = hook
    return _Both(deep_gemm)
