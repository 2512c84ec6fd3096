"""Preemption with filters that read the cluster: which nodes are tried, and odd filters beside them.

That the answers are those of a full search is shown on random clusters, in `tests/oracle/test_reuse.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import pytest
from tests.support.caches import cache_of
from tests.support.preemption_attempts import default_profile

from bayplan.core.cache import Cache
from bayplan.core.columns import IntArray, RowArray, Rows
from bayplan.core.deciding import Decider
from bayplan.core.decision import NeedsPreemption, Unschedulable
from bayplan.core.framework.contract import Reads
from bayplan.core.framework.profile import Profile
from bayplan.core.framework.speed_hints import OWN_PODS_DECIDE
from bayplan.core.framework.verdict import CycleError, Status, unschedulable
from bayplan.core.preemption.candidacy import Candidacy
from bayplan.core.preemption.prepare import make_room
from bayplan.core.snapshot import View
from bayplan.model.well_known import HOSTNAME, ZONE
from bayplan.testing.builders import namespace, node, pod
from bayplan.testing.pods import PodBuilder

NAMES = [f"n{number}" for number in range(6)]

Looks = Callable[[PodBuilder], PodBuilder]
SPREAD: Looks = lambda p: p.spread(ZONE, "app=a")  # noqa: E731
APART: Looks = lambda p: p.pod_anti_affinity(HOSTNAME, "app=a")  # noqa: E731


def cluster(victims: str = "victim", *, free: tuple[str, ...] = ()) -> Cache:
    """Six nodes in three zones, full but for the free ones; `victims` is the label of the pods there."""
    nodes = [node(name).capacity(cpu="2").zone("abc"[number % 3]) for number, name in enumerate(NAMES)]
    full = [name for name in NAMES if name not in free]
    running = [pod(f"on-{name}").cpu("2").priority(1).labels(app=victims).running(name) for name in full]
    return cache_of(*(it.obj() for it in nodes), *(it.obj() for it in running))


@contextmanager
def watching() -> Iterator[list[set[str]]]:
    """The nodes that are tried, each time."""
    tried: list[set[str]] = []
    try_again = Candidacy._try_again

    def watched(self: Candidacy, pod_: Any, view: View, filtered: Any, rows: RowArray) -> None:
        tried.append({view.nodes.names[row] for row in rows})
        try_again(self, pod_, view, filtered, rows)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(Candidacy, "_try_again", watched)
        yield tried


def preempt(decider: Decider, cache: Cache, made: PodBuilder) -> str:
    """The node on which the pod takes the place of its victims."""
    info, view = cache.info(made.obj()), cache.view()
    choice = decider.decide(info, view)
    assert isinstance(choice, NeedsPreemption)
    name = view.nodes.names[choice.row]
    make_room(cache, info, view, name, choice.victims_on(choice.row))
    cache.add_pod(made.running(name).obj())
    return name


def wanting(number: int, looks: Looks) -> PodBuilder:
    return looks(pod(f"p{number}").cpu("2").priority(9).labels(app="a"))


@pytest.mark.parametrize("looks", [SPREAD, APART], ids=["spread", "apart"])
def test_only_the_node_that_changed_is_tried_again(looks: Looks) -> None:
    cache, decider = cluster(), Decider({"default-scheduler": default_profile()})
    with watching() as tried:
        chosen = [preempt(decider, cache, wanting(number, looks)) for number in range(4)]
    assert chosen == NAMES[:4]
    assert tried == [set(NAMES), {"n0"}, {"n1"}, {"n2"}]


def test_pods_of_other_shapes_use_what_is_kept_where_they_ask_for_the_same() -> None:
    cache, decider = cluster(), Decider({"default-scheduler": default_profile()})
    with watching() as tried:
        chosen = [preempt(decider, cache, wanting(0, SPREAD)), preempt(decider, cache, wanting(1, APART))]
    assert chosen == ["n0", "n1"]
    assert tried == [set(NAMES), {"n0"}]


def test_nodes_that_others_keep_free_are_not_tried_again() -> None:
    """There is room in zone a, where pods of the kind must not go yet: what preemption would do there is known."""
    cache, decider = cluster(free=("n0", "n3")), Decider({"default-scheduler": default_profile()})
    for number in range(2):
        cache.add_pod(pod(f"in-a{number}").labels(app="a").priority(9).running("n0").obj())
    with watching() as tried:
        chosen = [preempt(decider, cache, wanting(number, SPREAD)) for number in range(2)]
    assert chosen == ["n1", "n2"]
    assert tried == [set(NAMES), {"n1"}]


def test_nodes_whose_pods_count_together_with_others_are_tried_each_time() -> None:
    """Whether a victim of the same kind has to go depends on how many there are in the zone."""
    cache, decider = cluster("a"), Decider({"default-scheduler": default_profile()})
    apart_in_zone: Looks = lambda p: p.pod_anti_affinity(ZONE, "app=a")  # noqa: E731
    with watching() as tried:
        for number in range(2):
            decider.decide(cache.info(wanting(number, apart_in_zone).obj()), cache.view())
            cache.add_pod(pod(f"other-{number}").running("n5").obj())
    assert tried == [set(NAMES), set(NAMES), {"n5"}, set(NAMES)]


def test_a_failure_is_told_again_while_nothing_changes() -> None:
    """Nobody can be evicted for the second of two pods that want to be alone in their zone."""
    cache, decider = cluster(), Decider({"default-scheduler": default_profile()})
    alone = [wanting(number, lambda p: p.pod_anti_affinity(ZONE, "app=a").priority(0)) for number in range(2)]
    choices = [decider.decide(cache.info(made.obj()), cache.view()) for made in alone]
    assert isinstance(choices[0], Unschedulable)
    assert choices[1] is choices[0]


# Nodes that were tried before.


def small(name: str, app: str, priority: int = 1, where: str = "n0", space: str = "default") -> PodBuilder:
    return pod(name, space).labels(app=app).priority(priority).running(where)


def come(made: PodBuilder) -> Callable[[Cache], None]:
    return lambda cache: cache.add(made.obj())


def go(key: str) -> Callable[[Cache], None]:
    return lambda cache: cache.remove_pod(key)


def stay(cache: Cache) -> None:
    """Nothing happens."""


def asking(looks: Looks, priority: int = 9, cpu: str = "0") -> PodBuilder:
    return looks(pod("p").cpu(cpu).priority(priority).labels(app="a"))


APART_IN_ZONE = asking(lambda p: p.pod_anti_affinity(ZONE, "app=a"))
NEAR = asking(lambda p: p.pod_affinity(ZONE, "app=v"), cpu="2")
APART_AND_SPREAD = asking(lambda p: p.labels(team="t").pod_anti_affinity(HOSTNAME, "app=a").spread(ZONE, "team=t"))
APART_FROM_TEAM = asking(
    lambda p: p.pod_anti_affinity(HOSTNAME, "app=a", namespaces=["default"], namespace_selector="team=x")
)
NOT_WITH_A = small("v", "v").pod_anti_affinity(ZONE, "app=a")

#: What stands on n0; then what happens, which pod is tried after it, and its victims there (None: it cannot be had).
Moment = tuple[Callable[[Cache], None], PodBuilder, set[str] | None]
AGAIN: dict[str, tuple[list[PodBuilder], list[Moment]]] = {
    "another pod in the zone keeps it away, for a while": (
        [small("v", "a")],
        [
            (stay, APART_IN_ZONE, {"v"}),
            (come(small("x", "a", 50, "n1")), APART_IN_ZONE, None),
            (go("default/x"), APART_IN_ZONE, {"v"}),
        ],
    ),
    "another pod comes to the node itself": (
        [small("v", "a")],
        [(stay, APART_IN_ZONE, {"v"}), (come(small("x", "a")), APART_IN_ZONE, {"v", "x"})],
    ),
    "another pod in the zone wants to be without it": (
        [NOT_WITH_A],
        [
            (stay, asking(lambda p: p), {"v"}),
            (come(small("x", "v", 50, "n1").pod_anti_affinity(ZONE, "app=a")), asking(lambda p: p), None),
        ],
    ),
    "another pod in the zone takes the place of the one to be near to": (
        [small("v", "v").cpu("2")],
        [(stay, NEAR, None), (come(small("x", "v", 50, "n1")), NEAR, {"v"})],
    ),
    "another filter has a say only at first": (
        [small("v", "a")],
        [
            (come(small("x", "z", 50, "n1").labels(team="t")), APART_AND_SPREAD, None),
            (go("default/x"), APART_AND_SPREAD, {"v"}),
        ],
    ),
    "a namespace gets a label": (
        [small("v", "a"), small("o", "a", space="other")],
        [
            (stay, APART_FROM_TEAM, {"v"}),
            (lambda cache: cache.add(namespace("other").labels(team="x").obj()), APART_FROM_TEAM, {"v", "o"}),
        ],
    ),
    "the second looks for others": (
        [small("v", "a"), small("w", "c")],
        [
            (stay, asking(lambda p: p.pod_anti_affinity(HOSTNAME, "app=a")), {"v"}),
            (stay, asking(lambda p: p.pod_anti_affinity(HOSTNAME, "app=c")), {"w"}),
        ],
    ),
    "the second is less important": (
        [small("v", "a"), small("w", "a", 5)],
        [
            (stay, asking(lambda p: p.pod_anti_affinity(HOSTNAME, "app=a")), {"v", "w"}),
            (stay, asking(lambda p: p.pod_anti_affinity(HOSTNAME, "app=a"), 3), None),
        ],
    ),
}


@pytest.mark.parametrize(("on_n0", "moments"), AGAIN.values(), ids=AGAIN)
@pytest.mark.parametrize("order", ["spread first", "affinity first"])
def test_a_node_is_tried_again_when_more_than_its_own_pods_decide(
    on_n0: list[PodBuilder], moments: list[Moment], order: str
) -> None:
    nodes = [node("n0").zone("a"), node("n1").zone("a").unschedulable(), node("n2").zone("b").unschedulable()]
    made = [it.capacity(cpu="2").obj() for it in nodes]
    cache = cache_of(*made, namespace("other").obj(), *(it.obj() for it in on_n0))
    profile = default_profile()
    if order == "affinity first":
        last = {"PodTopologySpread": 1}
        profile = replace(profile, filter=tuple(sorted(profile.filter, key=lambda plugin: last.get(plugin.name, 0))))
    decider = Decider({"default-scheduler": profile})
    for happen, asked, victims in moments:
        happen(cache)
        choice = decider.decide(cache.info(asked.obj()), cache.view())
        if victims is None:
            assert isinstance(choice, Unschedulable)
            expected = message(profile, cache, asked, reuse=False)
            assert choice.diagnosis.message == expected
        else:
            assert isinstance(choice, NeedsPreemption)
            keys = {cache.pods.keys[row].split("/")[1] for row in choice.victims_on(choice.row)}
            assert keys == victims


def test_nodes_whose_own_pods_decide_are_not_tried_again() -> None:
    cache, decider = cluster("a"), Decider({"default-scheduler": default_profile()})
    with watching() as tried:
        chosen = [preempt(decider, cache, wanting(number, APART)) for number in range(3)]
    assert chosen == NAMES[:3]
    assert tried == [set(NAMES), set(NAMES), {"n0"}, {"n1"}]


# Odd filters.


class WantsCompany:
    """Rejects empty nodes: a local filter that more pods please."""

    name: ClassVar[str] = "WantsCompany"
    reads: ClassVar[Reads] = Reads.USAGE

    def filter(self, state: Any, view: View, rows: Rows) -> IntArray:
        codes: IntArray = (view.usage.pod_counts[rows] == 0).astype(np.int64)
        return codes

    def explain_failure(self, state: Any, view: View, code: int) -> Status:
        return unschedulable("node(s) were empty")


class FailsOnEmptyNodes(WantsCompany):
    name = "FailsOnEmptyNodes"

    def filter(self, state: Any, view: View, rows: Rows) -> IntArray:
        empty = super().filter(state, view, rows)
        if empty.any():
            raise CycleError(self.name, "nobody there")
        return empty


class FailsLaterOnEmptyNodes(FailsOnEmptyNodes):
    """The same as a filter that may read the cluster, but looks at a node's own pods alone."""

    name = "FailsLaterOnEmptyNodes"
    reads = Reads.CLUSTER

    def foresee(self, state: Any, view: View, priority: int) -> IntArray:
        return np.full(view.nodes.count, OWN_PODS_DECIDE)


def message(profile: Profile, cache: Cache, made: PodBuilder, *, reuse: bool) -> str:
    return told(Decider({"default-scheduler": profile}, reuse=reuse), cache, made)


def told(decider: Decider, cache: Cache, made: PodBuilder) -> str:
    choice = decider.decide(cache.info(made.obj()), cache.view())
    assert isinstance(choice, Unschedulable)
    return choice.diagnosis.message


@pytest.mark.parametrize(
    ("odd", "reason"),
    [
        (WantsCompany(), "1 node(s) didn't match pod anti-affinity rules, 5 node(s) were empty"),
        (FailsOnEmptyNodes(), 'running "FailsOnEmptyNodes" filter plugin: nobody there'),
        (FailsLaterOnEmptyNodes(), 'running "FailsLaterOnEmptyNodes" filter plugin: nobody there'),
    ],
    ids=lambda it: getattr(it, "name", ""),
)
def test_what_an_odd_filter_says_of_emptied_nodes_is_told(odd: Any, reason: str) -> None:
    """On n0 the nominated pod is company enough, but keeps others of its kind away. Then it all happens once more."""
    cache = cluster()
    cache.nominate(pod("n").labels(app="a").priority(9).nominated("n0").obj(), "n0")
    profile = default_profile()
    at = len(profile.filter) if Reads.CLUSTER in odd.reads else 0
    profile = replace(profile, filter=(*profile.filter[:at], odd, *profile.filter[at:]))
    decider = Decider({"default-scheduler": profile})
    for number in range(2):
        expected = message(profile, cache, wanting(number, APART), reuse=False)
        assert reason in expected
        assert told(decider, cache, wanting(number, APART)) == expected
        cache.add_pod(small(f"meanwhile-{number}", "a", 50).obj())
