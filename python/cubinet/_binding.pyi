from collections.abc import Callable
from typing import Any, overload

from torch import Tensor

_Pair = tuple[Tensor, Tensor]
_Recipe = tuple[int, ...] | None

version: str
request_fields: list[str]
dtypes: tuple[str, ...]
layouts: tuple[str, ...]
largest_m: int

# The argument names of other versions of DeepGEMM are accepted, too.

@overload
def m_grouped_bf16_gemm_nt_contiguous(
    a: Tensor,
    b: Tensor,
    d: Tensor,
    m_indices: Tensor,
    compiled_dims: str = "nk",
    use_psum_layout: bool = False,
    ensure_zero_padding: bool = False,
    expected_m_for_psum_layout: None = None,
) -> None: ...
@overload
def m_grouped_bf16_gemm_nt_contiguous(
    *,
    lhs: Tensor,
    rhs: Tensor,
    out: Tensor,
    grouped_layout: Tensor,
    compiled_dims: str = "nk",
    use_psum_layout: bool = False,
    ensure_zero_padding: bool = False,
    expected_m_for_psum_layout: None = None,
) -> None: ...
@overload
def m_grouped_bf16_gemm_nt_masked(
    a: Tensor,
    b: Tensor,
    d: Tensor,
    masked_m: Tensor,
    expected_m: int,
    compiled_dims: str = "nk",
    enable_overlap: bool = False,
    signal: None = None,
) -> None: ...
@overload
def m_grouped_bf16_gemm_nt_masked(
    *,
    lhs: Tensor,
    rhs: Tensor,
    out: Tensor,
    masked_m: Tensor,
    expected_m: int,
    compiled_dims: str = "nk",
    enable_overlap: bool = False,
    signal: None = None,
) -> None: ...
@overload
def m_grouped_fp8_gemm_nt_contiguous(
    a: _Pair,
    b: _Pair,
    d: Tensor,
    m_indices: Tensor,
    recipe: _Recipe = None,
    recipe_a: _Recipe = None,
    recipe_b: _Recipe = None,
    compiled_dims: str = "nk",
    disable_ue8m0_cast: bool = False,
    use_psum_layout: bool = False,
    ensure_zero_padding: bool = False,
    expected_m_for_psum_layout: None = None,
) -> None: ...
@overload
def m_grouped_fp8_gemm_nt_contiguous(
    *,
    lhs: _Pair,
    rhs: _Pair,
    out: Tensor,
    grouped_layout: Tensor,
    recipe: _Recipe = None,
    recipe_a: _Recipe = None,
    recipe_b: _Recipe = None,
    compiled_dims: str = "nk",
    disable_ue8m0_cast: bool = False,
    use_psum_layout: bool = False,
    ensure_zero_padding: bool = False,
    expected_m_for_psum_layout: None = None,
) -> None: ...
@overload
def m_grouped_fp8_gemm_nt_masked(
    a: _Pair,
    b: _Pair,
    d: Tensor,
    masked_m: Tensor,
    expected_m: int,
    recipe: _Recipe = None,
    recipe_a: _Recipe = None,
    recipe_b: _Recipe = None,
    compiled_dims: str = "nk",
    disable_ue8m0_cast: bool = False,
    enable_overlap: bool = False,
    max_block_n: int = 256,
    signal: None = None,
) -> None: ...
@overload
def m_grouped_fp8_gemm_nt_masked(
    *,
    lhs: _Pair,
    rhs: _Pair,
    out: Tensor,
    masked_m: Tensor,
    expected_m: int,
    recipe: _Recipe = None,
    recipe_a: _Recipe = None,
    recipe_b: _Recipe = None,
    compiled_dims: str = "nk",
    disable_ue8m0_cast: bool = False,
    enable_overlap: bool = False,
    max_block_n: int = 256,
    signal: None = None,
) -> None: ...
@overload
def bf16_gemm_nt(
    a: Tensor, b: Tensor, d: Tensor, c: None = None, compiled_dims: str = "nk", alpha: None = None
) -> None: ...
@overload
def bf16_gemm_nt(
    *,
    lhs: Tensor,
    rhs: Tensor,
    out: Tensor,
    c: None = None,
    compiled_dims: str = "nk",
    alpha: None = None,
) -> None: ...
@overload
def fp8_gemm_nt(
    a: _Pair,
    b: _Pair,
    d: Tensor,
    c: None = None,
    recipe: _Recipe = None,
    recipe_a: _Recipe = None,
    recipe_b: _Recipe = None,
    compiled_dims: str = "nk",
    disable_ue8m0_cast: bool = False,
    alpha: None = None,
) -> None: ...
@overload
def fp8_gemm_nt(
    *,
    lhs: _Pair,
    rhs: _Pair,
    out: Tensor,
    c: None = None,
    recipe: _Recipe = None,
    recipe_a: _Recipe = None,
    recipe_b: _Recipe = None,
    compiled_dims: str = "nk",
    disable_ue8m0_cast: bool = False,
    alpha: None = None,
) -> None: ...

class Request: ...
class Options: ...

def request(**fields: Any) -> Request: ...  # by the names of cubinet_request's fields
def options(
    cache: bytes | None, layers: list[bytes], nvrtc_folders: list[bytes], device: int, jobs: int, miss: int
) -> Options: ...
def plan(request: Request, options: Options) -> str: ...
def warmup(
    request: Request,
    options: Options,
    execute: bool,
    strict: bool,
    memory_budget: int,
    progress: Callable[[str, int, int], object] | None,
) -> tuple[str, str, str]: ...
def start(
    problems: list[tuple[int, int, int, int, int, int, int]], request: Request | None, options: Options, reopen: bool
) -> tuple[int, int, int, float, str, str]: ...
def cache_stats(options: Options) -> dict[str, Any]: ...
def background(device: int) -> tuple[int, int, int, str]: ...
def wait_for_background(device: int, seconds: float) -> bool: ...
def close() -> None: ...
def forget() -> None: ...
def set_num_sms(num_sms: int) -> None: ...  # 0: all of the device
def alignment() -> int: ...
