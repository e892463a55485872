"""DeepGEMM's names on Cubinet's kernels: BF16 and FP8 grouped GEMMs on sm_90a, contiguous and masked.

    from cubinet import deep_gemm

The arguments and their meaning are DeepGEMM's. An argument that changes the result and is not supported (accumulation
into c, other recipes, prefix-sum layouts, zeroed padding) raises ValueError. An argument that only tunes DeepGEMM is
accepted and has no effect. The functions that launch are compiled code; their docstrings give the shapes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cubinet import _arguments, _binding
from cubinet._binding import (
    bf16_gemm_nt,
    fp8_gemm_nt,
    m_grouped_bf16_gemm_nt_contiguous,
    m_grouped_bf16_gemm_nt_masked,
    m_grouped_fp8_gemm_nt_contiguous,
    m_grouped_fp8_gemm_nt_masked,
)

if TYPE_CHECKING:
    from torch import Tensor

__all__ = [
    "bf16_gemm_nt",
    "bf16_m_grouped_gemm_nt_masked",
    "ceil_div",
    "fp8_gemm_nt",
    "fp8_m_grouped_gemm_nt_masked",
    "gemm_fp8_fp8_bf16_nt",
    "get_col_major_tma_aligned_tensor",
    "get_m_alignment_for_contiguous_layout",
    "get_mk_alignment_for_contiguous_layout",
    "get_mn_major_tma_aligned_tensor",
    "get_num_sms",
    "get_theoretical_mk_alignment_for_contiguous_layout",
    "get_tma_aligned_size",
    "m_grouped_bf16_gemm_nt_contiguous",
    "m_grouped_bf16_gemm_nt_masked",
    "m_grouped_fp8_gemm_nt_contiguous",
    "m_grouped_fp8_gemm_nt_masked",
    "m_grouped_gemm_fp8_fp8_bf16_nt_contiguous",
    "m_grouped_gemm_fp8_fp8_bf16_nt_masked",
    "set_mk_alignment_for_contiguous_layout",
    "set_num_sms",
    "transform_sf_into_required_layout",
]

# Names in other versions of DeepGEMM.
bf16_m_grouped_gemm_nt_masked = m_grouped_bf16_gemm_nt_masked
fp8_m_grouped_gemm_nt_masked = m_grouped_fp8_gemm_nt_masked
m_grouped_gemm_fp8_fp8_bf16_nt_contiguous = m_grouped_fp8_gemm_nt_contiguous
m_grouped_gemm_fp8_fp8_bf16_nt_masked = m_grouped_fp8_gemm_nt_masked
gemm_fp8_fp8_bf16_nt = fp8_gemm_nt

_alignment: int = _binding.alignment()
_num_sms: int | None = None


def ceil_div(x: int, y: int) -> int:
    """x / y, rounded up."""
    return -(-x // y)


def get_mk_alignment_for_contiguous_layout() -> int:
    """The alignment of the contiguous layout: each group starts at a multiple of this many rows."""
    return _alignment


get_m_alignment_for_contiguous_layout = get_mk_alignment_for_contiguous_layout


def set_mk_alignment_for_contiguous_layout(new_value: int) -> None:
    """Sets the alignment for get_mk_alignment_for_contiguous_layout(): a multiple of 128, which these kernels need.
    Raises ValueError, TypeError."""
    global _alignment
    value = _arguments.integer("new_value", new_value)
    if value <= 0 or value % _binding.alignment() != 0:
        raise ValueError(f"new_value: expected a multiple of {_binding.alignment()}, got {value}")
    _alignment = value


def get_theoretical_mk_alignment_for_contiguous_layout(
    expected_m: int | None = None, num_groups: int | None = None
) -> int:
    """The smallest alignment that can be set, 128 for every number of rows. DeepGEMM's newer kernels have a smaller one
    if groups are small; these use short tiles within blocks of 128 rows instead."""
    for name, value in (("expected_m", expected_m), ("num_groups", num_groups)):
        if value is not None:
            _arguments.integer(name, value)
    return _binding.alignment()


def get_num_sms() -> int:
    """The limit that set_num_sms() set, else the number of multiprocessors of the current device."""
    if _num_sms is not None:
        return _num_sms
    import torch

    return torch.cuda.get_device_properties(torch.cuda.current_device()).multi_processor_count


def set_num_sms(num_sms: int) -> None:
    """Limits the multiprocessors that each later call may occupy, on every device. A kernel with clusters of two
    CTAs occupies two at least. Results do not change. Raises ValueError, TypeError."""
    global _num_sms
    _num_sms = _arguments.integer("num_sms", num_sms, 1, _arguments.INT32_MAX)
    _binding.set_num_sms(_num_sms)


def get_tma_aligned_size(x: int, element_size: int) -> int:
    """The number of elements x, rounded up to a multiple of 16 bytes. element_size must divide 16. Raises ValueError,
    TypeError."""
    size = _arguments.integer("element_size", element_size)
    if size <= 0 or 16 % size != 0:
        raise ValueError(f"element_size: expected a divisor of 16, got {size}")
    step = 16 // size
    return ceil_div(_arguments.integer("x", x), step) * step


def _check_scales(sf: Tensor) -> None:
    import torch

    if not isinstance(sf, torch.Tensor):
        raise TypeError(f"sf: expected a tensor, got {type(sf).__name__}")
    if sf.dtype != torch.float32:
        raise TypeError(f"sf: expected torch.float32, got {sf.dtype}")


def get_mn_major_tma_aligned_tensor(sf: Tensor) -> Tensor:
    """Scales (M, C) or (groups, M, C), float32, in the layout that the kernels read: the same values and shape,
    column-major, with each column padded to a multiple of 16 bytes. A tensor that has that layout is returned itself,
    unless it has PyTorch's negative bit. Raises ValueError, TypeError."""
    import torch

    _check_scales(sf)
    if sf.dim() not in (2, 3):
        raise ValueError(f"sf: expected shape (M, C) or (groups, M, C), got {tuple(sf.shape)}")
    rows, columns = sf.shape[-2:]
    aligned = get_tma_aligned_size(rows, sf.element_size())
    strides = (aligned * columns, 1, aligned)[-sf.dim() :]
    sf = sf.resolve_neg()
    if sf.stride() == strides and sf.data_ptr() % 16 == 0:
        return sf
    # empty_strided() would not allocate the padding of the last column.
    groups = sf.shape[0] if sf.dim() == 3 else 1
    memory = torch.empty(groups * aligned * columns, dtype=sf.dtype, device=sf.device)
    return memory.as_strided(tuple(sf.shape), strides).copy_(sf)


get_col_major_tma_aligned_tensor = get_mn_major_tma_aligned_tensor


def _granularity(recipe: tuple[int, ...], is_sfa: bool | None) -> tuple[int, int]:
    """How many rows and columns share a scale, according to the recipe."""
    numbers = [_arguments.integer("recipe", one) for one in _arguments.items("recipe", recipe, "two or three ints")]
    if len(numbers) == 3:
        if is_sfa is None:
            raise ValueError("is_sfa: expected True or False, since the recipe is of three numbers; got None")
        return numbers[0 if is_sfa else 1], numbers[2]
    if len(numbers) != 2:
        raise ValueError(f"recipe: expected two or three ints, got {recipe!r}")
    return numbers[0], numbers[1]


def transform_sf_into_required_layout(
    sf: Tensor,
    mn: int,
    k: int,
    recipe: tuple[int, ...],
    num_groups: int | None = None,
    is_sfa: bool | None = None,
    disable_ue8m0_cast: bool = False,
    psum_layout: Tensor | None = None,
) -> Tensor:
    """The scales of an operand (mn, k), or (num_groups, mn, k), in the layout that the kernels read. recipe: (1, 128)
    for scales per row and 128 columns, (128, 128) for scales per block; or (1, 128, 128), of which is_sfa=True means
    the first and is_sfa=False the second. Raises ValueError, TypeError."""
    del disable_ue8m0_cast  # kernels of sm_90 have no UE8M0 scales
    _check_scales(sf)
    if is_sfa is not None:
        _arguments.flag("is_sfa", is_sfa)
    if psum_layout is not None:
        raise ValueError(f"psum_layout: expected None, got {type(psum_layout).__name__}")
    rows, columns = _granularity(recipe, is_sfa)
    if (rows, columns) not in ((1, 128), (128, 128)):
        raise ValueError(f"recipe: expected scales per (1, 128) or (128, 128), got ({rows}, {columns})")
    groups = () if num_groups is None else (_arguments.integer("num_groups", num_groups, 0),)
    mn, k = _arguments.integer("mn", mn, 0), _arguments.integer("k", k, 0)
    shape = (*groups, ceil_div(mn, rows), ceil_div(k, columns))
    if tuple(sf.shape) != shape:
        raise ValueError(f"sf: expected shape {shape}, got {tuple(sf.shape)}")
    return get_mn_major_tma_aligned_tensor(sf) if rows == 1 else sf.resolve_neg().contiguous()


def _workspace(device: int, count: int) -> Tensor:
    """Device memory for one launch. Called by the binding if a tensor type has no allocator for C."""
    import torch

    return torch.empty(count, dtype=torch.uint8, device=f"cuda:{device}")


def _zero_indices(device: int, rows: int) -> Tensor:
    """m_indices of a single group. It waits until they are written, so that every stream may read them. Called by the
    binding."""
    import torch

    indices = torch.zeros(rows, dtype=torch.int32, device=f"cuda:{device}")
    torch.cuda.current_stream(device).synchronize()
    return indices
