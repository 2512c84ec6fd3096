"""NodeAffinity by masks against one node and one requirement at a time.

The cluster changes between two questions, so that masks remembered too long would show.
"""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st
from tests.support.caches import prepared, raw_and_normal_scores, verdicts

from bayplan.config.feature_gates import DEFAULT_GATES
from bayplan.core.cache import Cache
from bayplan.core.columns import row_array
from bayplan.core.framework.args import NodeAffinityArgs
from bayplan.core.framework.contract import Ready, Skip
from bayplan.core.framework.verdict import Status
from bayplan.core.plugins.node_affinity import REASON_CONFLICT, REASON_ENFORCED, REASON_POD, NodeAffinity
from bayplan.model.node import Node
from bayplan.model.pod import Affinity, NodeSelector, NodeSelectorRequirement, NodeSelectorTerm, Pod
from bayplan.model.pod import NodeAffinity as NodeAffinitySpec
from bayplan.model.pod import PreferredSchedulingTerm as Preferred
from bayplan.testing.builders import node, pod

KEYS = st.sampled_from(["x", "y"])
VALUES = st.sampled_from(["", "1", "2", "03", "a"])
NAMES = ["n0", "n1", "n2"]

NEEDS_VALUES = st.builds(
    NodeSelectorRequirement,
    key=KEYS,
    operator=st.sampled_from(["In", "NotIn"]),
    values=st.lists(VALUES, min_size=1, max_size=2),
)
NEEDS_NONE = st.builds(NodeSelectorRequirement, key=KEYS, operator=st.sampled_from(["Exists", "DoesNotExist"]))
NEEDS_A_NUMBER = st.builds(
    NodeSelectorRequirement,
    key=KEYS,
    operator=st.sampled_from(["Gt", "Lt"]),
    values=st.lists(st.sampled_from(["0", "1", "002", "3"]), min_size=1, max_size=1),
)
VALID = st.one_of(NEEDS_VALUES, NEEDS_NONE, NEEDS_A_NUMBER)
INVALID = st.sampled_from(
    [
        NodeSelectorRequirement(key="x", operator="In"),
        NodeSelectorRequirement(key="x", operator="Exists", values=["1"]),
        NodeSelectorRequirement(key="x", operator="Gt", values=["a"]),
        NodeSelectorRequirement(key="x", operator="Lt", values=["1", "2"]),
        NodeSelectorRequirement(key="x", operator="Near", values=["1"]),
        NodeSelectorRequirement(key="not a key", operator="Exists"),
        NodeSelectorRequirement(key="x", operator="In", values=["not a value"]),
    ]
)
FIELDS = st.builds(
    NodeSelectorRequirement,
    key=st.just("metadata.name"),
    operator=st.sampled_from(["In", "In", "NotIn"]),
    values=st.lists(st.sampled_from([*NAMES, "elsewhere"]), min_size=1, max_size=1),
)
# The API server refuses them; a configuration may have them. No node has a value there.
OTHER_FIELDS = st.builds(
    NodeSelectorRequirement,
    key=st.sampled_from(["metadata.namespace", "name"]),
    operator=st.sampled_from(["In", "NotIn"]),
    values=st.lists(st.sampled_from([*NAMES, ""]), min_size=1, max_size=1),
)
INVALID_FIELDS = st.builds(
    NodeSelectorRequirement,
    key=st.just("metadata.name"),
    operator=st.sampled_from(["In", "Exists"]),
    values=st.lists(st.sampled_from(NAMES), min_size=2, max_size=2),
)


def terms(
    labels: st.SearchStrategy[NodeSelectorRequirement], fields: st.SearchStrategy[NodeSelectorRequirement]
) -> st.SearchStrategy[NodeSelectorTerm]:
    return st.builds(
        NodeSelectorTerm, match_expressions=st.lists(labels, max_size=2), match_fields=st.lists(fields, max_size=2)
    )


VALID_TERMS = terms(VALID, st.one_of(FIELDS, FIELDS, OTHER_FIELDS))
ANY_TERMS = terms(st.one_of(VALID, VALID, VALID, INVALID), st.one_of(FIELDS, FIELDS, OTHER_FIELDS, INVALID_FIELDS))
PREFERRED = st.lists(st.builds(Preferred, weight=st.integers(0, 100), preference=VALID_TERMS), max_size=2)


def affinities(strategy: st.SearchStrategy[NodeSelectorTerm]) -> st.SearchStrategy[NodeAffinitySpec]:
    selectors = st.builds(NodeSelector, node_selector_terms=st.lists(strategy, max_size=2))
    return st.builds(NodeAffinitySpec, required=st.none() | selectors, preferred=PREFERRED)


LABELS = st.dictionaries(KEYS, VALUES | st.sampled_from(["-1", "+5", "9223372036854775808"]))
CLUSTERS = st.dictionaries(st.sampled_from(NAMES), LABELS, min_size=1)


@st.composite
def pods(draw: st.DrawFn) -> Pod:
    made = pod("p").obj()
    made.spec.node_selector = draw(st.just({}) | LABELS)
    made.spec.affinity = draw(st.none() | st.builds(Affinity, node_affinity=st.none() | affinities(ANY_TERMS)))
    return made


# ---------------------------------------------------------------- the oracle


def number(text: str) -> int | None:
    parsed = int(text) if re.fullmatch(r"[+-]?[0-9]+", text) else None
    return parsed if parsed is not None and abs(parsed) < 2**63 else None


def parses(item: NodeSelectorRequirement) -> bool:
    if item.key not in ("x", "y") or "not a value" in item.values:
        return False
    if item.operator in ("In", "NotIn"):
        return bool(item.values)
    if item.operator in ("Gt", "Lt"):
        return len(item.values) == 1 and number(item.values[0]) is not None
    return item.operator in ("Exists", "DoesNotExist") and not item.values


def field_parses(item: NodeSelectorRequirement) -> bool:
    return item.operator in ("In", "NotIn") and len(item.values) == 1


def label_holds(item: NodeSelectorRequirement, labels: dict[str, str]) -> bool:
    present, value = item.key in labels, labels.get(item.key, "")
    if item.operator == "In":
        return present and value in item.values
    if item.operator == "NotIn":
        return not (present and value in item.values)
    if item.operator == "Exists":
        return present
    if item.operator == "DoesNotExist":
        return not present
    have, bound = number(value), number(item.values[0])
    assert bound is not None
    if not present or have is None:
        return False
    return have > bound if item.operator == "Gt" else have < bound


def term_matches(term: NodeSelectorTerm, target: Node) -> bool:
    if not term.match_expressions and not term.match_fields:
        return False
    if not all(map(parses, term.match_expressions)) or not all(map(field_parses, term.match_fields)):
        return False
    if not all(label_holds(item, target.metadata.labels) for item in term.match_expressions):
        return False
    return all((field_of(target, item.key) in item.values) == (item.operator == "In") for item in term.match_fields)


def field_of(target: Node, key: str) -> str:
    return target.metadata.name if key == "metadata.name" else ""


def pod_affinity(incoming: Pod) -> NodeAffinitySpec:
    affinity = incoming.spec.affinity
    return (affinity.node_affinity if affinity else None) or NodeAffinitySpec()


def selector_matches(selector: NodeSelector | None, target: Node) -> bool:
    return selector is None or any(term_matches(term, target) for term in selector.node_selector_terms)


def expected_reason(incoming: Pod, added: NodeAffinitySpec, target: Node) -> str:
    if not selector_matches(added.required, target):
        return REASON_ENFORCED
    labels = target.metadata.labels
    if any(labels.get(key) != value for key, value in incoming.spec.node_selector.items()):
        return REASON_POD
    return "" if selector_matches(pod_affinity(incoming).required, target) else REASON_POD


def expected_names(incoming: Pod) -> set[str] | None:
    required = pod_affinity(incoming).required
    if required is None or not required.node_selector_terms:
        return None
    names: set[str] = set()
    for term in required.node_selector_terms:
        by_name = [item for item in term.match_fields if item.key == "metadata.name" and item.operator == "In"]
        named = [set(item.values) for item in by_name]
        if not named:
            return None
        names |= set.intersection(*named)
    return names


def expected_scores(incoming: Pod, added: NodeAffinitySpec, nodes: list[Node]) -> dict[str, int]:
    preferred = [*added.preferred, *pod_affinity(incoming).preferred]
    return {
        target.metadata.name: sum(item.weight for item in preferred if term_matches(item.preference, target))
        for target in nodes
    }


# ---------------------------------------------------------------- the comparison


@given(CLUSTERS, CLUSTERS, st.sets(st.sampled_from(NAMES)), pods(), affinities(VALID_TERMS) | st.none())
def test_agrees_with_the_oracle(
    before: dict[str, dict[str, str]],
    after: dict[str, dict[str, str]],
    leaving: set[str],
    incoming: Pod,
    added: NodeAffinitySpec | None,
) -> None:
    """Verdicts, narrowing and scores, before and after nodes came, changed and went."""
    cache = Cache(gates=DEFAULT_GATES)
    cache.add(pod("early").node("n2").obj())  # a ghost until the node comes, and again when it leaves
    plugin, enforced = NodeAffinity(NodeAffinityArgs(added)), added or NodeAffinitySpec()
    nodes: dict[str, Node] = {}
    for name, labels in before.items():
        nodes[name] = node(name).labels(labels).obj()
        cache.add(nodes[name])
    check(cache, list(nodes.values()), plugin, enforced, incoming)
    for name, labels in after.items():
        nodes[name] = node(name).labels(labels).obj()
        cache.add(nodes[name])
    for name in sorted(leaving & nodes.keys()):
        del nodes[name]
        cache.remove_node(name)
    check(cache, list(nodes.values()), plugin, enforced, incoming)


def check(cache: Cache, nodes: list[Node], plugin: NodeAffinity, added: NodeAffinitySpec, incoming: Pod) -> None:
    check_filter(cache, nodes, plugin, added, incoming)
    if nodes:
        check_scores(cache, nodes, plugin, added, incoming)


def check_filter(cache: Cache, nodes: list[Node], plugin: NodeAffinity, added: NodeAffinitySpec, incoming: Pod) -> None:
    _, view, outcome = prepared(plugin, cache, incoming)
    names = expected_names(incoming)
    if names is not None and not names:
        assert isinstance(outcome, Status)
        assert outcome.reasons == (REASON_CONFLICT,)
        return
    reasons = {target.metadata.name: expected_reason(incoming, added, target) for target in nodes}
    if isinstance(outcome, Skip):
        assert names is None
        assert not any(reasons.values())
        return
    assert isinstance(outcome, Ready)
    assert outcome.nodes == names
    assert {name: status.message for name, status in verdicts(plugin, cache, incoming).items()} == reasons
    rows = row_array([view.nodes.rows_by_name[name] for name in reversed(reasons)])
    some = plugin.filter(outcome.state, view, rows)
    assert [bool(code) for code in some] == [bool(reasons[name]) for name in reversed(reasons)]


def check_scores(cache: Cache, nodes: list[Node], plugin: NodeAffinity, added: NodeAffinitySpec, incoming: Pod) -> None:
    scored = raw_and_normal_scores(plugin, cache, incoming)
    expected = expected_scores(incoming, added, nodes)
    if scored is None:
        assert not added.preferred
        assert not pod_affinity(incoming).preferred
        return
    best = max(expected.values())
    assert scored[0] == expected
    assert scored[1] == {name: 100 * score // best if best else 0 for name, score in expected.items()}
