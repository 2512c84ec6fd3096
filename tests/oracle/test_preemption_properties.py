"""What must hold of every preemption, on random clusters, seen from outside: `Cluster.explain` and `Cluster.place`.

Worlds "with pods gone" are new clusters made of the objects that are left; nothing is taken from the dry run but its
answers and its record.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator
from copy import deepcopy
from typing import Any

import msgspec
from hypothesis import assume, event, given
from hypothesis import strategies as st
from tests.oracle.preemption_clusters import PRIORITY, World, key_of, worlds
from tests.support.examples import examples
from tests.support.preemption_attempts import default_profile

from bayplan import Cluster
from bayplan.analysis.placement import Placement, place_pods
from bayplan.analysis.tie_breaks import tie_break
from bayplan.config.feature_gates import DEFAULT_GATES
from bayplan.model.kinds import KINDS, Object
from bayplan.model.pod import Pod
from bayplan.testing.builders import pod

WANTING = "default/wanting"


def plain(thing: Object) -> dict[str, Any]:
    made: dict[str, Any] = msgspec.to_builtins(thing)
    return {"apiVersion": KINDS[type(thing).__name__].api_version, **made, "kind": type(thing).__name__}


def cluster_of(world: World, *, gone: Collection[str] = (), also: Collection[Pod] = ()) -> Cluster:
    """The world without some of its pods, and with others."""
    pods = [one for one in world.running() if key_of(one) not in gone]
    things: list[Object] = [*world.nodes, *world.others, *world.budgets, *pods, *world.nominated, world.wanting, *also]
    return Cluster.from_objects([plain(thing) for thing in things], kubernetes_version="1.36")


def explain(world: World, gone: Collection[str] = ()) -> dict[str, Any]:
    return cluster_of(world, gone=gone).explain(WANTING).to_dict()


def fits(world: World, node: str, gone: Collection[str]) -> bool:
    feasible: list[str] = explain(world, gone)["feasible"]
    return node in feasible


def priorities(world: World) -> dict[str, int]:
    return {key_of(one): one.spec.priority or 0 for one in world.running()}


def recorded(answer: dict[str, Any]) -> Iterator[tuple[str, list[str], list[tuple[str, bool]]]]:
    """Candidates: the node, its victims, and every pod put back on trial with whether it could stay."""
    if answer["preemption"] and answer["preemption"]["record"]:
        for candidate in answer["preemption"]["record"]["candidates"]:
            victims = [victim["pod"] for victim in candidate["victims"]]
            yield candidate["node"], victims, [(one["pod"], one["kept"]) for one in candidate["reprieves"]]


def assert_sound(world: World) -> None:
    answer = explain(world)
    below = {key for key, priority in priorities(world).items() if priority < PRIORITY}
    on_node = {key_of(one): one.spec.node_name for one in world.running()}
    for node, victims, trials in recorded(answer):
        event(f"victims: {len(victims)}")
        assert victims, "a candidate makes somebody go"
        assert below.issuperset(victims), "a victim has a lower priority"
        assert {on_node[victim] for victim in victims} == {node}, "a victim runs on the node"
        assert node not in answer["feasible"], "nobody goes where the pod fits anyway"
        assert fits(world, node, victims), "without its victims the node takes the pod"
        assert_spared_in_order(world, node, victims, trials)
    if answer["feasible"]:
        assert answer["preemption"] is None


def assert_spared_in_order(world: World, node: str, victims: list[str], trials: list[tuple[str, bool]]) -> None:
    """Everybody below was on trial once; who could stay did, and who could not is a victim."""
    gone = {key for key, kept in trials}
    assert len(gone) == len(trials)
    assert gone == {key_of(one) for one in world.pods_on(node) if (one.spec.priority or 0) < PRIORITY}
    for key, kept in trials:
        gone.discard(key)
        assert fits(world, node, gone) == kept
        if not kept:
            gone.add(key)
    assert gone == set(victims)


@examples(60)
@given(worlds(always=("cpu",)))
def test_candidates_are_sound(world: World) -> None:
    """Victims are lower, needed, enough, and tried in order."""
    assert_sound(world)


@examples(60)
@given(worlds(always=("cpu",)))
def test_policy_never(world: World) -> None:
    """Such a pod evicts nobody, whatever it would gain."""
    world.wanting.spec.preemption_policy = "Never"
    answer = explain(world)
    assume(not answer["feasible"])
    assert answer["preemption"]["candidates"] == {}
    assert answer["preemption"]["selected"] == []
    assert not answer["preemption"]["eligible"]
    (decision,) = cluster_of(world).place([WANTING]).decisions
    assert (decision.node, decision.victims) == (None, ())


# Placing one after another.


@st.composite
def arrivals(draw: st.DrawFn) -> list[Pod]:
    """Pods of various priorities that come one after another, several of each kind."""
    kinds = []
    for number in range(draw(st.integers(1, 3))):
        built = pod(f"kind-{number}").labels(app=draw(st.sampled_from(["x", "y"])))
        built.cpu(draw(st.sampled_from(["500m", "1", "2"])))
        if draw(st.integers(0, 4)) == 4:
            built.port(80)
        if draw(st.integers(0, 4)) == 4:
            built.pod_anti_affinity("kubernetes.io/hostname", "app=x")
        kinds.append(built.obj())
    pods = []
    for number in range(draw(st.integers(1, 10))):
        one = deepcopy(draw(st.sampled_from(kinds)))
        one.metadata.name, one.metadata.uid = f"new-{number}", f"new-{number}"
        one.spec.priority = draw(st.sampled_from([0, 60, PRIORITY, 300]))
        one.spec.preemption_policy = draw(st.sampled_from(["PreemptLowerPriority"] * 4 + ["Never"]))
        pods.append(one)
    return pods


def milli(quantity: Any) -> int:
    text = str(quantity)
    return int(text[:-1]) if text.endswith("m") else int(text) * 1000


def cpu_requests(pods: Collection[Pod]) -> Counter[str]:
    """Node -> milli-cores asked for there."""
    requests: Counter[str] = Counter()
    for one in pods:
        requests[one.spec.node_name] += milli(one.spec.containers[0].resources.requests["cpu"])
    return requests


def assert_placement_sound(world: World, new: list[Pod]) -> None:
    before = cluster_of(world, also=new)
    keys = [key_of(one) for one in new]
    placement = before.place(keys)
    assert [decision.pod for decision in placement.decisions] == keys
    assert_only_lower_pods_go(world, new, placement)
    after = [one for one in before.after(placement).pods.values() if one.spec.node_name]
    assert_nothing_over_committed(world, after)
    again = cluster_of(world, also=new)
    slow = place_pods(
        again.build_cache(gates=DEFAULT_GATES),
        {"default-scheduler": default_profile()},
        [again.find_pod(key) for key in keys],
        tie_break("name"),
        reuse=False,
    )
    assert placement == slow


def assert_only_lower_pods_go(world: World, new: list[Pod], placement: Placement) -> None:
    priority = priorities(world) | {key_of(one): one.spec.priority or 0 for one in new}
    never = {key_of(one) for one in new if one.spec.preemption_policy == "Never"}
    where = {key_of(one): one.spec.node_name for one in world.running()}
    for decision in placement.decisions:
        event(f"victims: {len(decision.victims)}")
        assert not (decision.victims and decision.pod in never)
        assert bool(decision.message) == (decision.node is None)
        for victim in decision.victims:
            assert priority[victim] < priority[decision.pod]
            assert where.pop(victim) == decision.node, "a victim was there, and goes once"
        if decision.node is not None:
            where[decision.pod] = decision.node


def assert_nothing_over_committed(world: World, pods: Collection[Pod]) -> None:
    """Nodes that were over-committed from the start have at least not become worse."""
    first, last = cpu_requests(world.running()), cpu_requests(pods)
    counts = Counter(one.spec.node_name for one in pods)
    first_counts = Counter(one.spec.node_name for one in world.running())
    for node in world.nodes:
        name, allocatable = node.metadata.name, node.status.allocatable
        assert last[name] <= max(first[name], milli(allocatable["cpu"]))
        assert counts[name] <= max(first_counts[name], int(allocatable["pods"]))


@examples(60)
@given(worlds(), arrivals())
def test_placing_one_after_another(world: World, new: list[Pod]) -> None:
    """No node is over-committed, only lower pods go, and reusing what is known changes nothing."""
    assert_placement_sound(world, new)
