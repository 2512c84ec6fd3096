"""InterPodAffinity's array code against a slow version that walks over pods and nodes as upstream does.

The oracle reads plain objects and keeps maps from (topology key, value) to numbers. What-if worlds are checked by
really moving the pods of one node and counting anew.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from tests.support.caches import raw_and_normal_scores, verdicts
from tests.support.examples import examples

from bayplan.config.feature_gates import DEFAULT_GATES
from bayplan.core.cache import Cache
from bayplan.core.columns import ALL_ROWS, row_array
from bayplan.core.framework.args import InterPodAffinityArgs
from bayplan.core.framework.contract import Ready, Skip
from bayplan.core.plugins.inter_pod_affinity import (
    REASON_AFFINITY,
    REASON_ANTI_AFFINITY,
    REASON_EXISTING_ANTI_AFFINITY,
    InterPodAffinity,
)
from bayplan.core.snapshot import View
from bayplan.model.cluster import Namespace
from bayplan.model.kinds import Object
from bayplan.model.meta import LabelSelector
from bayplan.model.node import Node
from bayplan.model.pod import Pod, PodAffinityTerm
from bayplan.testing.builders import namespace, node, pod
from bayplan.testing.pods import PodBuilder

Pair = tuple[str, str]

# --------------------------------------------------------------------------------------------- the oracle


@dataclass
class Cluster:
    """Plain objects; `places` says on which node each pod is (some are on nodes nobody knows)."""

    nodes: list[Node]
    namespaces: list[Namespace]
    places: list[tuple[Pod, str]]

    def running(self) -> list[tuple[Pod, Mapping[str, str]]]:
        """Each pod with the labels of its node."""
        labels = {it.metadata.name: it.metadata.labels for it in self.nodes}
        return [(it, labels[where]) for it, where in self.places if where in labels]

    def namespace_labels(self, name: str) -> Mapping[str, str]:
        return next((it.metadata.labels for it in self.namespaces if it.metadata.name == name), {})


def selects(selector: LabelSelector | None, labels: Mapping[str, str]) -> bool:
    if selector is None:
        return False
    for requirement in selector.match_expressions:
        value = labels.get(requirement.key)
        holds = {
            "In": value in requirement.values,
            "NotIn": value not in requirement.values,
            "Exists": value is not None,
            "DoesNotExist": value is None,
        }[requirement.operator]
        if not holds:
            return False
    return all(labels.get(key) == value for key, value in selector.match_labels.items())


def names_of(term: PodAffinityTerm, owner: Pod) -> set[str]:
    if not term.namespaces and term.namespace_selector is None:
        return {owner.metadata.namespace}
    return set(term.namespaces)


def own_term_matches(term: PodAffinityTerm, owner: Pod, other: Pod, cluster: Cluster) -> bool:
    """A term of the incoming pod against a running one; the selector also sees a namespace without labels."""
    names = names_of(term, owner)
    names |= {it.metadata.name for it in cluster.namespaces if selects(term.namespace_selector, it.metadata.labels)}
    in_namespace = other.metadata.namespace in names or selects(term.namespace_selector, {})
    return in_namespace and selects(term.label_selector, other.metadata.labels)


def their_term_matches(term: PodAffinityTerm, owner: Pod, incoming: Pod, cluster: Cluster) -> bool:
    space = incoming.metadata.namespace
    in_namespace = space in names_of(term, owner) or selects(term.namespace_selector, cluster.namespace_labels(space))
    return in_namespace and selects(term.label_selector, incoming.metadata.labels)


def required(of: Pod, kind: str) -> list[PodAffinityTerm]:
    part: Any = getattr(of.spec.affinity, kind, None)
    return part.required if part else []


def preferred(of: Pod) -> list[tuple[int, PodAffinityTerm]]:
    """Signed weights and terms."""
    near: Any = getattr(of.spec.affinity, "pod_affinity", None)
    apart: Any = getattr(of.spec.affinity, "pod_anti_affinity", None)
    return [(it.weight, it.pod_affinity_term) for it in (near.preferred if near else [])] + [
        (-it.weight, it.pod_affinity_term) for it in (apart.preferred if apart else [])
    ]


def meets_all(terms: list[PodAffinityTerm], owner: Pod, other: Pod, cluster: Cluster) -> bool:
    return bool(terms) and all(own_term_matches(term, owner, other, cluster) for term in terms)


def oracle_filter(incoming: Pod, cluster: Cluster) -> dict[str, str] | None:
    """The reason for each node, "" where it passes; None when there is nothing to filter."""
    near, apart = required(incoming, "pod_affinity"), required(incoming, "pod_anti_affinity")
    counts: dict[str, dict[Pair, int]] = {name: defaultdict(int) for name in ("near", "apart", "existing")}
    for other, labels in cluster.running():

        def count(what: str, key: str, labels: Mapping[str, str] = labels) -> None:
            if key in labels:
                counts[what][key, labels[key]] += 1

        for term in required(other, "pod_anti_affinity"):
            if their_term_matches(term, other, incoming, cluster):
                count("existing", term.topology_key)
        for term in near:
            if meets_all(near, incoming, other, cluster):
                count("near", term.topology_key)
        for term in apart:
            if own_term_matches(term, incoming, other, cluster):
                count("apart", term.topology_key)
    if not counts["existing"] and not near and not apart:
        return None
    alone = not counts["near"] and meets_all(near, incoming, incoming, cluster)
    return {it.metadata.name: reason(it, near, counts, alone=alone) for it in cluster.nodes}


def reason(on: Node, near: list[PodAffinityTerm], counts: dict[str, dict[Pair, int]], *, alone: bool) -> str:
    labels = on.metadata.labels
    if any(term.topology_key not in labels for term in near):
        return REASON_AFFINITY
    lonely = any(not counts["near"].get((term.topology_key, labels[term.topology_key])) for term in near)
    if lonely and not alone:
        return REASON_AFFINITY
    if any(pair in counts["apart"] for pair in labels.items()):
        return REASON_ANTI_AFFINITY
    if any(pair in counts["existing"] for pair in labels.items()):
        return REASON_EXISTING_ANTI_AFFINITY
    return ""


def oracle_scores(
    incoming: Pod, cluster: Cluster, args: InterPodAffinityArgs
) -> tuple[dict[str, int], dict[str, int]] | None:
    own = preferred(incoming)
    if args.ignore_preferred_terms_of_existing_pods and not own:
        return None
    sums: dict[Pair, int] = defaultdict(int)
    for other, labels in cluster.running():
        hard = [(args.hard_pod_affinity_weight, term) for term in required(other, "pod_affinity")]
        if not args.hard_pod_affinity_weight:
            hard = []
        speaking = [it for it in own if own_term_matches(it[1], incoming, other, cluster)]
        theirs = (*hard, *preferred(other))
        speaking += [it for it in theirs if their_term_matches(it[1], other, incoming, cluster)]
        for weight, term in speaking:
            if term.topology_key in labels:
                sums[term.topology_key, labels[term.topology_key]] += weight
    if not sums:
        return None
    raw = {it.metadata.name: sum(sums.get(pair, 0) for pair in it.metadata.labels.items()) for it in cluster.nodes}
    low, high = min(raw.values()), max(raw.values())
    normal = {name: int(100.0 * ((it - low) / (high - low))) if high > low else 0 for name, it in raw.items()}
    return raw, normal


# --------------------------------------------------------------------------------------------- random clusters

KEYS = ("zone", "rack")
SELECTORS = (None, "", "app=x", "app in (x, y)", "app != x", "!tier", "tier", "app=x, tier=db")
NAMESPACE_SELECTORS = (None, None, None, "", "team=red", "team != red", "!team", "team")

labels_of_pods = st.sampled_from([{}, {"app": "x"}, {"app": "y"}, {"tier": "db"}, {"app": "x", "tier": "db"}])
labels_of_nodes = st.fixed_dictionaries({}, optional={key: st.sampled_from(["1", "2"]) for key in (*KEYS, "unused")})


@st.composite
def affinity(draw: st.DrawFn, built: PodBuilder, most: int) -> PodBuilder:
    for _ in range(draw(st.integers(0, most))):
        add = draw(st.sampled_from([built.pod_affinity, built.pod_anti_affinity]))
        fields: dict[str, Any] = {"namespaces": draw(st.sampled_from([[], [], ["blue"], ["red", "blue"]]))}
        namespace_selector = draw(st.sampled_from(NAMESPACE_SELECTORS))
        if namespace_selector is not None:
            fields["namespace_selector"] = namespace_selector
        weight = draw(st.sampled_from([None, None, 1, 7, 100]))
        add(draw(st.sampled_from(KEYS)), draw(st.sampled_from(SELECTORS)), weight=weight, **fields)
    return built


@st.composite
def pods(draw: st.DrawFn, name: str, most_terms: int) -> Pod:
    built = pod(name, draw(st.sampled_from(["red", "blue", "bare"]))).labels(draw(labels_of_pods))
    return draw(affinity(built, most_terms)).obj()


@st.composite
def clusters(draw: st.DrawFn) -> Cluster:
    nodes = []
    for row in range(draw(st.integers(1, 4))):
        made = node(f"n{row}").obj()
        made.metadata.labels = draw(labels_of_nodes)
        nodes.append(made)
    spaces = [namespace("red").labels(team="red").obj(), namespace("blue").labels(team="blue").obj()]
    places = [*(it.metadata.name for it in nodes), "gone"]
    placed = [(draw(pods(f"p{row}", 2)), draw(st.sampled_from(places))) for row in range(draw(st.integers(0, 5)))]
    return Cluster(nodes, draw(st.sampled_from([[], spaces])), placed)


def cache_of_cluster(cluster: Cluster) -> Cache:
    cache = Cache(gates=DEFAULT_GATES)
    things: list[Object] = [*cluster.nodes, *cluster.namespaces]
    for thing in things:
        cache.add(thing)
    for placed, where in cluster.places:
        cache.add_pod(placed, where)
    return cache


def reasons(view: View, state: Any, rows: Any = ALL_ROWS) -> list[str]:
    plugin = InterPodAffinity(gates=DEFAULT_GATES)
    codes = plugin.filter(state, view, rows)
    return [plugin.explain_failure(state, view, int(code)).message if code else "" for code in codes.tolist()]


arguments = st.builds(InterPodAffinityArgs, st.sampled_from([0, 1, 50]), st.booleans())

# --------------------------------------------------------------------------------------------- the tests


@examples(150)
@given(clusters(), pods("incoming", 3))
def test_filter(cluster: Cluster, incoming: Pod) -> None:
    """Every node gets the verdict that walking over all pods gives it."""
    expected = oracle_filter(incoming, cluster)
    found = verdicts(InterPodAffinity(gates=DEFAULT_GATES), cache_of_cluster(cluster), incoming)
    assert {name: status.message for name, status in found.items()} == (expected or {})


@examples(150)
@given(clusters(), pods("incoming", 3), arguments)
def test_score(cluster: Cluster, incoming: Pod, args: InterPodAffinityArgs) -> None:
    """Raw and normalized scores, and whether the plugin skips, are those of walking over all pods."""
    found = raw_and_normal_scores(InterPodAffinity(args, gates=DEFAULT_GATES), cache_of_cluster(cluster), incoming)
    assert found == oracle_scores(incoming, cluster, args)


@examples(100)
@given(clusters(), pods("incoming", 3), st.data())
def test_follows_changes(cluster: Cluster, incoming: Pod, data: st.DataObject) -> None:
    """Answers stay right when pods and nodes come, change and go after the counts were first asked for."""
    plugin, cache = InterPodAffinity(gates=DEFAULT_GATES), cache_of_cluster(cluster)
    verdicts(plugin, cache, incoming)
    raw_and_normal_scores(plugin, cache, incoming)
    for placed, _ in cluster.places:
        if data.draw(st.booleans()):
            cache.remove_pod(f"{placed.metadata.namespace}/{placed.metadata.name}")
            cluster.places = [(it, where) for it, where in cluster.places if it is not placed]
    for row in range(data.draw(st.integers(0, 3))):
        late = (data.draw(pods(f"late{row}", 2)), data.draw(st.sampled_from(cluster.nodes)).metadata.name)
        cluster.places.append(late)
        cache.add_pod(*late)
    for changing in list(cluster.nodes):
        if data.draw(st.booleans()):
            changing.metadata.labels = data.draw(labels_of_nodes)
            cache.add_node(changing)
        elif len(cluster.nodes) > 1 and data.draw(st.booleans()):
            cache.remove_node(changing.metadata.name)
            cluster.nodes.remove(changing)
    found = verdicts(plugin, cache, incoming)
    assert {name: it.message for name, it in found.items()} == (oracle_filter(incoming, cluster) or {})
    assert raw_and_normal_scores(plugin, cache, incoming) == oracle_scores(incoming, cluster, InterPodAffinityArgs())


@examples(150)
@given(clusters(), pods("incoming", 3), st.data())
def test_what_if(cluster: Cluster, incoming: Pod, data: st.DataObject) -> None:
    """Each node is judged as if its own pods had moved and no other's; the state forked from stays as it was."""
    plugin, cache = InterPodAffinity(gates=DEFAULT_GATES), cache_of_cluster(cluster)
    names = [it.metadata.name for it in cluster.nodes]
    leaving = [it for it in cluster.places if it[1] in names and data.draw(st.booleans())]
    coming = [
        (data.draw(pods(f"nominee{row}", 2)), data.draw(st.sampled_from(names)))
        for row in range(data.draw(st.integers(0, 3)))
    ]
    for nominee, where in coming:
        cache.nominate(nominee, where)
    info, view = cache.info(incoming), cache.view()
    ready = plugin.pre_filter(info, view)
    if isinstance(ready, Skip):
        return
    assert isinstance(ready, Ready)
    before = reasons(view, ready.state)
    first = plugin.fork(ready.state, view)
    shift(plugin, first, view, leaving, -1)
    second = plugin.fork(first, view)
    shift(plugin, second, view, coming, +1)
    for row in (view.nodes.rows_by_name[name] for name in names):
        name = view.nodes.names[row]
        stayed = [it for it in cluster.places if it not in leaving or it[1] != name]
        arrived = [it for it in coming if it[1] == name]
        rows = row_array([row])
        assert reasons(view, first, rows) == [moved(cluster, stayed, incoming, name)]
        assert reasons(view, second, rows) == [moved(cluster, stayed + arrived, incoming, name)]
    shift(plugin, second, view, coming, -1)
    shift(plugin, second, view, leaving, +1)
    assert reasons(view, second) == before == reasons(view, ready.state)


def shift(plugin: InterPodAffinity, state: Any, view: View, moves: list[tuple[Pod, str]], sign: int) -> None:
    keys = [f"{it.metadata.namespace}/{it.metadata.name}" for it, _ in moves]
    pod_rows = np.array([view.pods.rows_by_key[key] for key in keys], dtype=np.intp)
    node_rows = np.array([view.nodes.rows_by_name[where] for _, where in moves], dtype=np.intp)
    plugin.shift(state, view, pod_rows, node_rows, sign)


def moved(cluster: Cluster, places: list[tuple[Pod, str]], incoming: Pod, name: str) -> str:
    """What the oracle says of one node when exactly these pods run."""
    found = oracle_filter(incoming, Cluster(cluster.nodes, cluster.namespaces, places))
    return found[name] if found else ""
