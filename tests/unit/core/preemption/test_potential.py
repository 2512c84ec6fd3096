"""Where could removing pods help? Only where the verdict is a plain Unschedulable."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

import pytest
from tests.support.caches import cache_of
from tests.support.preemption_attempts import Thing, built, default_profile

from bayplan.core.columns.shapes import PodInfo
from bayplan.core.filtering import filter_pod
from bayplan.core.framework.contract import PreFiltered, Reads
from bayplan.core.framework.profile import Profile
from bayplan.core.framework.verdict import Code, Status
from bayplan.core.preemption.potential import potential_rows
from bayplan.core.snapshot import View
from bayplan.testing.builders import node, pod
from bayplan.testing.pods import PodBuilder

ZONE = "topology.kubernetes.io/zone"


def potential(wanting: PodBuilder, *things: Thing, profile: Profile | None = None) -> list[str]:
    profile = profile or default_profile()
    cache = cache_of(*map(built, things))
    info, view = cache.info(wanting.obj()), cache.view()
    rows = potential_rows(filter_pod(profile, info, view), view)
    assert rows.tolist() == sorted(rows.tolist())
    return [view.nodes.names[row] for row in rows]


HELPS: dict[str, tuple[PodBuilder, tuple[Thing, ...]]] = {
    "too little is left": (pod("p").cpu("3"), (node("n"), pod("a").cpu("2").running("n"))),
    "too many pods": (pod("p"), (node("n").capacity(pods=1), pod("a").running("n"))),
    "no room for a single pod": (pod("p"), (node("n").capacity(pods=0),)),
    "a port is taken": (pod("p").port(80), (node("n"), pod("a").port(80).running("n"))),
    "its own anti-affinity": (
        pod("p").pod_anti_affinity(ZONE, "app=x"),
        (node("n").zone("a"), pod("a").labels(app="x").running("n")),
    ),
    "anti-affinity of another": (
        pod("p").labels(app="x"),
        (node("n").zone("a"), pod("a").pod_anti_affinity(ZONE, "app=x").running("n")),
    ),
    "too skewed": (
        pod("p").labels(app="x").spread(ZONE, "app=x"),
        (node("n").zone("a"), node("m").zone("b").unschedulable(), pod("a").labels(app="x").running("n")),
    ),
}
DOES_NOT_HELP: dict[str, tuple[PodBuilder, tuple[Thing, ...]]] = {
    "the node is too small": (pod("p").cpu("5"), (node("n"), pod("a").cpu("2").running("n"))),
    "too small in one resource, too full in another": (
        pod("p").cpu("3").memory("64Gi"),
        (node("n"), pod("a").cpu("2").running("n")),
    ),
    "a taint comes before the full node": (pod("p").cpu("3"), (node("n").taint("gpu"), pod("a").cpu("2").running("n"))),
    "a cordoned node": (pod("p").cpu("3"), (node("n").unschedulable(), pod("a").cpu("2").running("n"))),
    "another node is asked for": (
        pod("p").cpu("3").node_selector(disk="ssd"),
        (node("n"), pod("a").cpu("2").running("n")),
    ),
    "affinity to nobody": (pod("p").pod_affinity(ZONE, "app=x"), (node("n").zone("a"),)),
    "the topology key is missing": (pod("p").labels(app="x").spread(ZONE, "app=x"), (node("n"),)),
}


@pytest.mark.parametrize(("wanting", "things"), HELPS.values(), ids=HELPS.keys())
def test_helps(wanting: PodBuilder, things: tuple[Thing, ...]) -> None:
    assert potential(wanting, *things) == ["n"]


@pytest.mark.parametrize(("wanting", "things"), DOES_NOT_HELP.values(), ids=DOES_NOT_HELP.keys())
def test_does_not_help(wanting: PodBuilder, things: tuple[Thing, ...]) -> None:
    assert potential(wanting, *things) == []


def test_nodes_are_judged_one_by_one() -> None:
    """Of full, tainted, small and absent nodes only the full ones remain, in the order of their rows."""
    nodes = [node("c"), node("tainted").taint("gpu"), node("a"), node("small").capacity(cpu=1), node("b")]
    fill = [pod(f"on-{name}").cpu("4").running(name) for name in ("c", "a", "b", "ghost")]
    assert potential(pod("p").cpu("2"), *nodes, *fill) == ["c", "a", "b"]


def test_nodes_outside_a_narrowed_search() -> None:
    """Nodes that PreFilter excluded are out of reach, however full."""
    full = [pod(f"on-{name}").cpu("4").running(name) for name in ("a", "b")]
    assert potential(pod("p").cpu("2").node_affinity("metadata.name=b"), node("a"), node("b"), *full) == ["b"]


class RejectsAll:
    """A PreFilter that turns every pod away."""

    name: ClassVar[str] = "RejectsAll"
    reads: ClassVar[Reads] = Reads.NODE

    def __init__(self, code: Code) -> None:
        self.code = code

    def pre_filter(self, pod: PodInfo, view: View) -> PreFiltered:
        return Status(self.code, ("no",))


@pytest.mark.parametrize(("code", "expected"), [(Code.UNSCHEDULABLE, ["a", "b"]), (Code.UNRESOLVABLE, [])])
def test_pods_that_pre_filter_turned_away(code: Code, expected: list[str]) -> None:
    """Its code holds for every node there is."""
    profile = replace(default_profile(), pre_filter=(RejectsAll(code), *default_profile().pre_filter))
    assert potential(pod("p"), node("a"), node("b"), pod("x").running("ghost"), profile=profile) == expected
