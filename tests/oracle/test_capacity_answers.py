"""Capacity against replicas that are placed one after another, each in a cluster built anew.

Whatever the replicas ask for: as many as the answer says fit, on the nodes it says, and the next one fits nowhere. The
same with evictions, whose victims are those of the answer, and with nodes that are added when nothing fits.
"""

from __future__ import annotations

from collections import Counter
from copy import deepcopy

import msgspec
from hypothesis import event, given
from hypothesis import strategies as st
from tests.oracle.placing_slowly import Slowly, world_objects
from tests.oracle.preemption_clusters import World, worlds
from tests.support.examples import examples

from bayplan.analysis.answers.nodes_needed import NodeKind, node_kinds
from bayplan.analysis.cluster import Cluster
from bayplan.model.kinds import Object
from bayplan.model.pod import Pod


def replica(pattern: Pod, number: int, policy: str) -> Pod:
    made = deepcopy(pattern)
    made.metadata.name = f"r{number}"
    made.metadata.uid = ""
    made.spec.preemption_policy = policy
    return made


@examples(60)
@given(worlds())
def test_counts_nodes_and_victims_are_those_of_placing_one_after_another(world: World) -> None:
    objects = world_objects(world)
    answer = Cluster(deepcopy(objects)).capacity([msgspec.to_builtins(world.wanting)])
    slowly = Slowly(objects)
    while slowly.place(replica(world.wanting, len(slowly.placed), "Never"))[0]:
        pass
    assert answer.rounds == len(slowly.placed)
    assert {each.node: each.fits[0] for each in answer.by_node} == Counter(slowly.placed.values())
    while slowly.place(replica(world.wanting, len(slowly.placed), "PreemptLowerPriority"), slowly.placed)[0]:
        pass
    assert answer.evicting is not None
    assert answer.evicting.rounds == len(slowly.placed)
    assert sorted(answer.evicting.victims) == sorted(slowly.victims)
    event(f"fits: {min(answer.rounds, 3)}, victims: {min(len(slowly.victims), 3)}")


def with_more_nodes(objects: list[Object], pattern: Pod, kind: NodeKind, wanted: int) -> int | None:
    """How many of the kind it takes, one more each time that a replica fits nowhere; None: it does not end."""
    slowly, added, useless = Slowly(objects), 0, 0
    while len(slowly.placed) < wanted:
        if slowly.place(replica(pattern, len(slowly.placed), "Never"))[0]:
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


@examples(30)
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
