"""The arguments that a call passes to the engine, tested without a GPU."""

from __future__ import annotations

import gc
import weakref
from pathlib import Path
from typing import Any

import pytest

import cubinet
from cubinet import _binding, deep_gemm
from fakes import BF16, FP8, FP32, INT32, Device, FakeEngine, FakeTensor

try:
    import torch
except ImportError:
    torch = None  # type: ignore[assignment]

needs_exchange = pytest.mark.skipif(
    not hasattr(getattr(torch, "Tensor", None), "__dlpack_c_exchange_api__"),
    reason="needs PyTorch with the DLPack exchange API (2.10)",
)

A, B, D, INDEX, SA, SB = (0x10000 * i for i in range(1, 7))


def tensor(address: int, dtype: Any, *shape: int, **more: Any) -> FakeTensor:
    return FakeTensor(shape, dtype, address=address, **more)


def column_major(address: int, *shape: int) -> FakeTensor:
    rows, columns = shape[-2:]
    aligned = -(-rows // 4) * 4
    return tensor(address, FP32, *shape, strides=(aligned * columns, 1, aligned)[-len(shape) :])


def contiguous_bf16(m: int = 256, n: int = 64, k: int = 128, groups: int = 2) -> tuple[Any, ...]:
    return (tensor(A, BF16, m, k), tensor(B, BF16, groups, n, k), tensor(D, BF16, m, n), tensor(INDEX, INT32, m))


def masked_fp8(m: int = 30, n: int = 192, k: int = 256, groups: int = 3) -> tuple[Any, ...]:
    a = (tensor(A, FP8, groups, m, k), column_major(SA, groups, m, k // 128))
    b = (tensor(B, FP8, groups, n, k), tensor(SB, FP32, groups, -(-n // 128), k // 128))
    return a, b, tensor(D, BF16, groups, m, n), tensor(INDEX, INT32, groups)


def test_a_contiguous_call_passes_pointers_and_sizes(engine: FakeEngine) -> None:
    assert deep_gemm.m_grouped_bf16_gemm_nt_contiguous(*contiguous_bf16()) is None
    r = engine.record
    assert (r.launches, r.family) == (1, 0)
    assert (r.a, r.b, r.d, r.index) == (A, B, D, INDEX)
    assert (r.m, r.n, r.k, r.groups) == (256, 64, 128, 2)
    assert (r.a_scales.rank, r.b_scales.rank, r.workspace) == (0, 0, None)
    assert r.stream == 0x2000


@pytest.mark.parametrize(
    ("given", "taken"),
    [(0, 1), (-3, 1), (-(1 << 80), 1), (1, 1), (1 << 80, (1 << 63) - 1)],
    ids=["zero", "negative", "below 64 bits", "one", "above 64 bits"],
)
def test_every_value_of_expected_m_is_accepted(engine: FakeEngine, given: int, taken: int) -> None:
    deep_gemm.m_grouped_fp8_gemm_nt_masked(*masked_fp8(), given)
    assert (engine.record.launches, engine.record.expected_m) == (1, taken)


def test_a_masked_fp8_call_passes_scales_unchanged(engine: FakeEngine) -> None:
    deep_gemm.m_grouped_fp8_gemm_nt_masked(*masked_fp8(), 17)
    r = engine.record
    assert (r.launches, r.family) == (1, 3)
    assert (r.a, r.b, r.d, r.index) == (A, B, D, INDEX)
    assert (r.m, r.expected_m, r.n, r.k, r.groups) == (30, 17, 192, 256, 3)
    assert (r.a_scales.data, r.b_scales.data) == (SA, SB)
    assert list(r.a_scales.shape) == [3, 30, 2]
    assert list(r.a_scales.strides) == [64, 1, 32]
    assert list(r.b_scales.shape) == [3, 2, 2]
    assert list(r.b_scales.strides) == [4, 2, 1]
    assert (r.workspace, r.workspace_bytes) == (None, 0)


def test_a_dense_call_is_one_group_with_m_indices_of_zeros(engine: FakeEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def zeros(device: int, rows: int) -> FakeTensor:
        asked.append((device, rows))
        return FakeTensor((rows,), INT32, address=0x7000 + rows)

    monkeypatch.setattr(deep_gemm, "_zero_indices", zeros)
    a = (tensor(A, FP8, 200, 128, device=Device("cuda", 3)), column_major(SA, 200, 1))
    a[1].device = Device("cuda", 3)
    b = tuple(tensor(p, t, *s, device=Device("cuda", 3)) for p, t, s in ((B, FP8, (64, 128)), (SB, FP32, (1, 1))))
    d = tensor(D, BF16, 200, 64, device=Device("cuda", 3))
    deep_gemm.fp8_gemm_nt(a, b, d)
    r = engine.record
    assert (r.launches, r.family, r.groups, r.m, r.index) == (1, 2, 1, 200, 0x7000 + 16384)
    assert (r.b_scales.rank, list(r.b_scales.shape)) == (3, [1, 1, 1])
    deep_gemm.fp8_gemm_nt(a, b, d)
    assert asked == [(3, 16384)]
    m = 20000
    deep_gemm.bf16_gemm_nt(
        *(tensor(p, BF16, *s, device=Device("cuda", 3)) for p, s in ((A, (m, 64)), (B, (64, 64)), (D, (m, 64))))
    )
    assert asked == [(3, 16384), (3, 32768)]
    engine.record.capturing = 1
    with pytest.raises(cubinet.Error, match="call it once before the capture") as refused:
        deep_gemm.bf16_gemm_nt(
            *(
                tensor(p, BF16, *s, device=Device("cuda", 3))
                for p, s in ((A, (2 * m, 64)), (B, (64, 64)), (D, (2 * m, 64)))
            )
        )
    assert refused.value.status == "capturing"


def test_row_major_scales_are_passed_with_a_workspace_of_their_padded_size(
    engine: FakeEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    def workspace(device: int, count: int) -> FakeTensor:
        asked.append((device, count))
        return FakeTensor((count,), INT32, address=0x9000)

    monkeypatch.setattr(deep_gemm, "_workspace", workspace)
    a, b, d, masked_m = masked_fp8()
    a = (a[0], tensor(SA, FP32, 3, 30, 2))
    deep_gemm.m_grouped_fp8_gemm_nt_masked(a, b, d, masked_m, 1)
    assert asked == [(0, 4 * 3 * 32 * 2)]
    assert (engine.record.workspace, engine.record.workspace_bytes) == (0x9000, 768)
    assert list(engine.record.a_scales.strides) == [60, 2, 1]


@pytest.mark.parametrize(
    ("rows", "strides", "address", "workspace"),
    [
        (8, (1, 8), SA, False),  # one column with a multiple of 4 rows: no padding
        (6, (1, 1), SA, True),  # not padded
        (6, (1, 8), SA, False),  # padded according to its stride
        (8, (1, 8), SA + 4, True),  # not aligned for bulk copies
        (1, (1, 1), SA, True),
        (1, (1, 4), SA, False),
    ],
)
def test_a_single_column_of_scales_is_read_in_place_if_it_is_padded(
    engine: FakeEngine, monkeypatch: pytest.MonkeyPatch, rows: int, strides: Any, address: int, workspace: bool
) -> None:
    monkeypatch.setattr(deep_gemm, "_workspace", lambda device, count: FakeTensor((count,), INT32))
    a = (tensor(A, FP8, rows, 128), tensor(address, FP32, rows, 1, strides=strides))
    b = (tensor(B, FP8, 2, 64, 128), tensor(SB, FP32, 2, 1, 1))
    deep_gemm.m_grouped_fp8_gemm_nt_contiguous(a, b, tensor(D, BF16, rows, 64), tensor(INDEX, INT32, rows))
    assert (engine.record.workspace_bytes > 0) == workspace


def test_a_limit_on_multiprocessors_is_passed_to_each_launch(
    engine: FakeEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    deep_gemm.m_grouped_bf16_gemm_nt_contiguous(*contiguous_bf16())
    assert engine.record.num_sms == 0
    monkeypatch.setattr(deep_gemm, "_num_sms", None)
    try:
        deep_gemm.set_num_sms(100)
        deep_gemm.m_grouped_bf16_gemm_nt_contiguous(*contiguous_bf16())
        assert engine.record.num_sms == 100
        deep_gemm.m_grouped_fp8_gemm_nt_masked(*masked_fp8(), 17)
        assert engine.record.num_sms == 100
    finally:
        _binding.set_num_sms(0)


def test_arguments_are_accepted_by_either_name(engine: FakeEngine) -> None:
    a, b, d, m_indices = contiguous_bf16()
    deep_gemm.m_grouped_bf16_gemm_nt_contiguous(a, b, d, m_indices=m_indices)
    deep_gemm.m_grouped_bf16_gemm_nt_contiguous(lhs=a, rhs=b, out=d, grouped_layout=m_indices)
    deep_gemm.m_grouped_bf16_gemm_nt_contiguous(**{"m_indices": m_indices, "d": d, "b": b, "a": a})
    built = "".join(["grouped_", "layout"])  # a name that is not interned
    deep_gemm.m_grouped_bf16_gemm_nt_contiguous(a, b, d, **{built: m_indices})
    assert engine.record.launches == 4


def test_arguments_that_only_tune_are_accepted(engine: FakeEngine) -> None:
    call = deep_gemm.fp8_m_grouped_gemm_nt_masked
    call(*masked_fp8(), expected_m=4, recipe=(1, 128, 128), compiled_dims="mnk", disable_ue8m0_cast=True)
    call(*masked_fp8(), 4, None, (1, 128), [128, 128], "", False)
    call(*masked_fp8(), 4, enable_overlap=False, max_block_n=256, signal=None)
    deep_gemm.m_grouped_bf16_gemm_nt_contiguous(
        *contiguous_bf16(), "nk", False, ensure_zero_padding=False, expected_m_for_psum_layout=None
    )
    assert engine.record.launches == 4


def test_with_zero_rows_nothing_is_launched_or_opened(engine: FakeEngine) -> None:
    deep_gemm.m_grouped_bf16_gemm_nt_contiguous(*contiguous_bf16(m=0, n=72))
    deep_gemm.m_grouped_fp8_gemm_nt_masked(*masked_fp8(m=0, n=72), 1)
    a = (tensor(0, FP8, 0, 128), tensor(0, FP32, 0, 1, strides=(7, 5)))
    deep_gemm.fp8_gemm_nt(a, (tensor(B, FP8, 64, 128), tensor(SB, FP32, 1, 1)), tensor(0, BF16, 0, 64))
    assert (engine.record.launches, engine.record.prepared) == (0, 0)


def test_a_problem_is_prepared_once_for_the_range_of_a_warmup(engine: FakeEngine) -> None:
    for m in (128, 256, 128):
        deep_gemm.m_grouped_bf16_gemm_nt_contiguous(*contiguous_bf16(m=m, n=80))
    assert (engine.record.launches, engine.record.prepared, engine.record.m_last) == (3, 1, 1 << 24)


def test_many_problems_are_distinguished(engine: FakeEngine) -> None:
    for _ in range(2):
        for n in range(8, 8 * 200, 8):
            deep_gemm.m_grouped_bf16_gemm_nt_contiguous(*contiguous_bf16(n=n, k=192))
            assert (engine.record.n, engine.record.k) == (n, 192)
        deep_gemm.m_grouped_bf16_gemm_nt_contiguous(*contiguous_bf16(groups=5, k=192))
        assert (engine.record.groups, engine.record.k) == (5, 192)
    assert engine.record.prepared == 200


def test_a_start_prepares_problems_and_opens_the_service_that_calls_use(engine: FakeEngine) -> None:
    report = cubinet.start([cubinet.Problem(88, 128, 2, m_max=99), cubinet.Problem(96, 128, 2)], cache="", miss="error")
    assert report == cubinet.StartReport(2, 0, 0, 1.5, "a layer was left out")
    assert (engine.record.opens, engine.record.miss) == (1, 2)
    deep_gemm.m_grouped_bf16_gemm_nt_contiguous(*contiguous_bf16(n=88))
    assert (engine.record.prepared, engine.record.launches) == (2, 1)
    cubinet.start([cubinet.Problem(104, 128, 2)])
    assert engine.record.opens == 1, "without options the present service stays"
    cubinet.start(miss="fallback")
    assert (engine.record.opens, engine.record.miss) == (2, 1)
    deep_gemm.m_grouped_bf16_gemm_nt_contiguous(*contiguous_bf16(n=88))
    assert engine.record.prepared == 4, "a new service prepares anew"
    cubinet.start(device="cuda:1", cache="")
    assert engine.record.device == 1
    deep_gemm.m_grouped_bf16_gemm_nt_contiguous(*contiguous_bf16(n=88))
    assert engine.record.prepared == 4, "another device's start changes nothing here"


def test_a_start_from_a_model_loads_each_of_its_problems(engine: FakeEngine, qwen_config: Path) -> None:
    given = cubinet.Problem(136, 128, 2)
    report = cubinet.start([given], model=qwen_config, ep=8, dtype="bf16,fp8", m_max=99, cache="")
    assert (report.loaded, engine.record.prepared, engine.record.m_last) == (9, 9, 99)
    for n, k in ((1024, 2048), (2048, 512)):
        deep_gemm.m_grouped_bf16_gemm_nt_contiguous(*contiguous_bf16(n=n, k=k, groups=32))
        deep_gemm.m_grouped_fp8_gemm_nt_masked(*masked_fp8(n=n, k=k, groups=32), 1)
    assert engine.record.prepared == 9, "what a start has loaded is not prepared again"


def test_a_start_from_shapes_loads_them_for_each_type_and_layout(engine: FakeEngine) -> None:
    report = cubinet.start(shapes=[(144, 128, 2)], dtype="fp8", m_max=64, cache="")
    assert (report.loaded, engine.record.m_last) == (2, 64)
    with pytest.raises(cubinet.Error) as refused:
        cubinet.start(shapes=[(144, 100, 2)])
    assert refused.value.status == "unsupported"


def test_a_later_start_widens_the_range_of_a_problem_and_never_narrows_it(engine: FakeEngine) -> None:
    cubinet.start([cubinet.Problem(112, 128, 2, m_max=4096)], cache="")
    cubinet.start([cubinet.Problem(112, 128, 2, m_max=64)])
    assert engine.record.m_last == 4096
    cubinet.start([cubinet.Problem(120, 128, 2, m_max=300), cubinet.Problem(120, 128, 2, m_max=50)])
    assert engine.record.m_last == 300
    cubinet.start([cubinet.Problem(112, 128, 2, m_max=8192)])
    assert engine.record.m_last == 8192


def test_a_pair_stays_alive_when_its_list_changes_during_the_call(engine: FakeEngine) -> None:
    a, b, d, index = masked_fp8()
    pair = [*a]
    scales = weakref.ref(a[1])
    gone = []

    class Emptying(FakeTensor):
        def data_ptr(self) -> int:
            pair.clear()
            gc.collect()
            gone.append(scales() is None)
            return super().data_ptr()

    pair[0] = Emptying(a[0].shape, FP8, address=A)
    del a
    deep_gemm.m_grouped_fp8_gemm_nt_masked(pair, b, d, index, 17)
    assert gone == [False] and engine.record.a_scales.data == SA


def test_a_first_call_in_a_capture_is_refused(engine: FakeEngine) -> None:
    engine.record.capturing = 1
    with pytest.raises(cubinet.Error, match="captured into a CUDA graph: name it to cubinet.start") as refused:
        deep_gemm.m_grouped_bf16_gemm_nt_contiguous(*contiguous_bf16(n=1000))
    assert refused.value.status == "capturing"
    assert (engine.record.launches, engine.record.prepared) == (0, 0)
    engine.record.capturing = 0
    deep_gemm.m_grouped_bf16_gemm_nt_contiguous(*contiguous_bf16(n=1000))
    engine.record.capturing = 1
    deep_gemm.m_grouped_bf16_gemm_nt_contiguous(*contiguous_bf16(n=1000))
    assert engine.record.launches == 2


def test_an_interrupt_during_a_preparation_takes_effect_after_it(engine: FakeEngine) -> None:
    engine.record.interrupted = 1
    with pytest.raises(KeyboardInterrupt):
        deep_gemm.m_grouped_bf16_gemm_nt_contiguous(*contiguous_bf16(n=3000))
        for _ in range(1000):  # handlers run between instructions of Python
            pass
    assert engine.record.prepared == 1


@pytest.mark.parametrize("field", ["prepare_status", "launch_status"])
def test_errors_of_the_engine_are_raised_with_their_message(engine: FakeEngine, field: str) -> None:
    setattr(engine.record, field, 7)
    with pytest.raises(cubinet.Error, match="^the engine's reason$") as refused:
        deep_gemm.m_grouped_bf16_gemm_nt_contiguous(*contiguous_bf16(n=2000 if field == "prepare_status" else 64))
    assert (refused.value.status, refused.value.detail) == ("compile_failed", "a log")
    assert isinstance(refused.value, RuntimeError)


def on_device(engine: FakeEngine) -> Any:
    kind = engine.tensor_type(torch, 1)
    return lambda *shape, dtype: torch.zeros(shape, dtype=dtype).as_subclass(kind)


@needs_exchange
def test_tensors_with_the_exchange_api_are_read_by_it(engine: FakeEngine) -> None:
    make = on_device(engine)
    a = (make(3, 30, 256, dtype=torch.float8_e4m3fn), make(3, 30, 2, dtype=torch.float32))
    b = (make(3, 192, 256, dtype=torch.float8_e4m3fn), make(3, 2, 2, dtype=torch.float32))
    d, masked_m = make(3, 30, 192, dtype=torch.bfloat16), make(3, dtype=torch.int32)
    deep_gemm.m_grouped_fp8_gemm_nt_masked(a, b, d, masked_m, 5)
    r = engine.record
    assert (r.launches, r.family) == (1, 3)
    assert (r.a, r.b, r.d, r.index) == tuple(t.data_ptr() for t in (a[0], b[0], d, masked_m))
    assert (r.a_scales.data, r.b_scales.data) == (a[1].data_ptr(), b[1].data_ptr())
    assert (r.m, r.expected_m, r.n, r.k, r.groups) == (30, 5, 192, 256, 3)
    assert (r.stream, r.workspace_bytes) == (0x1001, 768)
    assert r.workspace is not None and r.workspace % 16 == 0


@needs_exchange
def test_a_view_is_read_where_it_begins(engine: FakeEngine) -> None:
    make = on_device(engine)
    a, b = make(4, 64, dtype=torch.bfloat16)[2:], make(2, 64, 64, dtype=torch.bfloat16)
    deep_gemm.m_grouped_bf16_gemm_nt_contiguous(a, b, make(2, 64, dtype=torch.bfloat16), make(2, dtype=torch.int32))
    assert (engine.record.a, engine.record.m) == (a.data_ptr(), 2)


@needs_exchange
def test_a_parameter_with_gradients_is_accepted(engine: FakeEngine) -> None:
    make = on_device(engine)
    b = make(2, 64, 64, dtype=torch.bfloat16).requires_grad_()
    deep_gemm.m_grouped_bf16_gemm_nt_contiguous(
        make(2, 64, dtype=torch.bfloat16), b, make(2, 64, dtype=torch.bfloat16), make(2, dtype=torch.int32)
    )
    assert engine.record.b == b.data_ptr()


@needs_exchange
@pytest.mark.parametrize("make", ["meta", "sparse"])
def test_a_tensor_without_plain_memory_is_refused_by_name(engine: FakeEngine, make: str) -> None:
    odd = torch.empty(256, 128, dtype=torch.bfloat16, device="meta") if make == "meta" else torch.eye(4).to_sparse()
    with pytest.raises(TypeError, match="^a: expected a dense tensor with memory on a device, got Tensor: ") as refused:
        deep_gemm.m_grouped_bf16_gemm_nt_contiguous(odd, *contiguous_bf16()[1:])
    assert "\n" not in str(refused.value), "the cause alone carries PyTorch's own trace"
    assert isinstance(refused.value.__cause__, Exception)
    assert engine.record.launches == 0


@needs_exchange
def test_calls_leak_no_objects_and_no_memory(engine: FakeEngine) -> None:
    import sys
    import tracemalloc

    make = on_device(engine)
    a = (make(30, 256, dtype=torch.float8_e4m3fn), make(30, 2, dtype=torch.float32))
    b = (make(3, 192, 256, dtype=torch.float8_e4m3fn), make(3, 2, 2, dtype=torch.float32))
    d, m_indices = make(30, 192, dtype=torch.bfloat16), make(30, dtype=torch.int32)
    deep_gemm.m_grouped_fp8_gemm_nt_contiguous(a, b, d, m_indices)
    gc.collect()
    counts = [sys.getrefcount(x) for x in (*a, *b, d, m_indices, None)]
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    for _ in range(1000):
        deep_gemm.m_grouped_fp8_gemm_nt_contiguous(a, b, d, m_indices)
    after, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert after - before < 200, "objects were kept"
    assert peak - before < 2000, "a call makes Python objects"
    now = [sys.getrefcount(x) for x in (*a, *b, d, m_indices, None)]
    assert now[:-1] == counts[:-1]
    assert now[-1] - counts[-1] < 100


@needs_exchange
def test_a_c_plus_plus_exception_inside_a_call_is_raised(engine: FakeEngine) -> None:
    kind = engine.tensor_type(torch, -2)  # an invalid device from a framework: no table has an entry for it
    a, b, d = (torch.zeros(shape, dtype=torch.bfloat16).as_subclass(kind) for shape in ((4, 64), (8, 64), (4, 8)))
    with pytest.raises(RuntimeError, match="vector"):
        deep_gemm.bf16_gemm_nt(a, b, d)
    assert engine.record.launches == 0
