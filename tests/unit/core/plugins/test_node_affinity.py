"""Node selectors and node affinity, the pod's own and the profile's."""

from __future__ import annotations

from typing import Any

import pytest
from tests.support.caches import cache_of, prepared, raw_and_normal_scores, verdicts

from bayplan.core.columns import row_array
from bayplan.core.framework.args import NodeAffinityArgs
from bayplan.core.framework.contract import Ready, Skip
from bayplan.core.framework.verdict import Code, CycleError, Status
from bayplan.core.plugins.node_affinity import REASON_CONFLICT, REASON_ENFORCED, REASON_POD, NodeAffinity
from bayplan.model.pod import NodeAffinity as NodeAffinitySpec
from bayplan.model.pod import (
    NodeSelector,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    PreferredSchedulingTerm,
)
from bayplan.model.selectors import SelectorError
from bayplan.testing.builders import NodeBuilder, node, node_term, pod
from bayplan.testing.pods import PodBuilder

EMPTY = NodeSelectorTerm()


def name_field(operator: str, *values: str, key: str = "metadata.name") -> NodeSelectorRequirement:
    return NodeSelectorRequirement(key=key, operator=operator, values=list(values))


def fields(*requirements: NodeSelectorRequirement, expressions: str = "") -> NodeSelectorTerm:
    return NodeSelectorTerm(match_expressions=node_term(expressions).match_expressions, match_fields=list(requirements))


def required(*terms: str | NodeSelectorTerm) -> PodBuilder:
    return pod("p").node_affinity(*terms)


def added(*terms: str, preferred: dict[str, int] | None = None) -> NodeAffinity:
    affinity = NodeAffinitySpec(
        required=NodeSelector(node_selector_terms=[node_term(text) for text in terms]) if terms else None,
        preferred=[
            PreferredSchedulingTerm(weight=weight, preference=node_term(text))
            for text, weight in (preferred or {}).items()
        ],
    )
    return NodeAffinity(NodeAffinityArgs(affinity))


SMALL = node("small").labels(size="s", cores="4", zone="a")
LARGE = node("large").labels(size="l", cores="16", zone="b")
ODD = node("odd").labels(cores="many")
NODES: list[NodeBuilder] = [SMALL, LARGE, ODD]


@pytest.mark.parametrize(
    ("incoming", "fitting"),
    [
        pytest.param(pod("p").node_selector(size="s"), "small", id="selector"),
        pytest.param(pod("p").node_selector(size="s", zone="b"), "", id="selector is a conjunction"),
        pytest.param(pod("p").node_selector(missing=""), "", id="absent key is not the empty value"),
        pytest.param(required("size in (s, m)"), "small", id="In"),
        pytest.param(required("size notin (s)"), "large odd", id="NotIn lets absent keys pass"),
        pytest.param(required("size"), "small large", id="Exists"),
        pytest.param(required("!size"), "odd", id="DoesNotExist"),
        pytest.param(required("cores > 4"), "large", id="Gt is strict and passes over text"),
        pytest.param(required("cores < 16"), "small", id="Lt is strict and passes over text"),
        pytest.param(required("zone=a", "zone=b"), "small large", id="terms are alternatives"),
        pytest.param(required("zone=a,size=l"), "", id="requirements of a term all hold"),
        pytest.param(required(), "", id="no terms at all"),
        pytest.param(required(EMPTY), "", id="empty term"),
        pytest.param(required(EMPTY, "zone=a"), "small", id="empty term beside another"),
        pytest.param(required("size in (s)").node_selector(zone="b"), "", id="selector and affinity"),
        pytest.param(required(fields(name_field("NotIn", "small"))), "large odd", id="field NotIn"),
        pytest.param(required(fields(name_field("In", "odd"))), "odd", id="field In"),
        pytest.param(required(fields(name_field("In", "odd"), expressions="size")), "", id="field and label"),
        pytest.param(required(fields(name_field("In", "odd", "small"))), "", id="field with two values"),
        pytest.param(required(fields(name_field("Exists"))), "", id="field with another operator"),
        pytest.param(required("cores > x", "zone=a"), "small", id="a term that does not parse"),
        pytest.param(
            required(NodeSelectorTerm(match_expressions=[name_field("Near", "a", key="zone")])), "", id="odd operator"
        ),
    ],
)
def test_filter(incoming: PodBuilder, fitting: str) -> None:
    """Node selector and required affinity both hold on the nodes that pass."""
    outcome = verdicts(NodeAffinity(), cache_of(*(item.obj() for item in NODES)), incoming.obj())
    assert {name for name, status in outcome.items() if status.ok} == set(fitting.split())
    for status in outcome.values():
        if not status.ok:
            assert status.code is Code.UNRESOLVABLE
            assert status.reasons == (REASON_POD,) == ("node(s) didn't match Pod's node affinity/selector",)


@pytest.mark.parametrize(
    ("incoming", "names"),
    [
        pytest.param(pod("p").node_selector(zone="a"), None, id="no terms"),
        pytest.param(required(), None, id="empty list of terms"),
        pytest.param(required("zone=a"), None, id="labels only"),
        pytest.param(required(fields(name_field("In", "x"))), {"x"}, id="one name, known or not"),
        pytest.param(required(fields(name_field("In", "x")), fields(name_field("In", "y"))), {"x", "y"}, id="union"),
        pytest.param(required(fields(name_field("In", "x")), "zone=a"), None, id="an alternative without a name"),
        pytest.param(required(fields(name_field("In", "x")), EMPTY), None, id="even an empty alternative"),
        pytest.param(required(fields(name_field("NotIn", "x"))), None, id="NotIn does not narrow"),
        pytest.param(
            required(fields(name_field("In", "x", "y"), name_field("In", "y", "z"))),
            {"y"},
            id="intersection within a term, though it does not parse",
        ),
        pytest.param(
            required(fields(name_field("In", "x"), name_field("NotIn", "x"))), {"x"}, id="NotIn beside In is left out"
        ),
    ],
)
def test_narrowing(incoming: PodBuilder, names: set[str] | None) -> None:
    """Alternatives that all name nodes leave only those worth looking at."""
    _, _, outcome = prepared(NodeAffinity(), cache_of(SMALL.obj()), incoming.obj())
    assert isinstance(outcome, Ready)
    assert outcome.nodes == names


@pytest.mark.parametrize(
    "terms",
    [
        [fields(name_field("In", "x"), name_field("In", "y"))],
        [fields(name_field("In", "x"), name_field("In", "y")), fields(name_field("In"))],
    ],
    ids=["one term", "every term"],
)
def test_names_that_contradict_each_other(terms: list[NodeSelectorTerm]) -> None:
    """The pod is turned away before any node is looked at."""
    _, _, outcome = prepared(NodeAffinity(), cache_of(SMALL.obj()), required(*terms).obj())
    assert outcome == Status(Code.UNRESOLVABLE, (REASON_CONFLICT,))
    assert REASON_CONFLICT == "pod affinity terms conflict"


@pytest.mark.parametrize(
    ("plugin", "incoming", "skipped"),
    [
        pytest.param(NodeAffinity(), pod("p"), True, id="nothing asked"),
        pytest.param(NodeAffinity(), pod("p").node_affinity("zone", weight=1), True, id="only preferred"),
        pytest.param(NodeAffinity(), pod("p").node_selector(a="b"), False, id="selector"),
        pytest.param(NodeAffinity(), required(), False, id="required without terms"),
        pytest.param(added("zone=a"), pod("p"), False, id="the profile asks"),
        pytest.param(added(preferred={"zone=a": 1}), pod("p"), True, id="the profile only prefers"),
    ],
)
def test_skips_filtering(plugin: NodeAffinity, incoming: PodBuilder, skipped: bool) -> None:
    """There is nothing to filter when neither pod nor profile require anything."""
    _, _, outcome = prepared(plugin, cache_of(SMALL.obj()), incoming.obj())
    assert isinstance(outcome, Skip) is skipped


def test_the_profile_speaks_first() -> None:
    """A node that fails both is reported as failing the profile's affinity; the profile's terms do not narrow."""
    plugin = added("zone=a")
    cache = cache_of(SMALL.obj(), LARGE.obj(), node("other-a").labels(zone="a").obj())
    outcome = verdicts(plugin, cache, pod("p").node_selector(size="s").obj())
    assert outcome["small"].ok
    assert outcome["large"].reasons == (REASON_ENFORCED,)
    assert REASON_ENFORCED == "node(s) didn't match scheduler-enforced node affinity"
    assert outcome["other-a"].reasons == (REASON_POD,)
    assert all(status.code is Code.UNRESOLVABLE for status in outcome.values() if not status.ok)


def test_an_added_selector_without_terms_matches_nothing() -> None:
    """The struct without terms is not the same as no struct."""
    plugin = NodeAffinity(NodeAffinityArgs(NodeAffinitySpec(required=NodeSelector())))
    outcome = verdicts(plugin, cache_of(SMALL.obj()), pod("p").obj())
    assert outcome["small"].reasons == (REASON_ENFORCED,)


def test_an_added_affinity_must_parse() -> None:
    """A profile cannot be built from an affinity that nobody could evaluate."""
    with pytest.raises(SelectorError, match="integer"):
        added("cores > x")


@pytest.mark.parametrize(
    ("plugin", "incoming", "raw", "normal"),
    [
        pytest.param(
            NodeAffinity(),
            pod("p").node_affinity("zone=a", weight=2).node_affinity("size", weight=5),
            {"small": 7, "large": 5, "odd": 0},
            {"small": 100, "large": 71, "odd": 0},
            id="weights add up",
        ),
        pytest.param(
            NodeAffinity(),
            pod("p").node_affinity("nowhere", weight=9),
            {"small": 0, "large": 0, "odd": 0},
            {"small": 0, "large": 0, "odd": 0},
            id="nothing matches",
        ),
        pytest.param(
            NodeAffinity(),
            pod("p")
            .node_affinity("cores > x", weight=0)
            .node_affinity(EMPTY, weight=3)
            .node_affinity("zone", weight=1),
            {"small": 1, "large": 1, "odd": 0},
            {"small": 100, "large": 100, "odd": 0},
            id="weight 0 and empty terms are passed over",
        ),
        pytest.param(
            NodeAffinity(),
            pod("p").node_affinity(fields(name_field("In", "odd")), weight=4),
            {"small": 0, "large": 0, "odd": 4},
            {"small": 0, "large": 0, "odd": 100},
            id="by name",
        ),
        pytest.param(
            added(preferred={"zone=b": 10}),
            pod("p").node_affinity("zone=a", weight=30),
            {"small": 30, "large": 10, "odd": 0},
            {"small": 100, "large": 33, "odd": 0},
            id="the profile's preferences count too",
        ),
        pytest.param(
            added(preferred={"zone=b": 10}),
            pod("p"),
            {"small": 0, "large": 10, "odd": 0},
            {"small": 0, "large": 100, "odd": 0},
            id="the profile's alone",
        ),
        pytest.param(
            added(preferred={"zone=b": 0}),
            pod("p"),
            {"small": 0, "large": 0, "odd": 0},
            {"small": 0, "large": 0, "odd": 0},
            id="a preference without weight still scores",
        ),
    ],
)
def test_score(plugin: NodeAffinity, incoming: PodBuilder, raw: dict[str, int], normal: dict[str, int]) -> None:
    """The weights of all matching preferences, scaled so that the best node gets 100."""
    cache = cache_of(*(item.obj() for item in NODES))
    assert raw_and_normal_scores(plugin, cache, incoming.obj()) == (raw, normal)


@pytest.mark.parametrize("incoming", [pod("p"), pod("p").node_selector(zone="a"), required("zone")])
def test_skips_scoring(incoming: PodBuilder) -> None:
    """Without preferences the plugin has no part in the totals."""
    assert raw_and_normal_scores(NodeAffinity(), cache_of(SMALL.obj()), incoming.obj()) is None


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        pytest.param(
            ["zone", "cores > x"],
            '[1].matchExpressions[0].values[0]: Invalid value: "x": '
            "for 'Gt', 'Lt' operators, the value must be an integer",
            id="one",
        ),
        pytest.param(
            ["cores > x", "cores < y"],
            '[[0].matchExpressions[0].values[0]: Invalid value: "x": '
            "for 'Gt', 'Lt' operators, the value must be an integer, "
            '[1].matchExpressions[0].values[0]: Invalid value: "y": '
            "for 'Gt', 'Lt' operators, the value must be an integer]",
            id="two",
        ),
        pytest.param(
            ["gen>x,gen>y"],
            '[[0].matchExpressions[0].values[0]: Invalid value: "x": '
            "for 'Gt', 'Lt' operators, the value must be an integer, "
            '[0].matchExpressions[1].values[0]: Invalid value: "y": '
            "for 'Gt', 'Lt' operators, the value must be an integer]",
            id="two in one term",
        ),
    ],
)
def test_a_preference_that_does_not_parse_ends_the_attempt(texts: list[str], message: str) -> None:
    """Unlike a required term, it says that the pod itself is wrong."""
    incoming = pod("p").node_affinity(*texts, weight=1)
    with pytest.raises(CycleError) as caught:
        raw_and_normal_scores(NodeAffinity(), cache_of(SMALL.obj()), incoming.obj())
    assert (caught.value.plugin, caught.value.message) == ("NodeAffinity", message)


def test_works_without_its_preparing_steps() -> None:
    """A profile that leaves them out hands over the pod itself."""
    plugin: Any = NodeAffinity()
    cache = cache_of(*(item.obj() for item in NODES))
    info = cache.info(required("zone=a").node_affinity("size=s", weight=3).obj())
    rows = row_array([2, 0])
    assert plugin.filter(plugin.unprepared(info, cache.view()), cache.view(), rows).tolist() == [2, 0]
    assert plugin.score(info, cache.view(), rows).tolist() == [0, 3]


def test_relabeling_a_node_changes_the_answer() -> None:
    """What was remembered of a selector ends with the node that changed."""
    plugin = NodeAffinity()
    cache = cache_of(SMALL.obj(), LARGE.obj())
    incoming = required("zone=a").obj()
    assert verdicts(plugin, cache, incoming)["small"].ok
    cache.add(node("small").labels(zone="b").obj())
    cache.add(node("large").labels(zone="a").obj())
    outcome = verdicts(plugin, cache, incoming)
    assert {name for name, status in outcome.items() if status.ok} == {"large"}
