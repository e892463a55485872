"""Concurrent starts, calls and waits, also with signals, forks and the interpreter's end. No GPU."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import cubinet
from cubinet import deep_gemm
from fakes import BF16, INT32, FakeEngine, FakeTensor


def call(k: int = 128) -> None:
    shapes = (FakeTensor((256, k), BF16), FakeTensor((2, 64, k), BF16), FakeTensor((256, 64), BF16))
    deep_gemm.m_grouped_bf16_gemm_nt_contiguous(*shapes, FakeTensor((256,), INT32))


def run(function: Callable[..., Any], **arguments: Any) -> threading.Thread:
    thread = threading.Thread(target=function, kwargs=arguments)
    thread.start()
    return thread


@contextmanager
def held(engine: FakeEngine, function: Callable[..., Any], **arguments: Any) -> Iterator[None]:
    """Runs the function on another thread. Its preparation is blocked while the context is open."""
    engine.record.held = 1
    thread = run(function, **arguments)
    while engine.record.held != 2:
        time.sleep(0.0001)
    try:
        yield
    finally:
        engine.record.held = 0
        thread.join()


def test_a_start_during_a_first_call_replaces_its_gemm(engine: FakeEngine) -> None:
    error = 2  # cubinet.h: CUBINET_MISS_ERROR
    for k in range(64, 64 * 21, 64):
        cubinet.start(miss="compile")
        with held(engine, call, k=k):
            start = run(cubinet.start, miss="error")
            time.sleep(0.002)
        start.join()
        call(k)
        assert engine.record.launched_miss == error


def test_a_first_call_during_a_start_uses_the_gemm_of_the_start(engine: FakeEngine) -> None:
    cubinet.start(miss="compile")
    wanted = cubinet.Problem(64, 128, 2, m_max=100_000)
    with held(engine, cubinet.start, problems=[wanted]):
        beside = run(call)
        time.sleep(0.01)
    beside.join()
    assert (engine.record.prepared, engine.record.m_last, engine.record.launches) == (1, 100_000, 1)


def test_the_background_report_is_available_during_a_start(engine: FakeEngine) -> None:
    cubinet.start(miss="fallback")
    engine.record.pending = 3
    with held(engine, cubinet.start, problems=[cubinet.Problem(64, 192, 2)]):
        assert cubinet.background(0).pending == 3
        assert not cubinet.wait_for_background(0.01, 0)
    engine.record.pending = 0
    assert cubinet.wait_for_background(60, 0)


def test_an_interrupt_ends_a_wait(engine: FakeEngine) -> None:
    cubinet.start(miss="fallback")
    engine.record.pending = 1
    begin = time.monotonic()
    alarm = threading.Timer(0.1, signal.raise_signal, [signal.SIGINT])
    alarm.start()
    with pytest.raises(KeyboardInterrupt):
        cubinet.wait_for_background(60, 0)
    assert time.monotonic() - begin < 30


def python(code: str, *arguments: object, timeout: float = 60) -> subprocess.CompletedProcess[str]:
    """Runs code in a process that can import this folder's modules and has the same engine."""
    environment = {**os.environ, "PYTHONPATH": f"{Path(__file__).parent}:{os.environ.get('PYTHONPATH', '')}"}
    command = [sys.executable, "-c", code, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=timeout, env=environment)


def test_python_code_that_runs_while_an_error_is_raised_can_call_again(engine: FakeEngine) -> None:
    done = python(
        "import os, cubinet, cubinet._error\n"
        "from fakes import FakeEngine\n"
        "engine = FakeEngine(os.environ['CUBINET_FAKE_ENGINE'])\n"
        "made = cubinet._error.of_library\n"
        "def again(*arguments):\n"
        "    engine.record.prepare_status = 0\n"
        "    cubinet.start([cubinet.Problem(64, 64, 1)])\n"
        "    return made(*arguments)\n"
        "cubinet._error.of_library = again\n"
        "engine.record.prepare_status = 2\n"
        "try: cubinet.start([cubinet.Problem(64, 128, 1)])\n"
        "except cubinet.Error as error: print(error.status)\n"
    )
    assert (done.stdout, done.stderr) == ("unsupported\n", "")


def test_a_child_made_by_fork_starts_without_loaded_kernels(engine: FakeEngine) -> None:
    done = python(
        "import os, sys, threading, time, cubinet\n"
        "from fakes import FakeEngine\n"
        "record = FakeEngine(os.environ['CUBINET_FAKE_ENGINE']).record\n"
        "record.held = 1\n"
        "threading.Thread(target=cubinet.start, args=([cubinet.Problem(64, 64, 1)],)).start()\n"
        "while record.held != 2: time.sleep(0.001)\n"
        "child = os.fork()\n"
        "record.held = 0\n"
        "if child == 0:\n"
        "    print(cubinet.start([cubinet.Problem(64, 128, 1)]).loaded, flush=True)\n"
        "    sys.exit(5)\n"
        "print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))\n"
    )
    assert (done.stdout, done.stderr) == ("1\n5\n", "")
