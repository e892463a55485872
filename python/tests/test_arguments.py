"""Arguments of plan, warmup and start: what is refused is named, and nothing that was given is passed over."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import cubinet

SHAPES = [(256, 512, 4)]
ONE = cubinet.Problem(64, 64, 1)

WRONG: list[tuple[Callable[..., Any], dict[str, Any], type[Exception], str]] = [
    (cubinet.plan, {"ep": "8"}, TypeError, "ep: expected an int, got str"),
    (cubinet.plan, {"tp": 1.0}, TypeError, "tp: expected an int, got float"),
    (cubinet.plan, {"ep": True}, TypeError, "ep: expected an int, got bool"),
    (cubinet.plan, {"ep": 2}, ValueError, "ep and tp divide a model; a problem is already what one rank sees"),
    (cubinet.plan, {"m_max": None}, TypeError, "m_max: expected an int, got NoneType"),
    (cubinet.plan, {"m_min": 0}, ValueError, "m_min: expected an int of at least 1, got 0"),
    (cubinet.plan, {"m_min": 5, "m_max": 3}, ValueError, "m_max: expected an int from m_min, 5, got 3"),
    (cubinet.plan, {"m_max": 1 << 40}, ValueError, f"M from 1 to {1 << 40} is not a range within 1 to 16777216"),
    (cubinet.plan, {"m_max": 1 << 64}, ValueError, f"m_max: expected an int of at most {2**63 - 1}, got {1 << 64}"),
    (cubinet.plan, {"arch": 90}, TypeError, "arch: expected a str, got int"),
    (cubinet.plan, {"arch": ""}, ValueError, "arch: expected a text, got ''"),
    (cubinet.plan, {"dtype": []}, ValueError, "dtype: expected one or more of 'bf16', 'fp8', got none"),
    (cubinet.plan, {"dtype": [8]}, TypeError, "dtype: expected one of 'bf16', 'fp8', got int"),
    (cubinet.plan, {"layout": ()}, ValueError, "layout: expected one or more of 'contiguous', 'masked', got none"),
    (cubinet.plan, {"generic_only": 1}, TypeError, "generic_only: expected True or False, got int"),
    (
        cubinet.plan,
        {"generic_only": True},
        ValueError,
        "more than one thing to plan for: give either model, problems or generic_only",
    ),
    (cubinet.plan, {"shapes": SHAPES[0]}, TypeError, "shapes: expected a list of tuples (n, k, groups), got int"),
    (cubinet.plan, {"shapes": [("1", 2, 3)]}, TypeError, "shapes: expected an int, got str"),
    (cubinet.plan, {"model": "", "shapes": None}, ValueError, "model: expected the path of a file, got an empty one"),
    (cubinet.plan, {"model": 5, "shapes": None}, TypeError, "model: expected a path, got int"),
    (
        cubinet.plan,
        {"shapes": None, "problems": [(1, 2, 3)]},
        TypeError,
        "problems: expected a list of cubinet.Problem, got one of tuple",
    ),
    (cubinet.plan, {"problems": ONE}, TypeError, "problems: expected a list of cubinet.Problem, got Problem"),
    (
        cubinet.plan,
        {"shapes": None, "problems": [ONE], "model": "x"},
        ValueError,
        "problems: expected none, since a model is given",
    ),
    (
        cubinet.plan,
        {"shapes": None, "problems": [ONE, cubinet.Problem(64, 64, 1 << 40)]},
        ValueError,
        f"problems[1].groups: {1 << 40} is beyond 32 bits",
    ),
    (cubinet.warmup, {"memory_budget": "2GiB"}, TypeError, "memory_budget: expected an int, got str"),
    (cubinet.warmup, {"memory_budget": -1}, ValueError, "memory_budget: expected an int of at least 0, got -1"),
    (cubinet.warmup, {"device": 1 << 40}, ValueError, f"device: expected an int of at most {2**31 - 1}, got {1 << 40}"),
    (cubinet.warmup, {"jobs": 5000}, ValueError, "jobs: 5000 is not from 0 to 1024"),
    (
        cubinet.warmup,
        {"progress": 5},
        TypeError,
        "progress: expected a function of (phase, done, total), got int",
    ),
    (cubinet.warmup, {"cache": 5}, TypeError, "cache: expected a path, got int"),
    (cubinet.start, {"dtype": "fp8"}, ValueError, "dtype, layout: expected none, since each problem says its own"),
    (cubinet.start, {"m_max": 64}, ValueError, "m_min, m_max: expected none, since each problem says its own"),
    (cubinet.start, {"ep": 8}, ValueError, "ep, tp: expected 1, since they divide a model, and none is given"),
    (cubinet.start, {"miss": ""}, ValueError, "miss: expected one of 'compile', 'fallback', 'error', got ''"),
    (cubinet.start, {"layers": "/opt/kernels"}, TypeError, "layers: expected a list of paths, got str"),
    (
        cubinet.start,
        {"device": "cuda:"},
        ValueError,
        "device: expected an ordinal, 'cuda:1' or a torch.device of CUDA, got 'cuda:'",
    ),
    (cubinet.wait_for_background, {"seconds": None}, TypeError, "seconds: expected a number of seconds, got NoneType"),
    (cubinet.wait_for_background, {"seconds": -1}, ValueError, "seconds: expected a number of seconds, got -1"),
    (cubinet.Problem, {"n": "64", "k": 64, "groups": 1}, TypeError, "n: expected an int, got str"),
    (cubinet.Problem, {"n": 64, "k": 0, "groups": 1}, ValueError, "k: expected an int of at least 1, got 0"),
]


@pytest.mark.parametrize(("function", "wrong", "kind", "text"), WRONG, ids=[text for *_, text in WRONG])
def test_wrong_arguments(
    function: Callable[..., Any], wrong: dict[str, Any], kind: type[Exception], text: str
) -> None:
    right: dict[str, Any] = {"shapes": SHAPES} if function in (cubinet.plan, cubinet.warmup) else {}
    with pytest.raises(kind) as refused:
        function(**{**right, **wrong})
    assert str(refused.value) == text


def test_what_the_library_refuses_is_a_value_error_with_its_status() -> None:
    with pytest.raises(cubinet.Error) as refused:
        cubinet.warmup(shapes=SHAPES, jobs=5000)
    assert isinstance(refused.value, ValueError) and refused.value.status == "invalid_argument"


def test_numbers_are_taken_as_python_takes_indices() -> None:
    class Eight:
        def __index__(self) -> int:
            return 8

    problem = cubinet.Problem(64, 64, Eight())  # type: ignore[arg-type]
    assert problem == cubinet.Problem(64, 64, 8) and type(problem.groups) is int
    assert cubinet.plan(shapes=[[64, 64, Eight()]]) == cubinet.plan(shapes=[(64, 64, 8)])


def test_no_problems_beside_another_source_are_none() -> None:
    kernels = cubinet.plan(problems=[], generic_only=True, dtype="bf16")["kernels"]
    assert {kernel["family"] for kernel in kernels} == {"bf16_grouped_contiguous", "bf16_grouped_masked"}
