"""The package's exception."""

from __future__ import annotations

from typing import Any


class Error(RuntimeError):
    """What Cubinet's library refuses or fails at.

    status: the kind of trouble, for programs: "unsupported", "compile_failed", "driver_missing", "wrong_device",
        "not_prepared", "capturing", "incomplete", ... (cubinet.h: cubinet_status)
    detail: longer material such as a compiler's log; often empty
    report: of a warmup that did not do all, what it did; otherwise None
    """

    status: str
    detail: str
    report: dict[str, Any] | None

    def __init__(self, message: str, status: str = "internal", detail: str = "") -> None:
        super().__init__(message)
        self.status = status
        self.detail = detail
        self.report = None

    def __reduce__(self) -> tuple[Any, ...]:  # multiprocessing sends exceptions on
        return (type(self), (str(self), self.status, self.detail), {"report": self.report})
