"""Planning and warming from Python: the library's own work, compiled with NVRTC on the host."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

import cubinet

SHAPE = (256, 384, 2)


@pytest.fixture(scope="module", autouse=True)
def nvrtc(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Skips the tests without NVRTC, because they compile."""
    try:
        cubinet.warmup(generic_only=True, dtype="bf16", layout="masked", cache=tmp_path_factory.mktemp("probe"))
    except cubinet.Error as error:
        if error.status == "compiler_missing":
            pytest.skip(str(error))
        raise


def test_a_path_with_a_nul_is_refused() -> None:
    with pytest.raises(ValueError, match="^model: expected a path, got one with a NUL in it"):
        cubinet.plan(model="config.json\0junk")
    with pytest.raises(ValueError, match="^cache: expected a path, got one with a NUL in it"):
        cubinet.warmup(shapes=[(256, 512, 4)], cache="/tmp/there\0not here")


def test_a_path_need_not_be_utf_8(tmp_path: Path, qwen_config: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    odd = tmp_path / os.fsdecode(b"caf\xe9")
    odd.mkdir()
    model = odd / "config.json"
    model.write_bytes(qwen_config.read_bytes())
    for given in (model, str(model), os.fsencode(model)):
        assert cubinet.plan(model=given, ep=8) == cubinet.plan(model=qwen_config, ep=8)
    assert cubinet.warmup(generic_only=True, dtype="bf16", layout="masked", cache=odd / "cabinet")["failed"] == 0
    assert cubinet.cache_stats(os.fsencode(odd / "cabinet"))["entries"] == 1
    with pytest.raises(cubinet.Error, match="caf\ufffd") as refused:
        cubinet.plan(model=odd / "none.json")
    assert refused.value.status == "not_found"
    monkeypatch.setenv("CUBINET_NVRTC_DIR", str(odd))
    assert cubinet.plan(shapes=[SHAPE])["kernels"]


def test_a_launch_command_determines_how_experts_are_divided(qwen_config: Path) -> None:
    expected = cubinet.plan(model=qwen_config, ep=8)["kernels"]
    words = ["python3", "-m", "sglang.launch_server", "--tp", "8", "--ep", "8", "--served-model-name", "a b"]
    assert cubinet.plan(model=qwen_config, sglang="--tp 8 --ep 8")["kernels"] == expected
    assert cubinet.plan(model=qwen_config, sglang=words)["kernels"] == expected
    assert cubinet.plan(sglang=[*words, "--model-path", str(qwen_config.parent)])["kernels"] == expected
    assert cubinet.plan(model=qwen_config, layout="contiguous", vllm="-tp 8 -ep")["kernels"] == [
        kernel for kernel in expected if "contiguous" in kernel["family"]
    ]
    with pytest.raises(ValueError, match="^sglang and vllm: give one launch command"):
        cubinet.plan(model=qwen_config, sglang="--tp 8", vllm="-tp 8")
    with pytest.raises(ValueError, match="^sglang: there is no folder 'Qwen/Qwen3'"):
        cubinet.plan(sglang="--model-path Qwen/Qwen3 --tp 8")
    with pytest.raises(TypeError, match="^vllm: expected a str, got int"):
        cubinet.plan(model=qwen_config, vllm=8)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="^sglang: expected a text, got ''"):
        cubinet.plan(model=qwen_config, sglang=[])


def test_a_plan_is_the_one_that_the_command_prints(qwen_config: Path) -> None:
    planned = cubinet.plan(model=str(qwen_config), ep=8, dtype="bf16,fp8", layout=["masked"], m_max=512)
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "cubinet",
            "plan",
            "--model",
            str(qwen_config),
            "--ep",
            "8",
            "--dtype",
            "bf16,fp8",
            "--layout",
            "masked",
            "--m-max",
            "512",
            "--json",
        ],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert planned == json.loads(done.stdout)


def test_shapes_are_planned_for_each_type_and_layout() -> None:
    kernels = cubinet.plan(shapes=[(256, 384, 2)], dtype=["bf16", "fp8"], no_generic=True)["kernels"]
    assert {kernel["family"] for kernel in kernels if kernel["n"] == 256} == {
        f"{dtype}_grouped_{layout}" for dtype in ("bf16", "fp8") for layout in ("contiguous", "masked")
    }


def record(root: Path, groups: int, m_max: int) -> None:
    """Records a problem in a root as an engine does; docs/cache_format.md has the format."""
    subject = f'{{"arch":"sm_90a","dtype":"bf16","groups":{groups},"k":384,"layout":"masked","n":256}}'
    problems = root / "problems"
    problems.mkdir(exist_ok=True)
    text = f'{{"asked":1764000000,"m":[1,{m_max}],"subject":{subject},"version":1}}'
    (problems / hashlib.sha256(subject.encode()).hexdigest()).write_text(text)


def test_problems_that_engines_recorded_are_compiled_again(tmp_path: Path) -> None:
    root = tmp_path / "cabinet"
    made = cubinet.warmup(shapes=[SHAPE], layout="masked", m_max=8, no_generic=True, cache=root)
    record(root, 2, 8)
    again = cubinet.warmup(recorded=True, no_generic=True, cache=root)
    assert (again["hits"], again["compiled"]) == (made["compiled"], 0)
    assert cubinet.plan(recorded=True, cache=root) == cubinet.plan(recorded=True, recorded_from=root)
    listed = subprocess.run(
        [sys.executable, "-m", "cubinet", "cache", "problems", "--json", "--cache", str(root)],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    exported = tmp_path / "problems.json"
    exported.write_text(listed.stdout)
    elsewhere = cubinet.warmup(recorded=True, recorded_from=exported, no_generic=True, cache=tmp_path / "other")
    assert elsewhere["compiled"] == made["compiled"]


def test_arguments_that_recorded_problems_exclude_are_refused(tmp_path: Path) -> None:
    for wrong in ({"dtype": "fp8"}, {"layout": "masked"}, {"m_max": 8}):
        with pytest.raises(ValueError, match="each recorded problem says its own"):
            cubinet.plan(recorded=True, cache=tmp_path, **wrong)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="^recorded_from: expected none, since recorded is not True$"):
        cubinet.plan(shapes=[SHAPE], recorded_from=tmp_path)
    with pytest.raises(ValueError, match="more than one thing to plan for"):
        cubinet.plan(shapes=[SHAPE], recorded=True, cache=tmp_path)
    with pytest.raises(cubinet.Error) as none:
        cubinet.plan(recorded=True, cache=tmp_path / "none")
    assert none.value.status == "not_found"


def test_requests_that_name_nothing_or_too_much_are_refused(qwen_config: Path) -> None:
    with pytest.raises(ValueError, match="^model: expected the path of a config.json, or shapes"):
        cubinet.plan()
    with pytest.raises(ValueError, match="^shapes: expected none, since a model is given$"):
        cubinet.plan(model=qwen_config, shapes=[(64, 64, 1)])
    with pytest.raises(ValueError, match=r"^shapes: expected tuples \(n, k, groups\), got \(64, 64\)$"):
        cubinet.plan(shapes=[(64, 64)])
    with pytest.raises(ValueError, match="^dtype: expected one of 'bf16', 'fp8', got 'fp4'$"):
        cubinet.plan(shapes=[(64, 64, 1)], dtype="bf16,fp4")
    with pytest.raises(ValueError, match="^dtype, layout: expected none, since each problem says its own$"):
        cubinet.plan(problems=[cubinet.Problem(64, 64, 1)], dtype="fp8")
    with pytest.raises(cubinet.Error) as refused:
        cubinet.plan(model="/no/such/config.json")
    assert refused.value.status in ("not_found", "io")
    with pytest.raises(cubinet.Error, match="64"):
        cubinet.plan(shapes=[(64, 65, 1)])


def test_a_second_warmup_finds_what_the_first_compiled(tmp_path: Path) -> None:
    steps: list[tuple[str, int, int]] = []
    threads = set()

    def progress(phase: str, done: int, total: int) -> None:
        steps.append((phase, done, total))
        threads.add(threading.get_ident())

    first = cubinet.warmup(
        shapes=[SHAPE], dtype="bf16", layout="masked", cache=tmp_path, no_generic=True, progress=progress
    )
    assert first["compiled"] > 0 and first["failed"] == 0
    assert steps[-1][1] == steps[-1][2] == first["compiled"]
    assert threads == {threading.get_ident()}
    second = cubinet.warmup(shapes=[SHAPE], dtype="bf16", layout="masked", cache=tmp_path, no_generic=True)
    assert second["compiled"] == 0
    figures = cubinet.cache_stats(tmp_path)
    assert figures["entries"] == first["compiled"] and figures["compiles"] == first["compiled"]


def test_statistics_of_a_cabinet_that_does_not_exist_are_an_error(tmp_path: Path) -> None:
    with pytest.raises(cubinet.Error) as refused:
        cubinet.cache_stats(tmp_path / "none")
    assert refused.value.status == "not_found"
    assert not (tmp_path / "none").exists()


def test_an_exception_in_progress_ends_the_warmup_and_is_raised(tmp_path: Path) -> None:
    class Enough(Exception):
        pass

    calls = []

    def progress(phase: str, done: int, total: int) -> None:
        calls.append(done)
        raise Enough

    shapes = [(256, k, 2) for k in range(128, 128 * 12, 128)]
    with pytest.raises(Enough):
        cubinet.warmup(shapes=shapes, cache=tmp_path, jobs=1, progress=progress)
    assert len(calls) == 1
    compiled = cubinet.cache_stats(tmp_path)["entries"]
    assert compiled is not None and 1 <= compiled < len(shapes), "kernels in work were finished, no more were begun"


INTERRUPTED = """
import sys, time, cubinet
shapes = [(256, k, 2) for k in range(128, 128 * 60, 128)]
try:
    cubinet.warmup(shapes=shapes, cache=sys.argv[1], jobs=1, progress=lambda *step: print(*step, flush=True))
except KeyboardInterrupt:
    print("interrupted", flush=True)
try:
    time.sleep(30)  # Python's own handler is restored
except KeyboardInterrupt:
    print("again", flush=True)
"""


def test_an_interrupt_ends_a_warmup_after_the_running_compilations(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(INTERRUPTED)
    process = subprocess.Popen(
        [sys.executable, str(script), str(tmp_path / "cache")], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    process.stdout.readline()
    process.send_signal(signal.SIGINT)
    for line in process.stdout:
        if line == "interrupted\n":
            break
    else:
        pytest.fail("it was not told")
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    assert process.stdout.read() == "again\n"
    assert process.wait(60) == 0
    report = cubinet.warmup(
        shapes=[(256, 128, 2)], cache=tmp_path / "cache", layout="contiguous", no_generic=True, m_max=64
    )
    assert report["failed"] == 0, "the cabinet is whole"


SIGNALLED = """
import signal, sys, threading, time, cubinet
threading.Thread(target=time.sleep, args=(3600,), daemon=True).start()  # another thread that may receive the signal
def end(*_):
    raise SystemExit(7)
signal.signal(signal.SIGTERM, end)
try:
    print("begin", flush=True)
    cubinet.warmup(shapes=[(256, k, 2) for k in range(128, 128 * 60, 128)], cache=sys.argv[1], jobs=1)
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""


@pytest.mark.parametrize("delay", [0, 0.01, 0.03, 0.06, 0.1, 0.2])
@pytest.mark.parametrize(
    ("number", "said", "code"), [(signal.SIGINT, "interrupted\n", 0), (signal.SIGTERM, "", 7)], ids=["INT", "TERM"]
)
def test_a_signal_at_any_moment_reaches_python_s_handler(
    tmp_path: Path, delay: float, number: int, said: str, code: int
) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", SIGNALLED, str(tmp_path / "cache")],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None and process.stderr is not None
        assert process.stdout.readline() == "begin\n"
        time.sleep(delay)
        process.send_signal(number)
        assert (process.stdout.read(), process.stderr.read(), process.wait(60)) == (said, "", code)


@pytest.mark.parametrize("delay", [0.05, 0.5])
def test_warmups_on_other_threads_end_with_the_interpreter(tmp_path: Path, delay: float) -> None:
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            "import sys, threading, time, cubinet\n"
            "def work(k):\n"
            "    cubinet.warmup(shapes=[(256, k, 2)], cache=sys.argv[1], progress=lambda *step: None)\n"
            "for k in (128, 256): threading.Thread(target=work, args=(k,), daemon=True).start()\n"
            "time.sleep(float(sys.argv[2]))",
            str(tmp_path),
            str(delay),
        ],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert (done.returncode, done.stdout) == (0, "")
    assert "terminate" not in done.stderr


IGNORING = """
import signal, sys, cubinet
def progress(*step):
    signal.signal(signal.SIGINT, signal.SIG_IGN)
cubinet.warmup(generic_only=True, dtype="bf16", layout="masked", cache=sys.argv[1], progress=progress)
print(signal.getsignal(signal.SIGINT) == signal.SIG_IGN)
signal.raise_signal(signal.SIGINT)
print("ignored")
"""


def test_a_signal_handler_that_progress_sets_is_kept(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", IGNORING, str(tmp_path)], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout == "True\nignored\n"


def test_a_warmup_that_cannot_store_is_incomplete_and_reports(tmp_path: Path) -> None:
    if os.geteuid() == 0:
        root = tmp_path / "file"
        root.write_text("not a folder")
    else:
        root = tmp_path / "locked" / "cache"
        root.parent.mkdir(mode=0o500)
    with pytest.raises(cubinet.Error) as refused:
        cubinet.warmup(shapes=[SHAPE], layout="masked", cache=root, no_generic=True)
    assert refused.value.status in ("incomplete", "cache_unusable", "io")
