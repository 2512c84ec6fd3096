"""NodePorts: a wanted host port must be free, and held ports are a set."""

from __future__ import annotations

import numpy as np
import pytest
from tests.support.caches import cache_of, prepared, verdicts

from bayplan.core.cache import Cache
from bayplan.core.columns import ALL_ROWS, row_array
from bayplan.core.framework.contract import (
    FilterPlugin,
    PreFilterPlugin,
    Ready,
    WhatIfPlugin,
)
from bayplan.core.framework.verdict import SUCCESS, unschedulable
from bayplan.core.plugins.node_ports import NO_FREE_PORTS, NodePorts, PortsState
from bayplan.core.snapshot import View
from bayplan.model.pod import ContainerPort, Pod
from bayplan.testing.builders import node, pod
from bayplan.testing.pods import PodBuilder

TAKEN = unschedulable(NO_FREE_PORTS)


def with_port_on_init(built: PodBuilder, *, sidecar: bool) -> PodBuilder:
    made = built.init("setup", sidecar=sidecar)
    made._object.spec.init_containers[-1].ports.append(ContainerPort(container_port=80, host_port=80))
    return made


CASES = {
    "same port": (pod("old").port(80), pod("p").port(80), TAKEN),
    "another port": (pod("old").port(80), pod("p").port(81), SUCCESS),
    "any of several": (pod("old").port(80).port(81), pod("p").port(82).port(81), TAKEN),
    "another protocol": (pod("old").port(80), pod("p").port(80, protocol="UDP"), SUCCESS),
    "no protocol is TCP": (pod("old").port(80, protocol=""), pod("p").port(80, protocol="TCP"), TAKEN),
    "another address": (pod("old").port(80, ip="10.0.0.1"), pod("p").port(80, ip="10.0.0.2"), SUCCESS),
    "same address": (pod("old").port(80, ip="10.0.0.1"), pod("p").port(80, ip="10.0.0.1"), TAKEN),
    "every address wanted": (pod("old").port(80, ip="10.0.0.1"), pod("p").port(80), TAKEN),
    "every address held": (pod("old").port(80, ip="0.0.0.0"), pod("p").port(80, ip="10.0.0.1"), TAKEN),
    "`::` is not every address": (pod("old").port(80, ip="::"), pod("p").port(80, ip="10.0.0.1"), SUCCESS),
    "a port of a container is no host port": (pod("old").port(80), pod("p").port(81).port(container=80), SUCCESS),
    "a sidecar wants its port": (pod("old").port(80), with_port_on_init(pod("p"), sidecar=True), TAKEN),
    "a sidecar holds its port": (with_port_on_init(pod("old"), sidecar=True), pod("p").port(80), TAKEN),
    "an init container holds none": (with_port_on_init(pod("old"), sidecar=False), pod("p").port(80), SUCCESS),
}


@pytest.mark.parametrize(("there", "wants", "expected"), CASES.values(), ids=CASES.keys())
def test_filter(there: PodBuilder, wants: PodBuilder, expected: object) -> None:
    """Ports clash on one protocol and number if the addresses are equal or one means all."""
    cache = cache_of(node("n").obj(), node("free").obj(), there.running("n").obj())
    assert verdicts(NodePorts(), cache, wants.obj()) == {"n": expected, "free": SUCCESS}


@pytest.mark.parametrize(
    "wants",
    [pod("p"), pod("p").port(container=80), with_port_on_init(pod("p"), sidecar=False)],
    ids=["no port", "container port only", "port of an ordinary init container"],
)
def test_skips_pods_without_host_ports(wants: PodBuilder) -> None:
    """No host port, nothing to do."""
    assert verdicts(NodePorts(), cache_of(node("n").obj()), wants.obj()) == {}


def test_takes_part_in_its_extension_points() -> None:
    """It prepares, filters and follows pods that come and go."""
    for point in (PreFilterPlugin, FilterPlugin, WhatIfPlugin):
        assert isinstance(NodePorts(), point)


# ---------------------------------------------------------------- what-if


def ready(cache: Cache, wants: Pod) -> tuple[View, PortsState]:
    _, view, outcome = prepared(NodePorts(), cache, wants)
    assert isinstance(outcome, Ready)
    state: PortsState = outcome.state
    return view, state


def shift(state: PortsState, view: View, moves: list[tuple[str, str]], sign: int) -> None:
    """Pods, each with its node."""
    pods = row_array([view.pods.rows_by_key[f"default/{key}"] for key, _ in moves])
    nodes = row_array([view.nodes.rows_by_name[name] for _, name in moves])
    NodePorts().shift(state, view, pods, nodes, sign)


def codes(state: PortsState, view: View) -> list[int]:
    return [int(code) for code in NodePorts().filter(state, view, ALL_ROWS)]


def two_nodes(*pods: PodBuilder) -> Cache:
    return cache_of(node("a").obj(), node("b").obj(), *(built.obj() for built in pods))


def test_a_pod_that_leaves_frees_its_port_in_the_fork_alone() -> None:
    """Shifting a fork changes neither the state it came from nor another node."""
    cache = two_nodes(pod("x").port(80).running("a"), pod("y").port(80).running("b"))
    view, state = ready(cache, pod("p").port(80).obj())
    fork = NodePorts().fork(state, view)
    shift(fork, view, [("x", "a")], -1)
    assert (codes(fork, view), codes(state, view)) == ([0, 1], [1, 1])


def test_a_fork_of_a_shifted_fork_starts_where_that_stands() -> None:
    """A second fork goes on from the first and leaves it alone."""
    cache = two_nodes(pod("x").port(80).running("a"), pod("y").port(80).running("b"))
    view, state = ready(cache, pod("p").port(80).obj())
    first = NodePorts().fork(state, view)
    shift(first, view, [("x", "a")], -1)
    second = NodePorts().fork(first, view)
    shift(second, view, [("y", "b")], -1)
    shift(second, view, [("x", "a")], +1)
    assert (codes(first, view), codes(second, view)) == ([0, 1], [1, 0])


def test_one_of_two_holders_frees_the_port() -> None:
    """Held ports are a set: when one of two pods with the same port leaves, the port is free."""
    cache = two_nodes(pod("x").port(80).running("a"), pod("y").port(80).running("a"))
    view, state = ready(cache, pod("p").port(80).obj())
    fork = NodePorts().fork(state, view)
    shift(fork, view, [("x", "a")], -1)
    assert codes(fork, view) == [0, 0]


def test_the_same_number_on_another_address_stays_held() -> None:
    """Freeing one address does not free another that clashes as well."""
    cache = two_nodes(pod("x").port(80, ip="10.0.0.1").running("a"), pod("y").port(80, ip="10.0.0.2").running("a"))
    view, state = ready(cache, pod("p").port(80).obj())
    fork = NodePorts().fork(state, view)
    shift(fork, view, [("x", "a")], -1)
    assert codes(fork, view) == [1, 0]
    shift(fork, view, [("y", "a")], -1)
    assert codes(fork, view) == [0, 0]


def test_a_nominated_pod_may_bring_a_port_nobody_held() -> None:
    """Pods that are on no node yet can be put on one, several at once."""
    cache = two_nodes(pod("x").port(80).nominated("a"), pod("y").port(81).nominated("b"), pod("z").nominated("b"))
    view, state = ready(cache, pod("p").port(80).obj())
    fork = NodePorts().fork(state, view)
    shift(fork, view, [("x", "b"), ("y", "a"), ("z", "a")], +1)
    assert codes(fork, view) == [0, 1]


def test_rows_may_be_given_in_any_way() -> None:
    """The code of a row is the same alone and out of order."""
    cache = two_nodes(pod("x").port(80).running("b"))
    view, state = ready(cache, pod("p").port(80).obj())
    for rows in ([1], [0], [1, 0], []):
        found = NodePorts().filter(state, view, row_array(rows))
        assert found.dtype == np.int64
        assert found.tolist() == rows  # row 1 is the one that fails, with code 1
