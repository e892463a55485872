"""The package around the binding: its import, the command, and the search for NVRTC."""

from __future__ import annotations

import inspect
import json
import os
import pickle
import subprocess
import sys
from pathlib import Path

import pytest

import cubinet
from cubinet import _nvrtc, deep_gemm


def run(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *arguments], capture_output=True, text=True, timeout=120, env={**os.environ, **environment}
    )


def test_a_thread_of_the_library_does_not_keep_the_process_alive() -> None:
    done = run(
        "-c",
        "import threading, time, cubinet\n"
        "def work():\n"
        "    while True: cubinet.plan(shapes=[(1024, 512, 8)])\n"
        "for _ in range(4): threading.Thread(target=work, daemon=True).start()\n"
        "time.sleep(0.3)",
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_an_import_does_not_import_torch_and_opens_no_driver() -> None:
    done = run(
        "-c",
        "import sys, cubinet, cubinet.deep_gemm; print('torch' in sys.modules); "
        "print('libcuda' in open('/proc/self/maps').read())",
    )
    assert done.stdout.split() == ["False", "False"], done.stderr


def test_the_version_is_the_command_s() -> None:
    done = run("-m", "cubinet", "--version")
    assert done.returncode == 0
    assert cubinet.__version__ in done.stdout


def test_the_command_receives_its_arguments_and_returns_its_exit_code(qwen_config: Path) -> None:
    assert run("-m", "cubinet", "plan", "--shape", "oops").returncode == 2
    done = run("-m", "cubinet", "plan", "--model", str(qwen_config), "--ep", "8", "--json")
    assert json.loads(done.stdout) == cubinet.plan(model=qwen_config, ep=8)


def test_the_command_finds_nvrtc_of_a_package(tmp_path: Path) -> None:
    library = tmp_path / "nvidia" / "cu13" / "lib" / "libnvrtc.so.13"
    library.parent.mkdir(parents=True)
    library.write_bytes(b"no library")
    environment = {"PYTHONPATH": f"{tmp_path}:{os.environ.get('PYTHONPATH', '')}", "CUBINET_NVRTC_DIR": ""}
    done = run("-m", "cubinet", "doctor", **environment)
    assert str(library.parent) in done.stdout + done.stderr


def test_folders_of_packages_are_searched_between_those_of_the_variables(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("cu13", "cuda_nvrtc", "cublas"):
        folder = tmp_path / "nvidia" / name / "lib"
        folder.mkdir(parents=True)
        if name != "cublas":
            (folder / "libnvrtc.so.13").touch()
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    sys.modules.pop("nvidia", None)
    monkeypatch.setenv("CUBINET_NVRTC_DIR", "/first")
    monkeypatch.setenv("CUDA_HOME", "/last")
    root = tmp_path / "nvidia"
    assert _nvrtc.folders() == ["/first", str(root / "cu13" / "lib"), str(root / "cuda_nvrtc" / "lib"), "/last"]


def test_signatures_are_readable() -> None:
    for name in deep_gemm.__all__:
        assert inspect.signature(getattr(deep_gemm, name)), name
        assert getattr(deep_gemm, name).__doc__, name
    assert list(inspect.signature(deep_gemm.m_grouped_bf16_gemm_nt_masked).parameters)[:5] == [
        "a",
        "b",
        "d",
        "masked_m",
        "expected_m",
    ]


def test_names_of_other_versions_are_the_same_functions() -> None:
    assert deep_gemm.fp8_m_grouped_gemm_nt_masked is deep_gemm.m_grouped_fp8_gemm_nt_masked
    assert deep_gemm.m_grouped_gemm_fp8_fp8_bf16_nt_contiguous is deep_gemm.m_grouped_fp8_gemm_nt_contiguous
    assert deep_gemm.m_grouped_gemm_fp8_fp8_bf16_nt_masked is deep_gemm.m_grouped_fp8_gemm_nt_masked
    assert deep_gemm.gemm_fp8_fp8_bf16_nt is deep_gemm.fp8_gemm_nt


def test_an_error_can_be_pickled() -> None:
    error = cubinet.Error("why", "compile_failed", "a log")
    error.report = {"failed": 1}
    copy = pickle.loads(pickle.dumps(error))
    assert (str(copy), copy.status, copy.detail, copy.report) == ("why", "compile_failed", "a log", {"failed": 1})


def test_a_problem_checks_its_fields() -> None:
    with pytest.raises(ValueError, match="^dtype: expected one of 'bf16', 'fp8', got 'fp16'$"):
        cubinet.Problem(64, 64, 1, dtype="fp16")
    with pytest.raises(ValueError, match="^layout: expected one of 'contiguous', 'masked', got 'ragged'$"):
        cubinet.Problem(64, 64, 1, layout="ragged")


def test_a_device_is_a_cuda_device() -> None:
    with pytest.raises(ValueError, match="^device: expected an ordinal, 'cuda:1' or a torch.device of CUDA, got 'cpu'$"):
        cubinet.start(device="cpu")


@pytest.mark.skipif(Path("/dev/nvidiactl").exists(), reason="there is a GPU")
def test_a_start_without_a_driver_is_driver_missing() -> None:
    with pytest.raises(cubinet.Error) as refused:
        cubinet.start([cubinet.Problem(64, 64, 1)], cache="")
    assert refused.value.status == "driver_missing"
