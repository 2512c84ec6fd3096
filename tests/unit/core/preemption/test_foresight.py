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
from tests.preempting import default_profile
from tests.support import cache_of

from bayplan.core.cache import Cache
from bayplan.core.columns import IntArray, Rows
from bayplan.core.deciding import Decider
from bayplan.core.decision import NeedsPreemption, Unschedulable
from bayplan.core.framework.contract import Reads
from bayplan.core.framework.profile import Profile
from bayplan.core.framework.verdict import CycleError, Status, unschedulable
from bayplan.core.preemption import candidacy, candidates, foresight
from bayplan.core.preemption.prepare import make_room
from bayplan.core.snapshot import View
from bayplan.model.well_known import HOSTNAME, ZONE
from bayplan.testing.builders import node, pod
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
    """The nodes that are tried, by dry run."""
    tried: list[set[str]] = []

    def dry_run(pod_: Any, view: View, filtered: Any, rows: Any) -> Any:
        tried.append({view.nodes.names[row] for row in rows})
        return candidates.dry_run(pod_, view, filtered, rows)

    with pytest.MonkeyPatch.context() as patched:
        for module in (candidacy, foresight):
            patched.setattr(module, "dry_run", dry_run)
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


def test_nodes_whose_pods_count_are_tried_each_time() -> None:
    """Whether a victim of the same kind has to go depends on whom else it is kept apart from."""
    cache, decider = cluster("a"), Decider({"default-scheduler": default_profile()})
    with watching() as tried:
        chosen = [preempt(decider, cache, wanting(number, APART)) for number in range(2)]
    assert chosen == ["n0", "n1"]
    assert tried == [set(NAMES), set(NAMES), {"n0"}, set(NAMES[1:])]


def test_a_failure_is_told_again_while_nothing_changes() -> None:
    """Nobody can be evicted for the second of two pods that want to be alone in their zone."""
    cache, decider = cluster(), Decider({"default-scheduler": default_profile()})
    alone = [wanting(number, lambda p: p.pod_anti_affinity(ZONE, "app=a").priority(0)) for number in range(2)]
    choices = [decider.decide(cache.info(made.obj()), cache.view()) for made in alone]
    assert isinstance(choices[0], Unschedulable)
    assert choices[1] is choices[0]


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


def message(profile: Profile, cache: Cache, made: PodBuilder, *, reuse: bool) -> str:
    decider = Decider({"default-scheduler": profile}, reuse=reuse)
    choice = decider.decide(cache.info(made.obj()), cache.view())
    assert isinstance(choice, Unschedulable)
    return choice.diagnosis.message


@pytest.mark.parametrize(
    ("odd", "reason"),
    [
        (WantsCompany(), "1 node(s) didn't match pod anti-affinity rules, 5 node(s) were empty"),
        (FailsOnEmptyNodes(), 'running "FailsOnEmptyNodes" filter plugin: nobody there'),
    ],
    ids=["with a nominated pod", "in an error"],
)
def test_what_an_odd_filter_says_of_emptied_nodes_is_told(odd: Any, reason: str) -> None:
    """On n0 the nominated pod is company enough, but keeps others of its kind away."""
    cache = cluster()
    cache.nominate(pod("n").labels(app="a").priority(9).nominated("n0").obj(), "n0")
    profile = default_profile()
    profile = replace(profile, filter=(odd, *profile.filter))
    messages = [message(profile, cache, wanting(0, APART), reuse=reuse) for reuse in (True, False)]
    assert messages[0] == messages[1]
    assert reason in messages[0]
