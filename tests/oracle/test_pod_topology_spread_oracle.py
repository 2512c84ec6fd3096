"""PodTopologySpread against a slow version that looks at one node and one pod at a time.

The oracle knows plain objects and dicts only. Labels, taints and selectors are drawn from tiny sets, so that domains
meet, empty values occur, nodes are left out and pods stand on nodes that do not exist.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from tests.support.caches import cache_of, prepared, raw_and_normal_scores
from tests.support.examples import examples

from bayplan.config.feature_gates import DEFAULT_GATES
from bayplan.core.cache import Cache
from bayplan.core.columns import ALL_ROWS, row_array
from bayplan.core.framework.args import LIST_DEFAULTING, PodTopologySpreadArgs
from bayplan.core.framework.contract import Ready, Skip
from bayplan.core.plugins.pod_topology_spread import PodTopologySpread
from bayplan.model.cluster import Service
from bayplan.model.meta import LabelSelector
from bayplan.model.node import Node
from bayplan.model.pod import Pod, TopologySpreadConstraint
from bayplan.model.workloads import ReplicaSet
from bayplan.testing.builders import node, pod, replica_set, selector, service

ZONE, HOST, RACK = "topology.kubernetes.io/zone", "kubernetes.io/hostname", "rack"
HARD, SOFT = "DoNotSchedule", "ScheduleAnyway"
PASSES, LACKS_KEY, TOO_SKEWED = 0, 1, 2


@dataclass
class World:
    """A cluster as plain objects, and the pod that wants a place."""

    nodes: list[Node]
    pods: list[Pod]
    wanting: Pod
    services: list[Service] = field(default_factory=list)
    replica_sets: list[ReplicaSet] = field(default_factory=list)
    args: PodTopologySpreadArgs = field(default_factory=PodTopologySpreadArgs)

    def cache(self) -> Cache:
        return cache_of(*self.nodes, *self.pods, *self.services, *self.replica_sets)

    def pods_on(self, name: str) -> list[Pod]:
        return [running for running in self.pods if running.spec.node_name == name]


# The oracle.


def selects(written: LabelSelector | None, labels: Mapping[str, str]) -> bool:
    if written is None:
        return False
    checks = [labels.get(key) == value for key, value in written.match_labels.items()]
    for expression in written.match_expressions:
        value = labels.get(expression.key)
        checks.append(
            {
                "In": value in expression.values,
                "NotIn": value not in expression.values,
                "Exists": value is not None,
                "DoesNotExist": value is None,
            }[expression.operator]
        )
    return all(checks)


def is_empty(written: LabelSelector | None) -> bool:
    return written is not None and not written.match_labels and not written.match_expressions


def oracle_constraints(world: World, action: str) -> list[TopologySpreadConstraint]:
    """The pod's constraints with their final selectors, which may be None."""
    wanting = world.wanting
    if wanting.spec.topology_spread_constraints:
        return [
            with_selector(written, merged(written.label_selector, written.match_label_keys, wanting))
            for written in wanting.spec.topology_spread_constraints
            if written.when_unsatisfiable == action
        ]
    found = LabelSelector()
    for candidate in world.services:
        if candidate.metadata.namespace == wanting.metadata.namespace and all(
            wanting.metadata.labels.get(key) == value for key, value in candidate.spec.selector.items()
        ):
            found.match_labels.update(candidate.spec.selector)
    for owner in wanting.metadata.owner_references:
        for candidate_set in world.replica_sets:
            if candidate_set.metadata.name == owner.name and candidate_set.spec.selector is not None:
                found.match_expressions.extend(candidate_set.spec.selector.match_expressions)
    if is_empty(found):
        return []
    return [
        with_selector(written, found)
        for written in world.args.default_constraints
        if written.when_unsatisfiable == action
    ]


def merged(written: LabelSelector | None, keys: Iterable[str], wanting: Pod) -> LabelSelector | None:
    if written is None:
        return None
    own = {key: wanting.metadata.labels[key] for key in keys if key in wanting.metadata.labels}
    # A key may be asked for twice with different values, hence not a merged map.
    extra = selector(",".join(f"{key}={value}" for key, value in own.items())).match_expressions
    return LabelSelector(match_labels=written.match_labels, match_expressions=[*written.match_expressions, *extra])


def with_selector(written: TopologySpreadConstraint, selecting: LabelSelector | None) -> TopologySpreadConstraint:
    return TopologySpreadConstraint(
        max_skew=written.max_skew,
        topology_key=written.topology_key,
        label_selector=selecting,
        min_domains=written.min_domains,
        node_affinity_policy=written.node_affinity_policy,
        node_taints_policy=written.node_taints_policy,
    )


def included(constraint: TopologySpreadConstraint, judged: Node, wanting: Pod) -> bool:
    if constraint.node_affinity_policy != "Ignore":
        wanted = wanting.spec.node_selector.items()
        if any(judged.metadata.labels.get(key) != value for key, value in wanted):
            return False
    if constraint.node_taints_policy == "Honor":
        tolerated = {toleration.key for toleration in wanting.spec.tolerations}
        for taint in judged.spec.taints:
            if taint.effect in ("NoSchedule", "NoExecute") and taint.key not in tolerated:
                return False
    return True


def has_all(constraints: Iterable[TopologySpreadConstraint], judged: Node) -> bool:
    return all(constraint.topology_key in judged.metadata.labels for constraint in constraints)


def count(constraint: TopologySpreadConstraint, world: World, name: str) -> int:
    if is_empty(constraint.label_selector):
        return 0
    return sum(
        running.metadata.namespace == world.wanting.metadata.namespace
        and running.metadata.deletion_timestamp is None
        and selects(constraint.label_selector, running.metadata.labels)
        for running in world.pods_on(name)
    )


Totals = list[dict[str, int]]


def hard_totals(constraints: list[TopologySpreadConstraint], world: World) -> Totals:
    totals: Totals = [{} for _ in constraints]
    for counted in world.nodes:
        for constraint, by_value in zip(constraints, totals, strict=True):
            if has_all(constraints, counted) and included(constraint, counted, world.wanting):
                value = counted.metadata.labels[constraint.topology_key]
                by_value[value] = by_value.get(value, 0) + count(constraint, world, counted.metadata.name)
    return totals


def move(
    constraints: list[TopologySpreadConstraint], totals: Totals, world: World, moved: Pod, on: Node, sign: int
) -> None:
    """As upstream keeps its totals: neither deletion nor an empty selector matters here."""
    if moved.metadata.namespace != world.wanting.metadata.namespace or not has_all(constraints, on):
        return
    for constraint, by_value in zip(constraints, totals, strict=True):
        if selects(constraint.label_selector, moved.metadata.labels) and included(constraint, on, world.wanting):
            by_value[on.metadata.labels[constraint.topology_key]] += sign


def oracle_code(constraints: list[TopologySpreadConstraint], totals: Totals, judged: Node, wanting: Pod) -> int:
    for constraint, by_value in zip(constraints, totals, strict=True):
        value = judged.metadata.labels.get(constraint.topology_key)
        if value is None:
            return LACKS_KEY
        least = 0 if len(by_value) < (constraint.min_domains or 1) else min(by_value.values())
        itself = selects(constraint.label_selector, wanting.metadata.labels)
        if by_value.get(value, 0) + itself - least > constraint.max_skew:
            return TOO_SKEWED
    return PASSES


def oracle_scores(world: World, feasible: list[Node]) -> tuple[dict[str, int], dict[str, int]] | None:
    constraints = oracle_constraints(world, SOFT)
    if not constraints:
        return None
    own = bool(world.wanting.spec.topology_spread_constraints)
    require_all = own or world.args.defaulting_type == LIST_DEFAULTING
    ignored = {n.metadata.name for n in feasible if require_all and not has_all(constraints, n)}
    kept = [n for n in feasible if n.metadata.name not in ignored]
    raw = {}
    for judged in feasible:
        total = 0.0
        for constraint in constraints:
            key = constraint.topology_key
            if judged.metadata.name in ignored or key not in judged.metadata.labels:
                continue
            if key == HOST:
                size, pods_here = len(kept), count(constraint, world, judged.metadata.name)
            else:
                size = len({n.metadata.labels.get(key, "") for n in kept})
                pods_here = sum(
                    count(constraint, world, n.metadata.name)
                    for n in world.nodes
                    if (has_all(constraints, n) or not require_all)
                    and included(constraint, n, world.wanting)
                    and n.metadata.labels.get(key, "") == judged.metadata.labels[key]
                )
            total += pods_here * math.log(size + 2) + (constraint.max_skew - 1)
        raw[judged.metadata.name] = math.floor(total + 0.5)
    counted = [score for name, score in raw.items() if name not in ignored]
    highest, lowest = max(counted, default=0), min(counted, default=0)
    normal = {
        name: 0 if name in ignored else 100 if highest == 0 else 100 * (highest + lowest - score) // highest
        for name, score in raw.items()
    }
    return raw, normal


# Random clusters.


SELECTORS = st.sampled_from([None, "", "app=x", "app in (x,y)", "app notin (y)", "!ver", "ver", "app=x,ver=1"])


def or_none(*values: Any) -> st.SearchStrategy[Any]:
    return st.sampled_from([None, *values])


@st.composite
def a_node(draw: st.DrawFn, name: str) -> Node:
    built = node(name)
    for key, values in ((ZONE, ("a", "a", "b", "b", "c", "")), (RACK, ("r", "r", "s", "")), ("disk", ("ssd",) * 4)):
        value = draw(or_none(*values))
        if value is not None:
            built.label(key, value)
    effect = draw(or_none("NoSchedule", "NoExecute", "PreferNoSchedule"))
    if effect is not None:
        built.taint("gpu", effect=effect)
    made = built.obj()
    if draw(st.integers(0, 5)) == 0:
        del made.metadata.labels[HOST]
    return made


@st.composite
def a_running_pod(draw: st.DrawFn, name: str, node_names: list[str]) -> Pod:
    built = pod(name, draw(st.sampled_from(["default", "default", "default", "other"])))
    built.labels(app=draw(st.sampled_from(["x", "x", "y"])))
    version = draw(or_none("1", "2"))
    if version is not None:
        built.labels(ver=version)
    if draw(st.integers(0, 4)) == 0:
        built.terminating()
    return built.node(draw(st.sampled_from(node_names))).obj()


@st.composite
def a_constraint(draw: st.DrawFn, actions: tuple[str, ...]) -> dict[str, Any]:
    return {
        "topology_key": draw(st.sampled_from([ZONE, HOST, RACK])),
        "selecting": draw(SELECTORS),
        "max_skew": draw(st.integers(1, 3)),
        "when": draw(st.sampled_from(actions)),
        "min_domains": draw(or_none(1, 2, 3, 4)),
        "node_affinity_policy": draw(or_none("Honor", "Ignore")),
        "node_taints_policy": draw(or_none("Honor", "Ignore")),
        "match_label_keys": draw(st.sampled_from([[], ["ver"], ["ver", "app"]])),
    }


DEFAULTS = st.builds(
    TopologySpreadConstraint,
    topology_key=st.sampled_from([ZONE, HOST, RACK]),
    max_skew=st.integers(1, 3),
    when_unsatisfiable=st.sampled_from([HARD, SOFT]),
    min_domains=or_none(2),
)


@st.composite
def worlds(draw: st.DrawFn, actions: tuple[str, ...] = (HARD, SOFT)) -> World:
    nodes = [draw(a_node(f"n{number}")) for number in range(draw(st.integers(1, 7)))]
    names = [made.metadata.name for made in nodes]
    pods = [draw(a_running_pod(f"p{number}", [*names, "ghost"])) for number in range(draw(st.integers(0, 14)))]
    built = pod("wanting").labels(app="x")
    if draw(st.booleans()):
        built.labels(ver="1")
    if draw(st.integers(0, 2)) == 0:
        built.node_selector(disk="ssd")
    if draw(st.booleans()):
        built.tolerates("gpu")
    for fields in draw(st.lists(a_constraint(actions), max_size=2)):
        built.spread(fields.pop("topology_key"), fields.pop("selecting"), **fields)
    world = World(nodes, pods, built.obj())
    if draw(st.booleans()):
        world.args = PodTopologySpreadArgs(LIST_DEFAULTING, tuple(draw(st.lists(DEFAULTS, max_size=3))))
    world.services = [service("s", app="x").obj()] if draw(st.booleans()) else []
    world.services += [service("t", ver="1").obj()] if draw(st.booleans()) else []
    if draw(st.booleans()):
        world.replica_sets = [replica_set("rs").selects("ver notin (2)").obj()]
        world.wanting = built.owner(world.replica_sets[0]).obj()
    return world


@st.composite
def worlds_with_few_pods(draw: st.DrawFn) -> World:
    """Nodes by the dozen, of which few hold pods, and constraints over zones and hosts; often every node has both."""
    nodes = [node(f"n{number}").label(ZONE, draw(st.sampled_from("abc"))) for number in range(draw(st.integers(6, 12)))]
    made = [built.label("disk", draw(st.sampled_from(["ssd", "hdd"]))).obj() for built in nodes]
    for lacking in draw(st.lists(st.sampled_from([ZONE, HOST]), max_size=2)):
        draw(st.sampled_from(made)).metadata.labels.pop(lacking, None)
    names = st.sampled_from([each.metadata.name for each in made])
    pods = [pod(f"p{number}").labels(app=draw(st.sampled_from("xy"))).node(draw(names)) for number in range(4)]
    built = pod("wanting").labels(app="x")
    if draw(st.integers(0, 3)) == 0:
        built.node_selector(disk="ssd")
    if draw(st.booleans()):
        for key in draw(st.permutations([ZONE, HOST])):
            built.spread(key, draw(st.sampled_from(["app=x", "app", ""])), max_skew=draw(st.integers(1, 3)), when=SOFT)
    return World(made, [running.obj() for running in pods], built.obj(), [service("s", app="x").obj()])


def moves_in(world: World) -> st.SearchStrategy[list[tuple[Pod, Node]]]:
    if not world.pods:
        return st.just([])
    return st.lists(st.tuples(st.sampled_from(world.pods), st.sampled_from(world.nodes)), max_size=8)


# Tests.


@examples(200)
@given(worlds())
def test_filter(world: World) -> None:
    """Every node gets the code that counting by hand gives."""
    plugin = PodTopologySpread(world.args, gates=DEFAULT_GATES)
    _, view, outcome = prepared(plugin, world.cache(), world.wanting)
    constraints = oracle_constraints(world, HARD)
    assert isinstance(outcome, Skip) == (not constraints)
    if isinstance(outcome, Ready):
        codes = plugin.filter(outcome.state, view, ALL_ROWS)
        totals = hard_totals(constraints, world)
        for judged in world.nodes:
            row = view.nodes.rows_by_name[judged.metadata.name]
            assert codes[row] == oracle_code(constraints, totals, judged, world.wanting)


@examples(200)
@given(worlds((HARD,)), st.data())
def test_what_if(world: World, data: st.DataObject) -> None:
    """After pods came and went on all nodes at once, each node is judged as if only its own had."""
    plugin = PodTopologySpread(world.args, gates=DEFAULT_GATES)
    _, view, outcome = prepared(plugin, world.cache(), world.wanting)
    if not isinstance(outcome, Ready):
        return
    before = plugin.filter(outcome.state, view, ALL_ROWS)
    state = plugin.fork(outcome.state, view)
    constraints = oracle_constraints(world, HARD)
    by_node = {judged.metadata.name: hard_totals(constraints, world) for judged in world.nodes}
    for sign in data.draw(st.lists(st.sampled_from([-1, +1]), min_size=1, max_size=3)):
        moves = data.draw(moves_in(world))
        for moved, on in moves:
            move(constraints, by_node[on.metadata.name], world, moved, on, sign)
        pod_rows = row_array([view.pods.rows_by_key[key(moved)] for moved, _ in moves])
        node_rows = row_array([view.nodes.rows_by_name[on.metadata.name] for _, on in moves])
        state = plugin.fork(state, view)
        plugin.shift(state, view, pod_rows, node_rows, sign)
    codes = plugin.filter(state, view, ALL_ROWS)
    for judged in world.nodes:
        row = view.nodes.rows_by_name[judged.metadata.name]
        assert codes[row] == oracle_code(constraints, by_node[judged.metadata.name], judged, world.wanting)
    np.testing.assert_array_equal(plugin.filter(outcome.state, view, ALL_ROWS), before)


@examples(150)
@given(worlds((HARD,)), st.data())
def test_what_if_equals_moving_pods_for_good(world: World, data: st.DataObject) -> None:
    """Where upstream's bookkeeping is exact, a node without some pods is judged as in a cluster that lacks them."""
    for running in world.pods:
        running.metadata.deletion_timestamp = None
    for written in world.wanting.spec.topology_spread_constraints:
        written.label_selector = selector("app=x") if is_empty(written.label_selector) else written.label_selector
    plugin = PodTopologySpread(world.args, gates=DEFAULT_GATES)
    _, view, outcome = prepared(plugin, world.cache(), world.wanting)
    if not isinstance(outcome, Ready):
        return
    gone = [running for running in world.pods if data.draw(st.booleans())]
    pod_rows = row_array([view.pods.rows_by_key[key(running)] for running in gone])
    state = plugin.fork(outcome.state, view)
    plugin.shift(state, view, pod_rows, row_array(view.pods.node_rows[pod_rows]), -1)
    codes = plugin.filter(state, view, ALL_ROWS)
    for judged in world.nodes:
        name = judged.metadata.name
        stays = [running for running in world.pods if running not in gone or running.spec.node_name != name]
        moved = replace(world, pods=stays)
        _, new_view, new_outcome = prepared(plugin, moved.cache(), world.wanting)
        assert isinstance(new_outcome, Ready)
        new_row = row_array([new_view.nodes.rows_by_name[name]])
        expected = plugin.filter(new_outcome.state, new_view, new_row)[0]
        assert codes[view.nodes.rows_by_name[name]] == expected


def key(named: Pod) -> str:
    return f"{named.metadata.namespace}/{named.metadata.name}"


@examples(300)
@given(st.one_of(worlds(), worlds_with_few_pods()), st.data())
def test_scores(world: World, data: st.DataObject) -> None:
    """Raw and normalized scores over any feasible subset are those computed by hand."""
    some = st.lists(st.sampled_from(world.nodes), min_size=1, unique_by=lambda n: n.metadata.name)
    feasible = data.draw(st.one_of(st.just(world.nodes), some))
    names = [judged.metadata.name for judged in feasible]
    found = raw_and_normal_scores(
        PodTopologySpread(world.args, gates=DEFAULT_GATES), world.cache(), world.wanting, names
    )
    assert found == oracle_scores(world, feasible)
