"""Decisions on a changing cluster, made in three ways that must agree, and its columns against rebuilt ones.

One long-lived decider that reuses all it can is compared with deciders that compute everything, on the cache that saw
every change and on one built from what is there now. Ties, totals, victims, messages and errors must agree.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from hypothesis import event
from tests.oracle.changing_clusters import Changing, Step, key_of, ports_held, take_step
from tests.oracle.changing_objects import DEVICE, WEIGHING, ZONE
from tests.oracle.changing_sequences import AGAIN, DECIDE, RETRY
from tests.support.vocabularies import vocabularies

from bayplan.config.loading import load_configuration
from bayplan.config.registry import build_profiles
from bayplan.config.releases import DEFAULT_RELEASE
from bayplan.core.cache import Cache
from bayplan.core.columns.counters import NodeCounts, PodCounter
from bayplan.core.columns.shapes import PodInfo
from bayplan.core.deciding import Decider
from bayplan.core.decision import Choice, Fits, NeedsPreemption, Unschedulable
from bayplan.core.diagnosis import Diagnosis
from bayplan.core.framework.verdict import CycleError
from bayplan.core.preemption.prepare import overtaken
from bayplan.core.snapshot import View
from bayplan.model.pod import Pod

_SCORED = [{"name": "cpu", "weight": 1}, {"name": DEVICE, "weight": 3}]
_ZONES = {"topologyKey": ZONE, "maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule"}
_ARGS = {
    "NodeResourcesFit": {"scoringStrategy": {"type": "LeastAllocated", "resources": _SCORED}},
    "PodTopologySpread": {"defaultingType": "List", "defaultConstraints": [_ZONES]},
}
CONFIGURATION = load_configuration(
    {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [
            {"schedulerName": "default-scheduler"},
            {"schedulerName": WEIGHING, "pluginConfig": [{"name": name, "args": args} for name, args in _ARGS.items()]},
        ],
    },
    "DRADeviceTaintRules=true",
    release=DEFAULT_RELEASE,
)
PROFILES = build_profiles(CONFIGURATION)


@dataclass(frozen=True)
class Decision:
    """A choice in names."""

    node: str | None
    total: int | None
    tied: tuple[str, ...]
    victims_from: str | None
    victims: dict[str, tuple[str, ...]]  # by tied node
    diagnosis: Diagnosis | None
    keeps_nomination: bool
    error: str = ""


def named(choice: Choice, view: View) -> Decision:
    names, keys = view.nodes.names, view.pods.keys
    tied_rows = [] if isinstance(choice, Unschedulable) else choice.tied_rows.tolist()
    victims = {names[row]: choice.victims_on(row) for row in tied_rows} if isinstance(choice, NeedsPreemption) else {}
    return Decision(
        node=names[choice.row] if isinstance(choice, Fits) else None,
        total=choice.total if isinstance(choice, Fits) else None,
        tied=tuple(sorted(names[row] for row in tied_rows)),
        victims_from=names[choice.row] if isinstance(choice, NeedsPreemption) else None,
        victims={name: tuple(keys[row] for row in rows) for name, rows in victims.items()},
        diagnosis=None if isinstance(choice, Fits) else choice.diagnosis,
        keeps_nomination=isinstance(choice, Unschedulable) and choice.keeps_nomination,
    )


def decided(decider: Decider, cache: Cache, pod: Pod) -> Decision:
    info = cache.info(pod)
    view = cache.view()
    try:
        return named(decider.decide(info, view), view)
    except CycleError as error:
        return Decision(
            None, None, (), None, {}, None, keeps_nomination=False, error=f"{error.plugin}: {error.message}"
        )


def play(steps: list[Step], own_schedulers: frozenset[str] | None = None, *, rebuilds: bool = True) -> None:
    """Take the steps; at each decision everybody must agree.

    Columns are compared with rebuilt ones at the end in any case, decisions on them only where it `rebuilds`.
    """
    world = Changing(Cache(CONFIGURATION.gates, own_schedulers))
    reusing, lagging = Decider(PROFILES), Decider(PROFILES)
    alike = (1, 2)  # pattern and priority of the last pod
    waiting: deque[PodInfo] = deque(maxlen=4)
    for step in steps:
        kind, first, second, third = step
        if kind in (DECIDE, AGAIN):
            alike = (first, second) if kind == DECIDE else alike
            pod = world.new_pod(*alike)
        elif kind == RETRY and world.nominated:
            pod = list(world.nominated.values())[first % len(world.nominated)]
        else:
            if kind != RETRY:
                take_step(world, step)
            continue
        waiting.append(world.cache.info(pod))  # answers last as long as pods like it do
        choice = agreed(world, reusing, pod, rebuilds=rebuilds)
        event(f"{'placed' if choice.node else 'preempts' if choice.victims_from else choice.error or 'fits nowhere'}")
        if third % 2:
            assert decided(lagging, world.cache, pod) == choice
        act(world, pod, choice, third)
    assert_same_columns(world.cache, world.rebuilt())


#: Vocabularies in which waiting pods make no difference.
NODES_USE = ("taint sets", "feature sets", "sizes", "images", "host ports", "node names")


def agreed(world: Changing, reusing: Decider, pod: Pod, *, rebuilds: bool = True) -> Decision:
    choice = decided(reusing, world.cache, pod)
    assert choice == decided(Decider(PROFILES, reuse=False), world.cache, pod)
    if rebuilds:
        assert choice == decided(Decider(PROFILES, reuse=False), world.rebuilt(), pod)
    if world.cache.pods.own_schedulers is not None:
        evicted = [world.pods[key] for keys in choice.victims.values() for key in keys]
        assert {victim.spec.scheduler_name for victim in evicted} <= world.cache.pods.own_schedulers
    return choice


def act(world: Changing, pod: Pod, choice: Decision, how: int) -> None:
    """Do what was decided: mostly at once, sometimes as a live cluster does, and sometimes not at all."""
    key = key_of(pod)
    if how % 4 == 0:
        return
    if choice.node is not None:
        world.run(pod, choice.node, assumed=how % 3 > 0)
    elif choice.victims_from is not None:
        name = choice.victims_from
        info, view = world.cache.info(pod), world.cache.view()
        for gone in (*choice.victims[name], *overtaken(info, view, name)):
            world.drop(gone)
        if how % 3:
            world.run(pod, name)
        else:
            if key in world.nominated:
                world.drop(key)
            world.nominate(pod, name)


# ---------------------------------------------------------------- columns


def assert_same_columns(kept: Cache, rebuilt: Cache) -> None:
    in_use = vocabularies(rebuilt)
    assert {name: values for name, values in vocabularies(kept).items() if name in NODES_USE} == {
        name: values for name, values in in_use.items() if name in NODES_USE
    }
    assert node_columns(kept) == node_columns(rebuilt)
    assert pods_by_node(kept) == pods_by_node(rebuilt)
    assert ports_held(kept) == ports_held(rebuilt)
    assert claim_users(kept) == claim_users(rebuilt)
    assert devices_held(kept) == devices_held(rebuilt)
    assert_same_counts(kept, rebuilt)


def node_columns(cache: Cache) -> dict[str, Any]:
    """What the table says of each node, by name; resources by name, as the tables number them differently."""
    nodes = cache.view().nodes
    names = nodes.resources.values

    def amounts(row: Any) -> dict[str, int]:
        return {name: amount for name, amount in zip(names, row.tolist(), strict=True) if amount}

    return {
        name: (
            bool(nodes.alive[row]),
            bool(nodes.unschedulable[row]),
            amounts(nodes.allocatable[row]),
            int(nodes.allowed_pods[row]),
            amounts(nodes.requested[row]),
            nodes.nonzero_requested[row].tolist(),
            int(nodes.pod_counts[row]),
            nodes.taint_sets.values[nodes.taint_set_ids[row]],
            dict(nodes.labels[row]),
            {image for image, state in nodes.images.items() if row in state.rows},
        )
        for name, row in nodes.rows_by_name.items()
    }


def pods_by_node(cache: Cache) -> dict[str, list[tuple[Any, ...]]]:
    """Pods of each node in the node's order, as the pod table has them; nominated ones under their node's name."""
    nodes, pods = cache.nodes, cache.pods

    def columns(row: int) -> tuple[Any, ...]:
        requests = dict(zip(cache.resources.values, pods.requests[row].tolist(), strict=False))
        return (
            pods.keys[row],
            int(pods.slots[row]),
            int(pods.priorities[row]),
            int(pods.started_at[row]),
            bool(pods.terminating[row]),
            bool(pods.foreign[row]),
            pods.owner(row),
            {name: amount for name, amount in requests.items() if amount},
        )

    running = {name: [columns(row) for row in nodes.pod_rows[at]] for name, at in nodes.rows_by_name.items()}
    waiting = {f"nominated to {name}": [columns(row) for row in rows] for name, rows in cache.nominated.items()}
    return running | waiting


def claim_users(cache: Cache) -> dict[tuple[str, str], set[str]]:
    names, users = cache.nodes.names, cache.pods.volume_users
    return {claim: {names[row] for row in users.rows_using(*claim)} for claim in users._by_claim}


def devices_held(cache: Cache) -> dict[str, list[str]]:
    return {str(device): sorted(claims) for device, claims in cache.objects.devices.holders.items()}


def assert_same_counts(kept: Cache, rebuilt: Cache) -> None:
    """Every counter that is kept, against one made on the spot."""
    for key in list(kept.counters._recent):
        counted = kept.counters._recent.get(key)
        if isinstance(counted, PodCounter):
            shape = next(each for each in kept.shapes if each.id in counted.asking_ids)
            fresh = rebuilt.counters.pods_matching(shape=shape, **key._asdict())
            assert_same_count(kept, counted.nodes, rebuilt, fresh.nodes)
    for term_id, by_priority in kept.counters._carriers.items():
        for below, counts in by_priority.items():
            carriers = partial(rebuilt.counters.carriers, below=below)
            assert_same_carriers(kept, term_id, counts, rebuilt, carriers)
    for term_id, total in kept.counters._carrier_totals.items():
        known = rebuilt.counters.terms.find(kept.counters.terms.values[term_id])
        assert total == (rebuilt.counters._carrier_totals.get(known, 0) if known >= 0 else 0)


def assert_same_carriers(
    kept: Cache, term_id: int, counts: NodeCounts, rebuilt: Cache, carriers: Callable[[int], NodeCounts]
) -> None:
    known = rebuilt.counters.terms.find(kept.counters.terms.values[term_id])
    if known >= 0:
        assert_same_count(kept, counts, rebuilt, carriers(known))
    else:
        assert not counts.counts(kept.nodes.count).any()


def assert_same_count(kept: Cache, counts: NodeCounts, rebuilt: Cache, fresh: NodeCounts) -> None:
    assert by_node(kept, counts) == by_node(rebuilt, fresh)
    for key in list(kept.nodes.labels.columns):
        assert by_value(kept, counts, key) == by_value(rebuilt, fresh, key)


def by_node(cache: Cache, counts: NodeCounts) -> dict[str, int]:
    found = counts.counts(cache.nodes.count)
    return {cache.nodes.names[row]: int(found[row]) for row in np.flatnonzero(found)}


def by_value(cache: Cache, counts: NodeCounts, key: str) -> dict[str, int]:
    column = cache.nodes.labels.column(key)
    sums = counts.by_domain(column).tolist()
    assert len(sums) == column.domains + 1
    assert sums[-1] == 0
    return {value: total for value, total in zip(column.values.values, sums, strict=False) if total}
