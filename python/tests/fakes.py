"""Tensors without PyTorch, and the record of the fake engine."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Dtype:
    name: str

    def __str__(self) -> str:
        return self.name


BF16 = Dtype("torch.bfloat16")
FP8 = Dtype("torch.float8_e4m3fn")
FP32 = Dtype("torch.float32")
INT32 = Dtype("torch.int32")
INT64 = Dtype("torch.int64")


@dataclass
class Device:
    type: str = "cuda"
    index: int | None = 0


def contiguous(shape: tuple[int, ...]) -> tuple[int, ...]:
    strides, step = [], 1
    for extent in reversed(shape):
        strides.insert(0, step)
        step *= extent
    return tuple(strides)


@dataclass
class FakeTensor:
    """The attributes that the package reads of a tensor whose type has no exchange API."""

    shape: tuple[int, ...]
    dtype: Dtype = BF16
    strides: tuple[int, ...] | None = None
    device: Device = field(default_factory=Device)
    address: int = 0x10000

    def data_ptr(self) -> int:
        return self.address

    def stride(self) -> tuple[int, ...]:
        return contiguous(self.shape) if self.strides is None else self.strides


class _Scales(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("type", ctypes.c_int32),
        ("rank", ctypes.c_int32),
        ("shape", ctypes.c_int64 * 3),
        ("strides", ctypes.c_int64 * 3),
    ]


class Record(ctypes.Structure):
    """fake_engine.cpp: Record."""

    _fields_ = [
        *[(name, ctypes.c_int64) for name in ("opens", "prepared", "launches", "family", "device", "miss")],
        *[(name, ctypes.c_int64) for name in ("n", "k", "groups", "m_last", "m", "expected_m")],
        *[(name, ctypes.c_void_p) for name in ("a", "b", "d", "index", "stream", "workspace")],
        ("workspace_bytes", ctypes.c_int64),
        ("a_scales", _Scales),
        ("b_scales", _Scales),
        *[(name, ctypes.c_int64) for name in ("launch_status", "prepare_status", "interrupted", "capturing")],
        *[(name, ctypes.c_int64) for name in ("held", "launched_miss", "num_sms", "pending")],
    ]


class FakeEngine:
    """The fake engine that records launches, which has been preloaded into this process."""

    def __init__(self, path: str) -> None:
        self._library = ctypes.CDLL(path)
        self._library.fake_engine_record.restype = ctypes.POINTER(Record)
        self._library.fake_engine_disguise.restype = ctypes.c_void_p
        self._library.fake_engine_disguise.argtypes = [ctypes.c_void_p, ctypes.c_int32]
        self.record: Record = self._library.fake_engine_record().contents

    def reset(self) -> None:
        ctypes.memset(ctypes.byref(self.record), 0, ctypes.sizeof(Record))

    def tensor_type(self, torch: Any, device: int = 0) -> Any:
        """A type of PyTorch tensors on the host that reports a CUDA device."""
        name = b"dlpack_exchange_api"
        read = ctypes.pythonapi.PyCapsule_GetPointer
        read.restype, read.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
        make = ctypes.pythonapi.PyCapsule_New
        make.restype, make.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
        api = self._library.fake_engine_disguise(read(torch.Tensor.__dlpack_c_exchange_api__, name), device)
        self._name = name  # a capsule keeps only the pointer
        return type("OnDevice", (torch.Tensor,), {"__dlpack_c_exchange_api__": make(api, name, None)})
