"""Every refusal names the argument, the expected value and the given one. The engine is not called."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from cubinet import deep_gemm
from fakes import BF16, FP8, FP32, INT32, INT64, Device, FakeEngine, FakeTensor


@pytest.fixture(autouse=True)
def nothing_is_launched(engine: FakeEngine) -> Iterator[None]:
    yield
    assert (engine.record.launches, engine.record.prepared) == (0, 0)


# Valid arguments, of which a test makes one invalid.
def masked_fp8(**wrong: Any) -> dict[str, Any]:
    parts = {
        "a": FakeTensor((2, 32, 256), FP8),
        "a_scales": FakeTensor((2, 32, 2), FP32),
        "b": FakeTensor((2, 192, 256), FP8),
        "b_scales": FakeTensor((2, 2, 2), FP32),
        "d": FakeTensor((2, 32, 192), BF16),
        "masked_m": FakeTensor((2,), INT32),
        "expected_m": 8,
        **wrong,
    }
    parts["a"] = (parts["a"], parts.pop("a_scales"))
    parts["b"] = (parts["b"], parts.pop("b_scales"))
    return parts


def contiguous_bf16(**wrong: Any) -> dict[str, Any]:
    return {
        "a": FakeTensor((256, 128), BF16),
        "b": FakeTensor((2, 64, 128), BF16),
        "d": FakeTensor((256, 64), BF16),
        "m_indices": FakeTensor((256,), INT32),
        **wrong,
    }


HOST = Device("cpu", None)
OTHER = Device("cuda", 1)

WRONG_FP8 = [
    ({"a": FakeTensor((2, 32, 256), BF16)}, TypeError, "a: expected torch.float8_e4m3fn, got torch.bfloat16"),
    ({"a": FakeTensor((32, 256), FP8)}, ValueError, "a: expected shape (groups, M, K), got (32, 256)"),
    ({"a_scales": FakeTensor((2, 32, 3), FP32)}, ValueError, "a_scales: expected shape (2, 32, 2), got (2, 32, 3)"),
    ({"a_scales": FakeTensor((64, 2), FP32)}, ValueError, "a_scales: expected shape (groups, M, K / 128), got (64, 2)"),
    (
        {"a_scales": FakeTensor((2, 32, 1), INT32)},
        TypeError,
        "a_scales: expected torch.float32, got torch.int32 (packed UE8M0 scales belong to sm_100)",
    ),
    (
        {"a_scales": FakeTensor((2, 32, 2), FP32, strides=(64, 1, 33))},
        ValueError,
        "a_scales: expected strides (64, 1, 32) (column-major, aligned) or (64, 2, 1) (row-major), got (64, 1, 33)",
    ),
    (
        {"a_scales": FakeTensor((2, 32, 2), FP32, strides=(64, 1, 32), address=0x10008)},
        ValueError,
        "a_scales: expected an address that is a multiple of 16, got 0x10008",
    ),
    ({"b": FakeTensor((3, 192, 256), FP8)}, ValueError, "b: expected shape (2, 192, 256), got (3, 192, 256)"),
    ({"b": FakeTensor((2, 192, 128), FP8)}, ValueError, "b: expected shape (2, 192, 256), got (2, 192, 128)"),
    ({"b_scales": FakeTensor((2, 1, 2), FP32)}, ValueError, "b_scales: expected shape (2, 2, 2), got (2, 1, 2)"),
    (
        {"b_scales": FakeTensor((2, 2, 2), FP32, strides=(4, 1, 2))},
        ValueError,
        "b_scales: expected a contiguous tensor, strides (4, 2, 1), got strides (4, 1, 2)",
    ),
    ({"d": FakeTensor((2, 32, 192), FP32)}, TypeError, "d: expected torch.bfloat16, got torch.float32"),
    ({"d": FakeTensor((2, 33, 192), BF16)}, ValueError, "d: expected shape (2, 32, 192), got (2, 33, 192)"),
    (
        {"d": FakeTensor((2, 32, 192), BF16, address=0x10002)},
        ValueError,
        "d: expected an address that is a multiple of 16, got 0x10002",
    ),
    ({"masked_m": FakeTensor((3,), INT32)}, ValueError, "masked_m: expected shape (2,), got (3,)"),
    ({"masked_m": FakeTensor((2, 1), INT32)}, ValueError, "masked_m: expected shape (groups,), got (2, 1)"),
    ({"masked_m": FakeTensor((2,), INT64)}, TypeError, "masked_m: expected torch.int32, got torch.int64"),
    (
        {"masked_m": FakeTensor((2,), INT32, strides=(2,))},
        ValueError,
        "masked_m: expected a contiguous tensor, strides (1,), got strides (2,)",
    ),
    ({"masked_m": [1, 2]}, TypeError, "masked_m: expected a tensor, got list"),
    (
        {"a": FakeTensor((2, 32, 256), FP8, device=HOST)},
        ValueError,
        "a: expected a tensor on a CUDA device, got one on the host",
    ),
    (
        {"b_scales": FakeTensor((2, 2, 2), FP32, device=HOST)},
        ValueError,
        "b_scales: expected a tensor on a CUDA device, got one on the host",
    ),
    (
        {"d": FakeTensor((2, 32, 192), BF16, device=OTHER)},
        ValueError,
        "d: expected a tensor on cuda:0, where a is, got one on cuda:1",
    ),
    ({"expected_m": "8"}, TypeError, "expected_m: expected an int, got str"),
    ({"expected_m": 2.5}, TypeError, "expected_m: expected an int, got float"),
    ({"expected_m": True}, TypeError, "expected_m: expected an int, got bool"),
    ({"recipe": (1, 1, 128)}, ValueError, "recipe: expected None or (1, 128, 128), got (1, 1, 128)"),
    ({"recipe_a": (1, 32)}, ValueError, "recipe_a: expected None or (1, 128), got (1, 32)"),
    ({"recipe_b": "nk"}, ValueError, "recipe_b: expected None or (128, 128), got 'nk'"),
    ({"enable_overlap": True}, ValueError, "enable_overlap: expected False, got True"),
    ({"signal": 1}, ValueError, "signal: expected None, got 1"),
]


@pytest.mark.parametrize(("wrong", "kind", "text"), WRONG_FP8, ids=[text for _, _, text in WRONG_FP8])
def test_masked_fp8(wrong: dict[str, Any], kind: type[Exception], text: str) -> None:
    with pytest.raises(kind) as refused:
        deep_gemm.m_grouped_fp8_gemm_nt_masked(**masked_fp8(**wrong))
    assert str(refused.value) == text


WRONG_BF16 = [
    (
        {"a": FakeTensor((256, 128), BF16, strides=(256, 1))},
        ValueError,
        "a: expected a contiguous tensor, strides (128, 1), got strides (256, 1)",
    ),
    (
        {"b": FakeTensor((2, 64, 128), BF16, strides=(8192, 1, 64))},
        ValueError,
        "b: expected a contiguous tensor, strides (8192, 128, 1), got strides (8192, 1, 64)",
    ),
    ({"b": FakeTensor((64, 128), BF16)}, ValueError, "b: expected shape (groups, N, K), got (64, 128)"),
    ({"d": FakeTensor((255, 64), BF16)}, ValueError, "d: expected shape (256, 64), got (255, 64)"),
    ({"m_indices": FakeTensor((255,), INT32)}, ValueError, "m_indices: expected shape (256,), got (255,)"),
    ({"m_indices": None}, TypeError, "m_indices: expected a tensor, got NoneType"),
    ({"a": (1, 2)}, TypeError, "a: expected a tensor, got tuple"),
    ({"use_psum_layout": True}, ValueError, "use_psum_layout: expected False, got True"),
    ({"ensure_zero_padding": True}, ValueError, "ensure_zero_padding: expected False, got True"),
    ({"expected_m_for_psum_layout": 4}, ValueError, "expected_m_for_psum_layout: expected None, got 4"),
]


@pytest.mark.parametrize(("wrong", "kind", "text"), WRONG_BF16, ids=[text for _, _, text in WRONG_BF16])
def test_contiguous_bf16(wrong: dict[str, Any], kind: type[Exception], text: str) -> None:
    with pytest.raises(kind) as refused:
        deep_gemm.m_grouped_bf16_gemm_nt_contiguous(**contiguous_bf16(**wrong))
    assert str(refused.value) == text


def test_an_fp8_operand_must_be_a_pair() -> None:
    arguments = masked_fp8()
    for wrong, came in ((arguments["a"][0], "FakeTensor"), ((1,), "1 items"), ((1, 2, 3), "3 items")):
        with pytest.raises(TypeError, match=rf"^a: expected a pair \(tensor, scales\), got {came}$"):
            deep_gemm.m_grouped_fp8_gemm_nt_masked(**{**arguments, "a": wrong})


def test_dense_accumulation_is_refused() -> None:
    a, b, d = FakeTensor((4, 64)), FakeTensor((8, 64)), FakeTensor((4, 8))
    with pytest.raises(ValueError, match="^c: expected None, got FakeTensor"):
        deep_gemm.bf16_gemm_nt(a, b, d, c=d)
    with pytest.raises(ValueError, match=r"^alpha: expected None, got 0\.5$"):
        deep_gemm.bf16_gemm_nt(a, b, d, alpha=0.5)
    with pytest.raises(ValueError, match=r"^b: expected shape \(8, 64\), got \(8, 32\)$"):
        deep_gemm.bf16_gemm_nt(a, FakeTensor((8, 32)), d)


def test_arguments_are_counted_and_named() -> None:
    call = deep_gemm.bf16_gemm_nt
    names = "a, b, d, c, compiled_dims, alpha"
    a, b, d = FakeTensor((4, 64)), FakeTensor((8, 64)), FakeTensor((4, 8))
    for arguments, keywords, text in [
        ((a, b), {}, "bf16_gemm_nt(): d is missing"),
        ((a, b, d), {"epilogue": 1}, f"bf16_gemm_nt(): unknown argument 'epilogue'; it takes {names}"),
        ((a, b, d), {"a": a}, "bf16_gemm_nt(): a is given twice"),
        ((a, b, d), {"out": d}, "bf16_gemm_nt(): d is given twice"),
        ((a, b), {"d": d, "out": d}, "bf16_gemm_nt(): d is given twice"),
        ((a, b, d, None, "nk"), {"compiled_dims": "nk"}, "bf16_gemm_nt(): compiled_dims is given twice"),
        ((a, b, d, None), {"c": 5}, "bf16_gemm_nt(): c is given twice"),
        ((a, b, d, None, "nk", None, 1), {}, f"bf16_gemm_nt(): takes at most 6 arguments ({names}), got 7"),
    ]:
        with pytest.raises(TypeError) as refused:
            call(*arguments, **keywords)
        assert str(refused.value) == text


def test_an_exception_of_a_tensor_is_passed_on() -> None:
    class Moved(FakeTensor):
        def data_ptr(self) -> int:
            raise OSError("the storage is gone")

    with pytest.raises(OSError, match="the storage is gone"):
        deep_gemm.m_grouped_bf16_gemm_nt_contiguous(**contiguous_bf16(a=Moved((256, 128))))


def test_an_exception_of_an_int_is_passed_on() -> None:
    class Lazy:
        def __index__(self) -> int:
            raise OSError("the number is gone")

    with pytest.raises(OSError, match="the number is gone"):
        deep_gemm.m_grouped_fp8_gemm_nt_masked(**masked_fp8(expected_m=Lazy()))


@pytest.mark.parametrize("index", [-1, 1024, 1 << 31, 1 << 33, -(1 << 70)])
def test_a_device_that_no_machine_has_is_refused(index: int) -> None:
    there, nowhere = FakeTensor((4, 64)), Device("cuda", index)
    a, b, d = (FakeTensor(shape, device=nowhere) for shape in ((4, 64), (8, 64), (4, 8)))
    with pytest.raises(ValueError) as refused:
        deep_gemm.bf16_gemm_nt(a, b, d)
    assert str(refused.value) == f"a: expected a device index from 0 to 1023, got {index}"
    with pytest.raises(ValueError) as refused:
        deep_gemm.bf16_gemm_nt(there, b, d)
    assert str(refused.value) == f"b: expected a device index from 0 to 1023, got {index}"


def test_the_index_of_a_host_device_is_ignored() -> None:
    a, b, d = (FakeTensor(shape, device=Device("cpu", -1)) for shape in ((4, 64), (8, 64), (4, 8)))
    with pytest.raises(ValueError, match="^a: expected a tensor on a CUDA device, got one on the host$"):
        deep_gemm.bf16_gemm_nt(a, b, d)


def test_a_tensor_of_many_dimensions_is_described() -> None:
    with pytest.raises(ValueError, match=r"^a: expected shape \(M, K\), got \(1, 1, 1, 1, 1, 1, 1, 1, \.\.\.\)"):
        deep_gemm.m_grouped_bf16_gemm_nt_contiguous(**contiguous_bf16(a=FakeTensor((1,) * 12)))


class Loud:
    """An object that must not be converted to text: a tensor on a GPU would launch kernels for that."""

    def __repr__(self) -> str:
        raise AssertionError("asked for its text")

    def data_ptr(self) -> int:
        raise AssertionError("asked for its address")


def test_a_refused_value_is_not_converted_to_text(engine: FakeEngine) -> None:
    with pytest.raises(ValueError, match="^c: expected None, got Loud$"):
        deep_gemm.bf16_gemm_nt(None, None, None, c=Loud())
    with pytest.raises(TypeError, match="^expected_m: expected an int, got Loud$"):
        deep_gemm.m_grouped_bf16_gemm_nt_masked(None, None, None, None, Loud())
