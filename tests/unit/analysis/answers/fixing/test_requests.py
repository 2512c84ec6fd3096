"""Lowering requests: which containers ask for less, and that the total is exact."""

from __future__ import annotations

import pytest

from bayplan.analysis.answers.fixing.requests import POD_LEVEL, asked, lowered, lowest, quantity
from bayplan.config.feature_gates import DEFAULT_GATES
from bayplan.testing.builders import pod
from bayplan.testing.pods import PodBuilder

ONE = pod("p").cpu("4")
TWO = pod("p").cpu("4").container("side", cpu="1")
EQUAL = pod("p").cpu("2").container("side", cpu="2")
INIT = pod("p").cpu("1").init("setup", cpu="3")
OVERHEAD = pod("p").cpu("4").overhead(cpu="500m")
WHOLE = pod("p").cpu("2").pod_request(cpu="3")


@pytest.mark.parametrize(
    ("built", "target", "expected"),
    [
        pytest.param(ONE, 1999, {("containers", 0): 1999}, id="the only container"),
        pytest.param(TWO, 3500, {("containers", 0): 2500}, id="the largest first"),
        pytest.param(TWO, 1501, {("containers", 0): 751, ("containers", 1): 750}, id="down to a common level"),
        pytest.param(EQUAL, 3999, {("containers", 1): 1999}, id="what is left over goes to the first"),
        pytest.param(INIT, 2000, {("init_containers", 0): 2000}, id="what counts at the start alone"),
        pytest.param(INIT, 500, {("containers", 0): 500, ("init_containers", 0): 500}, id="what counts at any time"),
        pytest.param(OVERHEAD, 2000, {("containers", 0): 1500}, id="overhead stays"),
        pytest.param(WHOLE, 2500, {POD_LEVEL: 2500}, id="the request of the whole pod"),
        pytest.param(
            WHOLE, 1500, {POD_LEVEL: 1500, ("containers", 0): 1500}, id="no container may ask for more than it"
        ),
        pytest.param(ONE, 0, {("containers", 0): 0}, id="nothing at all"),
    ],
)
def test_who_asks_for_less(built: PodBuilder, target: int, expected: dict[tuple[str, int], int]) -> None:
    spec = built.obj().spec
    found = lowered(spec, "cpu", target, DEFAULT_GATES)
    assert dict(found.requests) == expected
    found.apply(spec)
    assert asked(spec, DEFAULT_GATES)["cpu"] == target


@pytest.mark.parametrize("target", range(0, 7001, 367))
def test_the_total_is_exact(target: int) -> None:
    built = pod("p").cpu("2").container("b", cpu="1500m").container("c", cpu="1500m")
    spec = built.init("d", cpu="4").init("e", sidecar=True, cpu="2").obj().spec
    assert asked(spec, DEFAULT_GATES)["cpu"] == 7000
    lowered(spec, "cpu", target, DEFAULT_GATES).apply(spec)
    assert asked(spec, DEFAULT_GATES)["cpu"] == target


def test_overhead_is_the_least_that_a_pod_asks_for() -> None:
    assert (lowest(OVERHEAD.obj().spec, "cpu"), lowest(ONE.obj().spec, "cpu")) == (500, 0)


def test_the_limit_follows_for_what_is_not_shared() -> None:
    spec = pod("p").request({"nvidia.com/gpu": "4", "cpu": "4"}).limit({"nvidia.com/gpu": "4", "cpu": "4"}).obj().spec
    lowered(spec, "nvidia.com/gpu", 2, DEFAULT_GATES).apply(spec)
    lowered(spec, "cpu", 2000, DEFAULT_GATES).apply(spec)
    resources = spec.containers[0].resources
    assert resources.requests == {"nvidia.com/gpu": "2", "cpu": "2"}
    assert resources.limits == {"nvidia.com/gpu": "2", "cpu": "4"}


@pytest.mark.parametrize(
    ("resource", "value", "expected"),
    [
        ("cpu", 1500, "1500m"),
        ("cpu", 2000, "2"),
        ("memory", 3 << 30, "3Gi"),
        ("memory", (3 << 30) - 1024, "3145727Ki"),
        ("memory", 1001, "1001"),
        ("memory", 0, "0"),
        ("nvidia.com/gpu", 1024, "1024"),
    ],
)
def test_quantities_are_written_exactly(resource: str, value: int, expected: str) -> None:
    assert quantity(resource, value) == expected
