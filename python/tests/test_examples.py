"""The module that lets SGLang call these kernels."""

from __future__ import annotations

import runpy
from types import ModuleType

from conftest import PROJECT
from cubinet import deep_gemm


def test_sglang_gets_these_kernels_and_keeps_the_rest() -> None:
    example = runpy.run_path(str(PROJECT / "examples" / "sglang" / "cubinet_for_sglang.py"))
    theirs, compile_utils = ModuleType("deep_gemm"), ModuleType("compile_utils")
    theirs.fp8_mqa_logits = object()  # type: ignore[attr-defined]
    theirs.bf16_gemm_nt = object()  # type: ignore[attr-defined]
    both = example["serve"](theirs, compile_utils)
    for name in example["SERVED"]:
        assert getattr(both, name) is getattr(deep_gemm, name)
    assert both.fp8_mqa_logits is theirs.fp8_mqa_logits
    assert both.bf16_gemm_nt is theirs.bf16_gemm_nt
    with compile_utils.deep_gemm_execution_hook(1, 2, 3, 4, "kind"):
        pass
