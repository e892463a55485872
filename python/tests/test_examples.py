"""The module that lets SGLang call these kernels."""

from __future__ import annotations

import contextlib
import runpy
from types import ModuleType, SimpleNamespace
from typing import Any

from conftest import PROJECT
from cubinet import deep_gemm

example = runpy.run_path(str(PROJECT / "examples" / "sglang" / "cubinet_for_sglang.py"))


def modules() -> tuple[Any, Any]:
    """DeepGEMM and SGLang's compile_utils, with the parts that SGLang's wrapper uses."""
    theirs: Any = ModuleType("deep_gemm")
    theirs.fp8_mqa_logits = object()
    theirs.bf16_gemm_nt = object()
    theirs.get_mk_alignment_for_contiguous_layout = lambda: 128
    theirs.get_theoretical_mk_alignment_for_contiguous_layout = lambda expected_m: 16
    compile_utils: Any = ModuleType("compile_utils")
    compile_utils.precompiled = []

    def hook(m: int, n: int, k: int, num_groups: int, kernel_type: Any) -> contextlib.AbstractContextManager[None]:
        compile_utils.precompiled.append((n, k, num_groups, kernel_type.name))
        return contextlib.nullcontext()

    compile_utils.deep_gemm_execution_hook = hook
    return theirs, compile_utils


def test_sglang_gets_these_kernels_and_keeps_deep_gemms_others() -> None:
    theirs, compile_utils = modules()
    both = example["serve"](theirs, compile_utils)
    for name in example["SERVED"]:
        assert getattr(both, name) is getattr(deep_gemm, name)
    assert both.fp8_mqa_logits is theirs.fp8_mqa_logits
    assert both.bf16_gemm_nt is theirs.bf16_gemm_nt
    assert getattr(both, "mega_gate", None) is None


def test_a_limit_on_multiprocessors_applies_to_both(monkeypatch: Any) -> None:
    theirs, compile_utils = modules()
    limits = []
    theirs.set_num_sms = limits.append
    monkeypatch.setattr(deep_gemm, "set_num_sms", limits.append)
    example["serve"](theirs, compile_utils).set_num_sms(100)
    assert limits == [100, 100]


def test_the_alignment_of_groups_is_that_of_these_kernels() -> None:
    both = example["serve"](*modules())
    per_group = 4
    assert both.get_theoretical_mk_alignment_for_contiguous_layout(per_group) == 128
    assert both.get_theoretical_mk_alignment_for_contiguous_layout(expected_m=64, num_groups=16) == 128
    both.set_mk_alignment_for_contiguous_layout(both.get_mk_alignment_for_contiguous_layout())


def test_only_kernels_of_deep_gemm_are_precompiled() -> None:
    theirs, compile_utils = modules()
    example["serve"](theirs, compile_utils)
    for name in (*example["SERVED_KINDS"], "GEMM_NT_BF16BF16F32"):
        with compile_utils.deep_gemm_execution_hook(1, 2, 3, 4, SimpleNamespace(name=name)):
            pass
    assert compile_utils.precompiled == [(2, 3, 4, "GEMM_NT_BF16BF16F32")]
