"""Makes SGLang's DeepGEMM wrapper call Cubinet's kernels. README.md beside this file says how to use it."""

from __future__ import annotations

import contextlib
from types import ModuleType
from typing import Any

from cubinet import deep_gemm as cubinet_gemm

# The functions that Cubinet replaces. The wrapper's bf16_gemm_nt is not among them: its results are FP32. The alignment
# must be that of the kernels, since newer versions of DeepGEMM have a smaller one.
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

# The wrapper's names for these kernels (compile_utils.DeepGemmKernelType).
SERVED_KINDS = (
    "GROUPED_GEMM_NT_F8F8BF16_MASKED",
    "GROUPED_GEMM_NT_F8F8BF16_CONTIG",
    "GROUPED_GEMM_NT_BF16_MASKED",
    "GROUPED_GEMM_NT_BF16_CONTIG",
    "GEMM_NT_F8F8BF16",
)


class _Both:
    """DeepGEMM's module, with the functions above from Cubinet."""

    def __init__(self, deep_gemm: ModuleType) -> None:
        self._deep_gemm = deep_gemm
        for name in SERVED:
            setattr(self, name, getattr(cubinet_gemm, name))

    def set_num_sms(self, num_sms: int) -> None:
        """Limits the kernels of both."""
        self._deep_gemm.set_num_sms(num_sms)
        cubinet_gemm.set_num_sms(num_sms)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._deep_gemm, name)


def serve(deep_gemm: ModuleType, compile_utils: ModuleType) -> Any:
    """Returns the module to use in place of `deep_gemm`. Also turns off SGLang's precompilation, which runs every M, for
    the kernels above: Cubinet loads the kernels of a problem for all M at its first call, from the warmed cabinet."""
    precompile = compile_utils.deep_gemm_execution_hook

    def hook(m: int, n: int, k: int, num_groups: int, kernel_type: Any) -> contextlib.AbstractContextManager[Any]:
        if kernel_type.name in SERVED_KINDS:
            return contextlib.nullcontext()
        return precompile(m, n, k, num_groups, kernel_type)

    compile_utils.deep_gemm_execution_hook = hook
    return _Both(deep_gemm)
