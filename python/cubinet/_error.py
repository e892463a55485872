"""The package's exception."""

from __future__ import annotations

import re
from typing import Any

from cubinet import _binding


class Error(RuntimeError):
    """An error of Cubinet's library.

    status: the kind of error, for programs: "unsupported", "compile_failed", "driver_missing", "wrong_device",
        "not_prepared", "capturing", "incomplete", ... (cubinet.h: cubinet_status)
    detail: longer text such as a compiler's log; often empty
    report: the report of a warmup with status "incomplete"; otherwise None
    """

    status: str
    detail: str
    report: dict[str, Any] | None

    def __init__(self, message: str, status: str = "internal", detail: str = "") -> None:
        super().__init__(message)
        self.status = status
        self.detail = detail
        self.report = None

    def __reduce__(self) -> tuple[Any, ...]:  # multiprocessing pickles exceptions
        return (type(self), (str(self), self.status, self.detail), {"report": self.report})


class ArgumentError(Error, ValueError):
    """The library refuses the value of an argument; the message names the argument."""


# Fields of the C interface's structs, as its messages name them. A file name may look alike: "request.json".
_OTHER_FIELDS = ["cache_max_entries", "cache_max_size", "cache_root", "device", "execute", "jobs", "layers"]
_OTHER_FIELDS += ["memory_budget", "miss", "nvrtc_folders", "strict"]
_FIELDS = re.compile(
    rf"(?<![\w./-])(?:options|request|warmup)\.({'|'.join([*_binding.request_fields, *_OTHER_FIELDS])})(?![\w/-]|\.\w)"
)

# The fields for which this package's arguments have another name.
_ARGUMENTS = {
    "cache_root": "cache",
    "expert_parallel": "ep",
    "m_first": "m_min",
    "m_last": "m_max",
    "tensor_parallel": "tp",
}


def of_library(message: str, status: str, detail: str) -> Error:
    """The exception for a status of the library. Called by the binding."""
    named = _FIELDS.sub(lambda field: _ARGUMENTS.get(field[1], field[1]), message)
    return (ArgumentError if status == "invalid_argument" else Error)(named, status, detail)
