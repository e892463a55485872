"""Checks of arguments. Each function returns the checked value; its error names the argument, what was expected and
what was given."""

from __future__ import annotations

import operator
import os
import shlex
from collections.abc import Iterable, Sequence
from typing import Any

INT32_MAX = 2**31 - 1
INT64_MAX = 2**63 - 1

PathArgument = str | bytes | os.PathLike[str] | os.PathLike[bytes]


def _wrong_type(name: str, expected: str, value: object) -> TypeError:
    return TypeError(f"{name}: expected {expected}, got {type(value).__name__}")


def _written(number: int) -> str:
    """The number as text. Python refuses to convert ints of thousands of digits."""
    return str(number) if number.bit_length() <= 256 else f"one of {number.bit_length()} bits"


def integer(name: str, value: Any, least: int = -INT64_MAX, most: int = INT64_MAX) -> int:
    """An int, or an object with __index__ such as NumPy's ints, but not a bool."""
    try:
        number = operator.index(value)
    except TypeError:
        raise _wrong_type(name, "an int", value) from None
    if isinstance(value, bool):
        raise _wrong_type(name, "an int", value)
    if not least <= number <= most:
        allowed = f"of at least {least}" if number < least else f"of at most {most}"
        raise ValueError(f"{name}: expected an int {allowed}, got {_written(number)}")
    return number


def flag(name: str, value: Any) -> bool:
    if not isinstance(value, bool):
        raise _wrong_type(name, "True or False", value)
    return value


def seconds(name: str, value: Any) -> float:
    """A float, or an object with __float__, but not a bool and not an array, whatever its length."""
    kind = type(value)
    if isinstance(value, bool) or not hasattr(kind, "__float__") or hasattr(kind, "__len__"):
        raise _wrong_type(name, "a number of seconds", value)
    try:
        number = float(value)
    except OverflowError:
        raise ValueError(f"{name}: expected a number of seconds, got one beyond a float's range") from None
    if not number >= 0:
        raise ValueError(f"{name}: expected a number of seconds, got {value!r}")
    return number


def text(name: str, value: Any) -> str:
    if not isinstance(value, str):
        raise _wrong_type(name, "a str", value)
    if not value or "\0" in value:
        raise ValueError(f"{name}: expected a text, got {value!r}")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise ValueError(f"{name}: expected a text, got {value!r}") from None
    return value


def command(name: str, value: Any) -> str:
    """A command line, given as text or as a list of words."""
    if not isinstance(value, (list, tuple)):
        return text(name, value)
    return text(name, shlex.join(word if isinstance(word, str) else text(name, word) for word in value))


def items(name: str, value: Any, expected: str) -> list[Any]:
    """The items of an iterable; a text is not accepted as an iterable of characters."""
    if isinstance(value, (str, bytes)) or not isinstance(value, Iterable):
        raise _wrong_type(name, expected, value)
    try:
        each = iter(value)
    except TypeError:  # an array without dimensions
        raise _wrong_type(name, expected, value) from None
    return list(each)


def path(name: str, value: Any) -> bytes:
    """A path as bytes of the file system. A NUL is refused: the library would read the path up to it."""
    try:
        encoded = os.fsencode(value)
    except (TypeError, UnicodeEncodeError):
        if isinstance(value, str):
            raise ValueError(f"{name}: expected a path, got {value!r}") from None
        raise _wrong_type(name, "a path", value) from None
    if b"\0" in encoded:
        raise ValueError(f"{name}: expected a path, got one with a NUL in it: {os.fsdecode(encoded)!r}")
    return encoded


def _path_of(kind: str, name: str, value: Any) -> bytes:
    encoded = path(name, value)
    if not encoded:
        raise ValueError(f"{name}: expected the path of a {kind}, got an empty one")
    return encoded


def file(name: str, value: Any) -> bytes:
    return _path_of("file", name, value)


def folder(name: str, value: Any) -> bytes:
    return _path_of("folder", name, value)


def paths(name: str, value: Any) -> list[bytes]:
    return [path(name, one) for one in items(name, value, "a list of paths")]


def place_in(name: str, value: Any, names: Sequence[str]) -> int:
    """The index of the value in `names`."""
    if not isinstance(value, str):
        raise _wrong_type(name, f"one of {', '.join(map(repr, names))}", value)
    if value not in names:
        raise ValueError(f"{name}: expected one of {', '.join(map(repr, names))}, got {value!r}")
    return names.index(value)


def some_of(name: str, value: Any, names: Sequence[str]) -> list[str]:
    """One or more of `names`, given as "bf16,fp8" or as a list."""
    expected = f"one or more of {', '.join(map(repr, names))}"
    parts = value.split(",") if isinstance(value, str) else items(name, value, expected)
    for part in parts:
        place_in(name, part, names)
    if not parts:
        raise ValueError(f"{name}: expected {expected}, got none")
    return parts
