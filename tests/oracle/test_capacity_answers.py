"""Capacity against replicas that are placed one after another, each in a cluster built anew.

Whatever the replicas ask for: as many as the answer says fit, on the nodes it says, and the next one fits nowhere. The
same with evictions, whose victims are those of the answer, and with nodes that are added when nothing fits.
"""

from __future__ import annotations

from copy import deepcopy

import msgspec
from hypothesis import event, given, settings
from hypothesis import strategies as st
from tests.oracle.preemption_clusters import World, key_of, placed, worlds
from tests.preempting import default_profile
from tests.support import cache_of

from bayplan.analysis.answers.nodes_needed import NodeKind, node_kinds
from bayplan.analysis.cluster import Cluster
from bayplan.core.cycle import Attempt, attempt
from bayplan.core.preemption.search import Searched
from bayplan.core.snapshot import View
from bayplan.model.kinds import Object
from bayplan.model.pod import Pod

PROFILE = default_profile()


def world_objects(world: World) -> list[Object]:
    for each in world.nodes:  # so that nothing fits without end
        each.status.allocatable["pods"] = min(int(each.status.allocatable["pods"]), 12)
    return [*world.nodes, *world.others, *world.budgets, *world.running(), *world.nominated]


class Slowly:
    """Places one pod after another, each time in a cache made from objects."""

    def __init__(self, objects: list[Object]) -> None:
        self.objects = deepcopy(objects)
        self.placed: list[tuple[str, str]] = []
        self.victims: list[str] = []

    def place(self, pod: Pod) -> str:
        """What became of it: a node, or "" if it fits nowhere. Victims go, and so do nominations they overtake."""
        cache = cache_of(*self.objects)
        info, view = cache.info(pod), cache.view()
        found = attempt(PROFILE, info, view)
        node, victims = chosen(found, view)
        if victims:
            node_row = view.nodes.rows_by_name[node]
            overtaken = {
                view.pods.keys[row]
                for row in view.nominated.get(view.nodes.names[node_row], ())
                if view.pods.priorities[row] < info.priority
            }
            if any(victim in {key for key, _ in self.placed} for victim in victims):
                return ""
            self.victims += victims
            gone = {*victims, *overtaken}
            self.objects = [obj for obj in self.objects if not (isinstance(obj, Pod) and key_of(obj) in gone)]
        if node:
            self.placed.append((info.key, node))
            self.objects.append(placed(pod, node))
        return node


def chosen(found: Attempt, view: View) -> tuple[str, list[str]]:
    if found.scored is not None:
        rows = found.scored.best_rows() if found.scored.totals is not None else found.scored.rows
        return min(view.nodes.names[row] for row in rows), []
    searched = found.post_filter.found if found.post_filter is not None else None
    if not isinstance(searched, Searched) or not len(searched.tied_rows):
        return "", []
    node = min(view.nodes.names[row] for row in searched.tied_rows)
    return node, [view.pods.keys[row] for row in searched.victims_on(view.nodes.rows_by_name[node])]


def replica(pattern: Pod, number: int, policy: str) -> Pod:
    made = deepcopy(pattern)
    made.metadata.name = f"r{number}"
    made.metadata.uid = ""
    made.spec.preemption_policy = policy
    return made


@settings(max_examples=60)
@given(worlds())
def test_counts_nodes_and_victims_are_those_of_placing_one_after_another(world: World) -> None:
    objects = world_objects(world)
    answer = Cluster(deepcopy(objects)).capacity([msgspec.to_builtins(world.wanting)])
    slowly = Slowly(objects)
    while slowly.place(replica(world.wanting, len(slowly.placed), "Never")):
        pass
    by_node: dict[str, int] = {}
    for _, node in slowly.placed:
        by_node[node] = by_node.get(node, 0) + 1
    assert answer.rounds == len(slowly.placed)
    assert {each.node: each.fits[0] for each in answer.by_node} == by_node
    while slowly.place(replica(world.wanting, len(slowly.placed), "PreemptLowerPriority")):
        pass
    assert answer.evicting is not None
    assert answer.evicting.rounds == len(slowly.placed)
    assert sorted(answer.evicting.victims) == sorted(slowly.victims)
    event(f"fits: {min(answer.rounds, 3)}, victims: {min(len(slowly.victims), 3)}")


def with_more_nodes(objects: list[Object], pattern: Pod, kind: NodeKind, wanted: int) -> int | None:
    """How many of the kind it takes, one more each time that a replica fits nowhere; None: it does not end."""
    slowly, added, useless = Slowly(objects), 0, 0
    while len(slowly.placed) < wanted:
        if slowly.place(replica(pattern, len(slowly.placed), "Never")):
            useless = 0
            continue
        if useless == len(kind.templates):
            return None
        new = deepcopy(kind.templates[added % len(kind.templates)])
        added, useless = added + 1, useless + 1
        new.metadata.name = f"{new.metadata.name}-more-{added}"
        new.metadata.labels["kubernetes.io/hostname"] = new.metadata.name
        slowly.objects.append(new)
    return added


@settings(max_examples=30)
@given(worlds(), st.integers(1, 12))
def test_nodes_needed_are_those_of_adding_one_when_nothing_fits(world: World, more: int) -> None:
    objects = world_objects(world)
    cluster = Cluster(deepcopy(objects))
    pattern = msgspec.to_builtins(world.wanting)
    wanted = cluster.capacity([pattern], evicting=False).rounds + more
    answer = cluster.capacity([pattern], replicas=wanted, evicting=False)
    assert answer.needed
    for kind, needed in zip(node_kinds(cluster), answer.needed, strict=True):
        assert needed.nodes == with_more_nodes(objects, world.wanting, kind, wanted)
        event("no number helps" if needed.nodes is None else f"{min(needed.nodes, 3)} nodes")
