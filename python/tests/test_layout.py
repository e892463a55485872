"""The helpers about scales, on the host."""

from __future__ import annotations

from typing import Any

import pytest

from cubinet import deep_gemm

torch: Any = pytest.importorskip("torch", reason="needs PyTorch")


@pytest.mark.parametrize("shape", [(1, 1), (3, 5), (4, 5), (130, 7), (2, 3, 5), (3, 64, 2), (1, 1, 1)])
def test_scales_become_column_major_with_padded_columns(shape: tuple[int, ...]) -> None:
    scales = torch.rand(shape)
    result = deep_gemm.get_mn_major_tma_aligned_tensor(scales)
    rows, columns = shape[-2:]
    aligned = (rows + 3) // 4 * 4
    assert result.stride() == (aligned * columns, 1, aligned)[-len(shape) :]
    assert torch.equal(result, scales)
    memory = result.untyped_storage().nbytes() // 4 - result.storage_offset()
    assert memory >= (shape[0] if len(shape) == 3 else 1) * aligned * columns, "a column's padding is memory, too"
    assert deep_gemm.get_mn_major_tma_aligned_tensor(result) is result


def test_sizes_are_rounded_up_to_sixteen_bytes() -> None:
    assert [deep_gemm.get_tma_aligned_size(x, 4) for x in (0, 1, 4, 5)] == [0, 4, 4, 8]
    assert deep_gemm.get_tma_aligned_size(17, 1) == 32
    with pytest.raises(ValueError, match="element_size: expected a divisor of 16, got 3"):
        deep_gemm.get_tma_aligned_size(1, 3)


def test_scales_are_converted_to_the_layout_of_their_recipe() -> None:
    rows, blocks = torch.rand(2, 6, 2), torch.rand(2, 3, 2)
    transform = deep_gemm.transform_sf_into_required_layout
    for result in (
        transform(rows, 6, 256, (1, 128, 128), num_groups=2, is_sfa=True),
        transform(rows, 6, 256, (1, 128), 2),
    ):
        assert result.stride() == (16, 1, 8) and torch.equal(result, rows)
    for result in (
        transform(blocks, 300, 256, recipe=(1, 128, 128), num_groups=2, is_sfa=False, disable_ue8m0_cast=True),
        transform(blocks.transpose(1, 2).contiguous().transpose(1, 2), 300, 256, (128, 128), 2),
    ):
        assert result.is_contiguous() and torch.equal(result, blocks)


def test_scales_of_another_recipe_or_shape_are_refused() -> None:
    transform = deep_gemm.transform_sf_into_required_layout
    with pytest.raises(ValueError, match=r"^sf: expected shape \(2, 6, 2\), got \(2, 6, 3\)$"):
        transform(torch.rand(2, 6, 3), 6, 256, (1, 128), 2)
    with pytest.raises(ValueError, match=r"^recipe: expected scales per \(1, 128\) or \(128, 128\), got \(1, 32\)$"):
        transform(torch.rand(6, 8), 6, 256, (1, 32))
    with pytest.raises(ValueError, match="^is_sfa: expected True or False"):
        transform(torch.rand(6, 2), 6, 256, (1, 128, 128))
    with pytest.raises(TypeError, match=r"^sf: expected torch\.float32, got torch\.int32$"):
        transform(torch.ones(6, 2, dtype=torch.int32), 6, 256, (1, 128))
    with pytest.raises(ValueError, match=r"^sf: expected shape \(M, C\) or \(groups, M, C\), got \(6,\)$"):
        deep_gemm.get_mn_major_tma_aligned_tensor(torch.rand(6))


def test_a_negative_bit_is_resolved() -> None:
    scales = torch.rand(1, 4).t().contiguous()
    negative = torch._neg_view(scales)
    for result in (
        deep_gemm.get_mn_major_tma_aligned_tensor(negative),
        deep_gemm.transform_sf_into_required_layout(negative[:1], 128, 128, (128, 128)),
    ):
        assert not result.is_neg() and torch.equal(result, -scales[: len(result)])


def test_settings_of_deep_gemm_are_kept() -> None:
    assert deep_gemm.ceil_div(7, 2) == 4
    assert deep_gemm.get_m_alignment_for_contiguous_layout() == 128
    deep_gemm.set_mk_alignment_for_contiguous_layout(256)
    assert deep_gemm.get_mk_alignment_for_contiguous_layout() == 256
    deep_gemm.set_mk_alignment_for_contiguous_layout(128)
    with pytest.raises(ValueError, match="new_value: expected a multiple of 128, got 64"):
        deep_gemm.set_mk_alignment_for_contiguous_layout(64)
    deep_gemm.set_num_sms(100)
    assert deep_gemm.get_num_sms() == 100
    with pytest.raises(ValueError, match="num_sms: expected an int of at least 1, got 0"):
        deep_gemm.set_num_sms(0)


@pytest.mark.parametrize(
    ("call", "kind", "text"),
    [
        (lambda: deep_gemm.set_num_sms(1.5), TypeError, "num_sms: expected an int, got float"),
        (lambda: deep_gemm.set_num_sms(None), TypeError, "num_sms: expected an int, got NoneType"),
        (
            lambda: deep_gemm.set_mk_alignment_for_contiguous_layout(256.0),
            TypeError,
            "new_value: expected an int, got float",
        ),
        (lambda: deep_gemm.get_tma_aligned_size(1.5, 4), TypeError, "x: expected an int, got float"),
        (lambda: deep_gemm.get_mn_major_tma_aligned_tensor(None), TypeError, "sf: expected a tensor, got NoneType"),
        (
            lambda: deep_gemm.transform_sf_into_required_layout(
                torch.rand(1, 1).to(torch.bfloat16), 128, 128, (128, 128)
            ),
            TypeError,
            "sf: expected torch.float32, got torch.bfloat16",
        ),
        (
            lambda: deep_gemm.transform_sf_into_required_layout(torch.rand(1, 1), 128, 128, None),
            TypeError,
            "recipe: expected two or three ints, got NoneType",
        ),
        (
            lambda: deep_gemm.transform_sf_into_required_layout(torch.rand(1, 1), 128, 128, (1, "128")),
            TypeError,
            "recipe: expected an int, got str",
        ),
        (
            lambda: deep_gemm.transform_sf_into_required_layout(torch.rand(1, 1), 128, 128, (128, 128), None, "no"),
            TypeError,
            "is_sfa: expected True or False, got str",
        ),
        (
            lambda: deep_gemm.get_theoretical_mk_alignment_for_contiguous_layout(1.5),
            TypeError,
            "expected_m: expected an int, got float",
        ),
        (
            lambda: deep_gemm.get_theoretical_mk_alignment_for_contiguous_layout(num_groups="4"),
            TypeError,
            "num_groups: expected an int, got str",
        ),
    ],
)
def test_errors_of_helpers_name_the_argument(call: Any, kind: type[Exception], text: str) -> None:
    before = deep_gemm.get_mk_alignment_for_contiguous_layout()
    with pytest.raises(kind) as refused:
        call()
    assert str(refused.value) == text
    assert deep_gemm.get_mk_alignment_for_contiguous_layout() == before
