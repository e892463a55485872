"""Calls on a GPU: correct results, captures, streams, threads and memory."""

from __future__ import annotations

import gc
import threading
from pathlib import Path
from typing import Any

import pytest

import cubinet
from cubinet import deep_gemm
from gpu_support import (
    BF16_LIMIT,
    FP8_LIMIT,
    Contiguous,
    Masked,
    difference,
    needs_gpu,
    poisoned,
    quantize_blocks,
    quantize_rows,
    random_bf16,
    torch,
)

pytestmark = needs_gpu


@pytest.fixture(scope="module", autouse=True)
def cabinet(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One cabinet for all tests here: a kernel is compiled once."""
    folder = tmp_path_factory.mktemp("cabinet")
    cubinet.start(cache=folder)
    return folder


FAMILIES = [
    pytest.param(False, "contiguous", id="bf16-contiguous"),
    pytest.param(False, "masked", id="bf16-masked"),
    pytest.param(True, "contiguous", id="fp8-contiguous"),
    pytest.param(True, "masked", id="fp8-masked"),
]


def make(fp8: bool, layout: str, n: int = 384, k: int = 512) -> Any:
    if layout == "contiguous":
        return Contiguous(fp8, n, k, [200, 0, 128, 1])
    return Masked(fp8, n, k, [3, 0, 130, 64], 192)


@pytest.mark.parametrize(("fp8", "layout"), FAMILIES)
@pytest.mark.parametrize(("n", "k"), [(384, 512), (1024, 2048), (200, 128)])
def test_a_family_agrees_with_the_reference(fp8: bool, layout: str, n: int, k: int) -> None:
    problem = make(fp8, layout, n, k)
    problem.run()
    problem.check()


@pytest.mark.parametrize("rows", [1, 127, 128, 1000])
def test_a_dense_bf16_gemm_agrees_with_the_reference(rows: int) -> None:
    a, b, d = random_bf16(rows, 512), random_bf16(384, 512), poisoned(rows, 384)
    deep_gemm.bf16_gemm_nt(a, b, d)
    assert difference(d, a.float() @ b.float().T) < BF16_LIMIT


@pytest.mark.parametrize("rows", [1, 127, 128, 1000])
@pytest.mark.parametrize("column_major", [False, True])
def test_a_dense_fp8_gemm_agrees_with_the_reference(rows: int, column_major: bool) -> None:
    a, scales, meant_a = quantize_rows(random_bf16(rows, 512))
    b, b_scales, meant_b = quantize_blocks(random_bf16(1, 384, 512))
    if column_major:
        scales = deep_gemm.get_mn_major_tma_aligned_tensor(scales)
    d = poisoned(rows, 384)
    deep_gemm.fp8_gemm_nt((a, scales), (b[0], b_scales[0]), d)
    assert difference(d, meant_a @ meant_b[0].T) < FP8_LIMIT


@pytest.mark.parametrize("layout", ["contiguous", "masked"])
def test_column_major_scales_give_the_same_bits_as_row_major_ones(layout: str) -> None:
    problem = make(True, layout)
    problem.run()
    first, problem.d = problem.d, torch.full_like(problem.d, float("nan"))
    problem.a = (problem.a[0], deep_gemm.get_mn_major_tma_aligned_tensor(problem.a[1]))
    problem.run()
    assert torch.equal(first.view(torch.int16), problem.d.view(torch.int16))


@pytest.mark.parametrize(("fp8", "layout"), FAMILIES)
def test_a_captured_call_is_replayed_with_new_values(fp8: bool, layout: str) -> None:
    problem = make(fp8, layout)
    problem.run()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        problem.run()
    problem.d.fill_(float("nan"))
    if not fp8:
        problem.a.normal_()
        problem.meant_a = problem.a.float()
    graph.replay()
    problem.check()


def test_a_first_call_in_a_capture_is_refused_and_the_capture_stays_valid() -> None:
    seen, unseen = make(False, "masked"), Masked(False, 256, 320, [5, 6], 64)
    seen.run()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        seen.run()
        with pytest.raises(cubinet.Error, match="captured into a CUDA graph") as refused:
            unseen.run()
    assert refused.value.status == "capturing"
    seen.d.fill_(float("nan"))
    graph.replay()
    seen.check()
    unseen.run()
    unseen.check()


@pytest.mark.parametrize(("fp8", "layout"), FAMILIES)
def test_a_limit_on_sms_changes_no_bit(fp8: bool, layout: str) -> None:
    problem = make(fp8, layout, 1024, 2048)
    problem.run()
    expected = problem.d.view(torch.int16).clone()
    sms = deep_gemm.get_num_sms()
    try:
        for limit in (1, 3, sms // 2, sms, 10 * sms):
            problem.d.fill_(float("nan"))
            deep_gemm.set_num_sms(limit)
            problem.run()
            assert torch.equal(problem.d.view(torch.int16), expected), limit
            problem.check()
    finally:
        deep_gemm.set_num_sms(sms)


def test_a_start_from_shapes_loads_what_later_calls_need(tmp_path: Path, cabinet: Path) -> None:
    n, k, groups = 640, 384, 4
    shapes = {"shapes": [(n, k, groups)], "dtype": "bf16,fp8", "m_max": 512, "cache": tmp_path}
    try:
        cold = cubinet.start(**shapes)
        assert 0 < cold.compiled == cold.missing <= cold.loaded
        warm = cubinet.start(**shapes, miss="error")
        assert (warm.loaded, warm.missing, warm.compiled) == (cold.loaded, 0, 0)
        for fp8 in (False, True):
            for problem in (Contiguous(fp8, n, k, [100, 0, 1, 27]), Masked(fp8, n, k, [3, 0, 130, 64], 192)):
                problem.run()
                problem.check()
        with pytest.raises(cubinet.Error) as refused:
            Masked(False, 128, 128, [1], 64).run()
        assert refused.value.status == "not_prepared"
    finally:
        cubinet.start(cache=cabinet, miss="compile")


def test_a_call_runs_on_the_current_stream() -> None:
    problem = make(True, "contiguous")
    problem.run()
    torch.cuda.synchronize()
    side = torch.cuda.Stream()
    problem.d.fill_(float("nan"))
    torch.cuda.synchronize()
    with torch.cuda.stream(side):
        torch.cuda._sleep(200_000_000)  # some 100 ms
        problem.run()
    torch.cuda.current_stream().synchronize()
    assert torch.isnan(problem.d).all(), "the call did not wait for its stream"
    side.synchronize()
    problem.check()


@pytest.mark.parametrize(("fp8", "layout"), FAMILIES)
def test_two_threads_on_two_streams_get_correct_results(fp8: bool, layout: str) -> None:
    problems = [make(fp8, layout), make(fp8, layout)]
    failures: list[BaseException] = []

    def work(problem: Any) -> None:
        try:
            with torch.cuda.stream(torch.cuda.Stream()):
                for _ in range(50):
                    problem.run()
                torch.cuda.current_stream().synchronize()
                problem.check()
        except BaseException as error:
            failures.append(error)

    torch.cuda.synchronize()
    threads = [threading.Thread(target=work, args=(problem,)) for problem in problems]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def test_two_threads_that_make_the_first_call_of_a_problem_both_succeed() -> None:
    problems = [Masked(False, 520, 704, [9, 20], 64), Masked(False, 520, 704, [1, 2], 64)]
    threads = [threading.Thread(target=problem.run) for problem in problems]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    torch.cuda.synchronize()
    for problem in problems:
        problem.check()


def test_a_tensor_on_the_host_is_named() -> None:
    problem = make(False, "masked")
    with pytest.raises(ValueError, match="masked_m: expected a tensor on a CUDA device, got one on the host"):
        deep_gemm.m_grouped_bf16_gemm_nt_masked(problem.a, problem.b, problem.d, problem.masked_m.cpu(), 1)


@pytest.mark.skipif(torch is None or torch.cuda.device_count() < 2, reason="needs two GPUs")
def test_a_second_device_can_be_used_while_the_first_is_current() -> None:
    with torch.cuda.device(1):
        problem = make(True, "masked")
    other = torch.zeros_like(problem.d, device="cuda:0")
    with pytest.raises(ValueError, match="d: expected a tensor on cuda:1, where a is, got one on cuda:0"):
        deep_gemm.m_grouped_fp8_gemm_nt_masked(problem.a, problem.b, other, problem.masked_m, 1)
    assert torch.cuda.current_device() == 0
    problem.run()
    torch.cuda.synchronize(1)
    problem.check()


def test_strided_tensors_are_refused_and_nothing_is_written() -> None:
    problem = make(False, "contiguous")
    m, k = problem.a.shape
    wide = random_bf16(m, 2 * k)[:, :k]
    with pytest.raises(
        ValueError, match=r"a: expected a contiguous tensor, strides \(512, 1\), got strides \(1024, 1\)"
    ):
        deep_gemm.m_grouped_bf16_gemm_nt_contiguous(wide, problem.b, problem.d, problem.m_indices)
    torch.cuda.synchronize()
    assert torch.isnan(problem.d).all()


@pytest.mark.parametrize(("fp8", "layout"), FAMILIES)
def test_with_zero_tokens_nothing_is_launched(fp8: bool, layout: str) -> None:
    problem = make(fp8, layout)
    cut = (lambda t: t[:0]) if layout == "contiguous" else (lambda t: t[:, :0])
    problem.a = tuple(map(cut, problem.a)) if fp8 else cut(problem.a)
    problem.d = cut(problem.d)
    if layout == "contiguous":
        problem.m_indices = problem.m_indices[:0]
    problem.run()
    torch.cuda.synchronize()


def test_with_only_padding_rows_nothing_is_written() -> None:
    problem = Contiguous(True, 384, 512, [100])
    problem.m_indices.fill_(-1)
    problem.run()
    torch.cuda.synchronize()
    assert torch.isnan(problem.d).all()


def test_parameters_are_accepted_as_weights() -> None:
    problem = make(False, "masked")
    problem.b = torch.nn.Parameter(problem.b)
    assert problem.b.requires_grad
    problem.run()
    problem.check()


def test_tensors_read_by_attributes_give_the_same_bits() -> None:
    problem = make(True, "masked")
    problem.run()
    first, problem.d = problem.d, torch.full_like(problem.d, float("nan"))
    deep_gemm.m_grouped_fp8_gemm_nt_masked(
        tuple(map(ByAttributes, problem.a)),
        tuple(map(ByAttributes, problem.b)),
        ByAttributes(problem.d),
        ByAttributes(problem.masked_m),
        problem.expected_m,
    )
    assert torch.equal(first.view(torch.int16), problem.d.view(torch.int16))


class ByAttributes:
    """A tensor whose type has no exchange API, as in older versions of PyTorch."""

    def __init__(self, tensor: Any) -> None:
        self.tensor = tensor

    def __getattr__(self, name: str) -> Any:
        return getattr(self.tensor, name)


def resident_bytes() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096


@pytest.mark.parametrize(("fp8", "layout"), FAMILIES)
def test_a_thousand_calls_leak_no_memory(fp8: bool, layout: str) -> None:
    problem = make(fp8, layout)
    for _ in range(200):
        problem.run()
    torch.cuda.synchronize()
    gc.collect()
    host, device, reserved = resident_bytes(), torch.cuda.memory_allocated(), torch.cuda.memory_reserved()
    for _ in range(1000):
        problem.run()
    torch.cuda.synchronize()
    assert torch.cuda.memory_allocated() == device
    assert torch.cuda.memory_reserved() == reserved
    assert resident_bytes() - host < 1 << 20


def test_a_start_finds_the_kernels_of_a_warmup_in_a_process_with_torch(tmp_path: Path) -> None:
    shape = (256, 384, 2)
    report = cubinet.warmup(shapes=[shape], dtype="bf16", layout="masked", cache=tmp_path, m_max=512)
    assert report["failed"] == 0
    try:
        started = cubinet.start([cubinet.Problem(*shape, layout="masked", m_max=512)], cache=tmp_path, miss="error")
        assert (started.missing, started.compiled) == (0, 0)
        again = cubinet.start(shapes=[shape], layout="masked", m_max=512, cache=tmp_path, miss="error")
        assert (again.loaded, again.missing) == (started.loaded, 0)
        problem = Masked(False, 256, 384, [3, 64], 96)
        problem.run()
        problem.check()
        with pytest.raises(cubinet.Error) as refused:
            Masked(False, 264, 384, [3, 64], 96).run()
        assert refused.value.status == "not_prepared"
    finally:
        cubinet.start(cache=tmp_path, miss="compile")


def test_a_warmup_executes_what_it_compiled(tmp_path: Path) -> None:
    report = cubinet.warmup(
        shapes=[(256, 384, 2)],
        dtype="bf16",
        layout="masked",
        cache=tmp_path,
        m_max=64,
        execute=True,
        strict=True,
        memory_budget=1 << 30,
    )
    assert report["failed"] == 0
