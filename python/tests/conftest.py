"""Fixtures of the tests: the available PyTorch and GPU, and the fake engine that replaces a GPU."""

from __future__ import annotations

import os
import sys
import types
from collections.abc import Iterator
from pathlib import Path

import pytest

from fakes import FakeEngine

PROJECT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def qwen_config() -> Path:
    return PROJECT / "examples" / "models" / "qwen3.5-35b-a3b" / "config.json"


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeEngine]:
    """The fake engine that records launches; only if it has been preloaded in place of the library's."""
    path = os.environ.get("CUBINET_FAKE_ENGINE")
    if not path:
        pytest.skip("needs LD_PRELOAD and CUBINET_FAKE_ENGINE with the library that records launches; ctest sets them")
    fake = FakeEngine(path)
    fake.reset()
    # PyTorch's function for tensors that are read by attributes; without PyTorch, a replacement.
    part = sys.modules.get("torch._C") or types.ModuleType("torch._C")
    monkeypatch.setitem(sys.modules, "torch._C", part)
    monkeypatch.setattr(part, "_cuda_getCurrentRawStream", lambda device: 0x2000 + device, raising=False)
    yield fake
