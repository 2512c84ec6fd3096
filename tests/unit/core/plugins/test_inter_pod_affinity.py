"""InterPodAffinity: required terms, preferred terms, and pods that come and go in what-if worlds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.support.caches import cache_of, prepared, raw_and_normal_scores, verdicts

from bayplan.config.feature_gates import DEFAULT_GATES
from bayplan.core.cache import Cache
from bayplan.core.columns import row_array
from bayplan.core.framework.args import InterPodAffinityArgs
from bayplan.core.framework.contract import SKIP, Ready
from bayplan.core.framework.verdict import Code, CycleError, Status
from bayplan.core.plugins.inter_pod_affinity import InterPodAffinity
from bayplan.core.plugins.inter_pod_affinity.scoring import normal_scores
from bayplan.core.snapshot import View
from bayplan.model.kinds import Object
from bayplan.model.meta import LabelSelector
from bayplan.model.node import Node
from bayplan.model.pod import Pod
from bayplan.testing.builders import namespace, node, pod
from bayplan.testing.pods import PodBuilder

ZONE, HOST, RACK = "topology.kubernetes.io/zone", "kubernetes.io/hostname", "rack"

AFFINITY = "node(s) didn't match pod affinity rules"
ANTI_AFFINITY = "node(s) didn't match pod anti-affinity rules"
EXISTING = "node(s) didn't satisfy existing pods anti-affinity rules"
PASSES = ""

#: Two nodes in zone a, one in zone b, one in none.
NODES: tuple[Node, ...] = (
    node("a1").zone("a").obj(),
    node("a2").zone("a").obj(),
    node("b1").zone("b").obj(),
    node("x1").obj(),
)
NAMESPACES = (namespace("red").labels(team="red").obj(), namespace("blue").labels(team="blue").obj())
WEB = {"app": "web"}
LONG = "x" * 64
TOO_LONG = f'values[0][app]: Invalid value: "{LONG}": must be no more than 63 bytes'


def messages(*objects: Object, incoming: Pod, nodes: tuple[Node, ...] = NODES) -> dict[str, str]:
    found = verdicts(InterPodAffinity(gates=DEFAULT_GATES), cache_of(*nodes, *objects), incoming)
    return {name: status.message for name, status in found.items()}


def scores(
    *objects: Object, incoming: Pod, args: InterPodAffinityArgs | None = None, nodes: tuple[Node, ...] = NODES
) -> list[int] | None:
    """Raw scores in the order of the nodes; None when the plugin skips."""
    plugin = InterPodAffinity(args, gates=DEFAULT_GATES) if args else InterPodAffinity(gates=DEFAULT_GATES)
    found = raw_and_normal_scores(plugin, cache_of(*nodes, *objects), incoming)
    return list(found[0].values()) if found else None


def web(name: str, on: str, space: str = "default") -> Pod:
    return pod(name, space).labels(WEB).node(on).obj()


class TestAffinity:
    def test_whole_domain_of_a_matching_pod(self) -> None:
        """All nodes of the zone pass; other zones and nodes without the key do not."""
        found = messages(web("w", "a1"), incoming=pod("p").pod_affinity(ZONE, WEB).obj())
        assert found == {"a1": PASSES, "a2": PASSES, "b1": AFFINITY, "x1": AFFINITY}

    def test_is_unresolvable(self) -> None:
        """Removing pods brings none near."""
        found = verdicts(
            InterPodAffinity(gates=DEFAULT_GATES), cache_of(*NODES), pod("p").pod_affinity(ZONE, WEB).obj()
        )
        assert found["a1"] == Status(Code.UNRESOLVABLE, (AFFINITY,))

    def test_one_pod_must_meet_all_terms(self) -> None:
        """Two pods that meet one term each do not make up for one that meets both."""
        incoming = pod("p").pod_affinity(ZONE, "app=web").pod_affinity(ZONE, "tier=front").obj()
        halves = (web("w", "a1"), pod("f").labels(tier="front").node("a1").obj())
        assert messages(*halves, incoming=incoming)["a1"] == AFFINITY
        whole = pod("both").labels(app="web", tier="front").node("b1").obj()
        assert messages(*halves, whole, incoming=incoming)["b1"] == PASSES

    def test_first_of_its_kind_goes_where_the_keys_are(self) -> None:
        """A pod that meets its own terms starts anywhere with the key while no pod meets them."""
        incoming = pod("p").labels(WEB).pod_affinity(ZONE, WEB).obj()
        assert messages(incoming=incoming) == {"a1": PASSES, "a2": PASSES, "b1": PASSES, "x1": AFFINITY}

    def test_not_the_first_when_a_pod_is_known(self) -> None:
        """One pod that meets the terms, and the others must come to it."""
        incoming = pod("p").labels(WEB).pod_affinity(ZONE, WEB).obj()
        assert messages(web("w", "b1"), incoming=incoming)["a1"] == AFFINITY

    @pytest.mark.parametrize("where", ["x1", "gone"], ids=["node-without-key", "unknown-node"])
    def test_pods_in_no_domain_are_not_there(self, where: str) -> None:
        """A matching pod on a node without the key, or on no known node, leaves the first one its freedom."""
        incoming = pod("p").labels(WEB).pod_affinity(ZONE, WEB).obj()
        assert messages(web("w", where), incoming=incoming)["a1"] == PASSES

    def test_one_key_of_two_is_enough_to_be_known(self) -> None:
        """A pod on a node with only one of the keys makes the counts not empty."""
        incoming = pod("p").labels(WEB).pod_affinity(ZONE, WEB).pod_affinity(HOST, WEB).obj()
        assert messages(web("w", "x1"), incoming=incoming)["a1"] == AFFINITY

    def test_terminating_pods_count(self) -> None:
        """A pod on its way out is still near."""
        leaving = web("w", "a1")
        leaving.metadata.deletion_timestamp = "2026-01-01T00:00:00Z"
        assert messages(leaving, incoming=pod("p").pod_affinity(ZONE, WEB).obj())["a2"] == PASSES


class TestAntiAffinity:
    def test_whole_domain_is_barred(self) -> None:
        """No node of the zone will do; a node without the key always does."""
        found = messages(web("w", "a1"), incoming=pod("p").pod_anti_affinity(ZONE, WEB).obj())
        assert found == {"a1": ANTI_AFFINITY, "a2": ANTI_AFFINITY, "b1": PASSES, "x1": PASSES}

    def test_any_term_bars(self) -> None:
        """Anti-affinity terms count each for itself."""
        incoming = pod("p").pod_anti_affinity(ZONE, "app=web").pod_anti_affinity(HOST, "app=db").obj()
        found = messages(web("w", "a1"), pod("d").labels(app="db").node("b1").obj(), incoming=incoming)
        assert found == {"a1": ANTI_AFFINITY, "a2": ANTI_AFFINITY, "b1": ANTI_AFFINITY, "x1": PASSES}

    def test_running_pods_keep_others_away(self) -> None:
        """A running pod's required anti-affinity bars its domain for pods it means."""
        guard = pod("g").pod_anti_affinity(ZONE, WEB).node("b1").obj()
        found = messages(guard, incoming=pod("p").labels(WEB).obj())
        assert found == {"a1": PASSES, "a2": PASSES, "b1": EXISTING, "x1": PASSES}

    @pytest.mark.parametrize("reason", [ANTI_AFFINITY, EXISTING], ids=["own", "existing"])
    def test_is_resolvable(self, reason: str) -> None:
        """Preemption may help against both kinds."""
        term_of_guard = reason == EXISTING
        guard, incoming = pod("g").labels(WEB).node("a1"), pod("p").labels(WEB)
        (guard if term_of_guard else incoming).pod_anti_affinity(ZONE, WEB)
        found = verdicts(InterPodAffinity(gates=DEFAULT_GATES), cache_of(*NODES, guard.obj()), incoming.obj())
        assert found["a1"] == Status(Code.UNSCHEDULABLE, (reason,))

    def test_order_of_the_rules(self) -> None:
        """The pod's affinity speaks before its anti-affinity, and that before the running pods' one."""
        guard = pod("g").labels(WEB).pod_anti_affinity(ZONE, WEB).node("a1").obj()
        incoming = pod("p").labels(WEB).pod_anti_affinity(ZONE, WEB)
        assert messages(guard, incoming=incoming.obj())["a1"] == ANTI_AFFINITY
        assert messages(guard, incoming=incoming.pod_affinity(ZONE, "app=db").obj())["a1"] == AFFINITY


class TestNamespaces:
    @pytest.mark.parametrize(
        ("term", "reached"),
        [
            pytest.param({}, {"blue"}, id="own-namespace-by-default"),
            pytest.param({"namespaces": ["red"]}, {"red"}, id="named"),
            pytest.param({"namespace_selector": "team=red"}, {"red"}, id="selected"),
            pytest.param({"namespaces": ["blue"], "namespace_selector": "team=red"}, {"red", "blue"}, id="both"),
            pytest.param({"namespace_selector": ""}, {"red", "blue", "unknown"}, id="every-one"),
            pytest.param({"namespace_selector": "team=green"}, set(), id="none"),
            pytest.param(
                {"namespace_selector": "team!=red"},
                {"red", "blue", "unknown"},
                id="selector-met-by-no-labels-reaches-every-one",
            ),
        ],
    )
    def test_terms_of_the_incoming_pod(self, term: dict[str, Any], reached: set[str]) -> None:
        """The names a namespace selector stands for are added to those the term lists."""
        incoming = pod("p", "blue").pod_anti_affinity(ZONE, WEB, **term).obj()
        barred = {
            space
            for space in ("red", "blue", "unknown")
            if messages(*NAMESPACES, web("w", "a1", space), incoming=incoming)["a1"]
        }
        assert barred == reached

    @pytest.mark.parametrize(
        ("term", "reached"),
        [
            pytest.param({}, {"blue"}, id="own-namespace-by-default"),
            pytest.param({"namespaces": ["red"]}, {"red"}, id="named"),
            pytest.param({"namespace_selector": "team=red"}, {"red"}, id="selected"),
            pytest.param({"namespace_selector": ""}, {"red", "blue", "unknown"}, id="every-one"),
            pytest.param({"namespace_selector": "team!=red"}, {"blue", "unknown"}, id="unknown-has-no-labels"),
        ],
    )
    def test_terms_of_running_pods(self, term: dict[str, Any], reached: set[str]) -> None:
        """A running pod's namespace selector is tested on the labels of the incoming pod's namespace."""
        guard = pod("g", "blue").pod_anti_affinity(ZONE, WEB, **term).node("a1").obj()
        barred = {
            space
            for space in ("red", "blue", "unknown")
            if messages(*NAMESPACES, guard, incoming=pod("p", space).labels(WEB).obj()).get("a1")
        }
        assert barred == reached


class TestPreFilter:
    @pytest.mark.parametrize(
        "running",
        [
            pytest.param((), id="nothing-runs"),
            pytest.param((pod("g").pod_anti_affinity(ZONE, "app=db").node("a1").obj(),), id="others-meant"),
            pytest.param((pod("g").pod_anti_affinity(ZONE, WEB).node("x1").obj(),), id="in-no-domain"),
            pytest.param((pod("g").pod_anti_affinity(ZONE, WEB, weight=1).node("a1").obj(),), id="preferred"),
        ],
    )
    def test_skips_without_rules(self, running: tuple[Pod, ...]) -> None:
        """No required terms, and no running pod with something against the pod in any domain."""
        *_, outcome = prepared(
            InterPodAffinity(gates=DEFAULT_GATES), cache_of(*NODES, *running), pod("p").labels(WEB).obj()
        )
        assert outcome is SKIP

    @pytest.mark.parametrize(
        ("incoming", "message"),
        [
            pytest.param(
                pod("p").pod_affinity(ZONE, {"app": LONG}).pod_anti_affinity(ZONE, WEB),
                f"parsing pod: requiredAffinityTerms: {TOO_LONG}",
                id="required",
            ),
            pytest.param(
                pod("p").pod_anti_affinity(ZONE, {"app": LONG}, weight=1),
                f"parsing pod: preferredAntiAffinityTerms: {TOO_LONG}",
                id="preferred-anti",
            ),
            pytest.param(
                pod("p").pod_anti_affinity(ZONE, {"app": LONG}).pod_affinity(ZONE, {"app": LONG}, weight=1),
                f"parsing pod: [requiredAntiAffinityTerms: {TOO_LONG}, preferredAffinityTerms: {TOO_LONG}]",
                id="two-kinds",
            ),
            pytest.param(
                pod("p").pod_affinity(
                    ZONE, {"app": LONG}, namespace_selector=LabelSelector(match_labels={"team": "not one"})
                ),
                f"parsing pod: requiredAffinityTerms: {TOO_LONG}",
                id="both-selectors-of-a-term",
            ),
        ],
    )
    def test_invalid_selector(self, incoming: PodBuilder, message: str) -> None:
        """A term that does not parse, of whatever kind, rejects the pod everywhere."""
        found = verdicts(InterPodAffinity(gates=DEFAULT_GATES), cache_of(*NODES), incoming.obj())
        assert (found["*"].code, found["*"].message) == (Code.UNRESOLVABLE, message)

    def test_only_the_rows_asked_for(self) -> None:
        """Codes come for the given rows, in their order."""
        cache = cache_of(*NODES, web("w", "a1"))
        _, view, outcome = prepared(
            InterPodAffinity(gates=DEFAULT_GATES), cache, pod("p").pod_affinity(ZONE, WEB).obj()
        )
        codes = InterPodAffinity(gates=DEFAULT_GATES).filter(outcome.state, view, row_array([2, 0]))
        assert [bool(code) for code in codes] == [True, False]


class TestScore:
    def test_own_preferences(self) -> None:
        """Each pod that meets a preferred term adds its weight to the whole domain, or takes it away."""
        incoming = pod("p").pod_affinity(ZONE, WEB, weight=5).pod_anti_affinity(HOST, WEB, weight=2).obj()
        assert scores(web("w1", "a1"), web("w2", "b1"), incoming=incoming) == [3, 5, 3, 0]

    def test_preferences_of_running_pods(self) -> None:
        """Running pods' preferred terms count for pods they mean."""
        liker = pod("l").pod_affinity(ZONE, WEB, weight=9).node("a1").obj()
        hater = pod("h").pod_anti_affinity(HOST, WEB, weight=4).node("a2").obj()
        assert scores(liker, hater, incoming=pod("p").labels(WEB).obj()) == [9, 5, 0, 0]

    @pytest.mark.parametrize(("weight", "expected"), [(1, [1, 1, 0, 0]), (70, [70, 70, 0, 0]), (0, None)])
    def test_required_affinity_of_running_pods(self, weight: int, expected: list[int] | None) -> None:
        """It counts with the configured weight; weight 0 makes no entry at all."""
        fan = pod("f").pod_affinity(ZONE, WEB).node("a1").obj()
        args = InterPodAffinityArgs(hard_pod_affinity_weight=weight)
        assert scores(fan, incoming=pod("p").labels(WEB).obj(), args=args) == expected

    def test_a_running_pod_loses_only_the_kind_of_term_that_does_not_parse(self) -> None:
        """Its other terms still count."""
        fan = pod("f").pod_affinity(ZONE, WEB, weight=9).pod_affinity(ZONE, {"app": LONG}).node("a1").obj()
        assert scores(fan, incoming=pod("p").labels(WEB).obj()) == [9, 9, 0, 0]

    def test_required_anti_affinity_scores_nothing(self) -> None:
        """Only filtering looks at it."""
        guard = pod("g").pod_anti_affinity(ZONE, WEB).node("a1").obj()
        assert scores(guard, incoming=pod("p").labels(WEB).obj()) is None

    def test_existing_preferences_ignored_for_pods_without_any(self) -> None:
        """With the option set they count only for pods that have preferences themselves."""
        liker = pod("l").labels(WEB).pod_affinity(ZONE, WEB, weight=9).node("a1").obj()
        args = InterPodAffinityArgs(ignore_preferred_terms_of_existing_pods=True)
        assert scores(liker, incoming=pod("p").labels(WEB).obj(), args=args) is None
        picky = pod("p").labels(WEB).pod_affinity(HOST, WEB, weight=1).obj()
        assert scores(liker, incoming=picky, args=args) == [10, 9, 0, 0]

    def test_entries_that_cancel_out_do_not_skip(self) -> None:
        """A sum of 0 is a score, where no entry at all is none."""
        both = pod("p").pod_affinity(ZONE, WEB, weight=3).pod_anti_affinity(ZONE, WEB, weight=3).obj()
        assert scores(web("w", "a1"), incoming=both) == [0, 0, 0, 0]
        assert scores(web("w", "x1"), incoming=both) is None

    def test_pods_that_carry_a_term_twice_count_twice(self) -> None:
        """Equal terms of one pod add up."""
        liker = pod("l").pod_affinity(ZONE, WEB, weight=9).pod_affinity(ZONE, WEB, weight=9).node("b1").obj()
        assert scores(liker, incoming=pod("p").labels(WEB).obj()) == [0, 0, 18, 0]

    @pytest.mark.parametrize(
        ("raw", "expected"),
        [
            pytest.param([-5, 0, 10, 3], [0, 33, 100, 53], id="truncated"),
            pytest.param([7, 7, 7], [0, 0, 0], id="all-equal"),
            pytest.param([0, 29, 57, 58, 100], [0, 28, 56, 57, 100], id="as-float64-has-it"),
            pytest.param([4], [0], id="one-node"),
        ],
    )
    def test_normalize(self, raw: list[int], expected: list[int]) -> None:
        """The lowest becomes 0 and the highest 100."""
        assert normal_scores(np.array(raw, dtype=np.int64)).tolist() == expected

    def test_invalid_selector(self) -> None:
        """Where PreFilter is switched off a term that does not parse ends the attempt."""
        with pytest.raises(CycleError, match="failed to parse pod: "):
            scores(incoming=pod("p").pod_affinity(ZONE, "app=not?valid", weight=1).obj())


class Worlds:
    """A pod prepared on a cluster, and pods moved in what-if worlds."""

    def __init__(self, cache: Cache, incoming: Pod) -> None:
        self.plugin = InterPodAffinity(gates=DEFAULT_GATES)
        _, self.view, outcome = prepared(self.plugin, cache, incoming)
        assert isinstance(outcome, Ready)
        self.unshifted = outcome.state
        self.state = self.plugin.fork(outcome.state, self.view)

    def shift(self, sign: int, **places: str) -> None:
        rows, nodes = self.view.pods.rows_by_key, self.view.nodes.rows_by_name
        pod_rows = row_array([rows[f"default/{name}"] for name in places])
        node_rows = row_array([nodes[where] for where in places.values()])
        self.plugin.shift(self.state, self.view, pod_rows, node_rows, sign)

    def messages(self) -> dict[str, str]:
        return self._messages(self.view, self.state)

    def unshifted_messages(self) -> dict[str, str]:
        return self._messages(self.view, self.unshifted)

    def _messages(self, view: View, state: Any) -> dict[str, str]:
        codes = self.plugin.filter(state, view, slice(None)).tolist()
        return {
            name: self.plugin.explain_failure(state, view, codes[row]).message if codes[row] else PASSES
            for name, row in view.nodes.rows_by_name.items()
        }


class TestWhatIf:
    def test_each_node_in_its_own_world(self) -> None:
        """A pod gone from its node frees that node alone, though the whole zone was barred."""
        incoming = pod("p").pod_anti_affinity(ZONE, WEB).obj()
        worlds = Worlds(cache_of(*NODES, web("w", "a1")), incoming)
        worlds.shift(-1, w="a1")
        assert worlds.messages() == {"a1": PASSES, "a2": ANTI_AFFINITY, "b1": PASSES, "x1": PASSES}
        assert worlds.unshifted_messages()["a1"] == ANTI_AFFINITY

    def test_other_pods_of_the_domain_still_bar(self) -> None:
        """Removing one node's pods does not remove those of its zone."""
        incoming = pod("p").pod_anti_affinity(ZONE, WEB).obj()
        worlds = Worlds(cache_of(*NODES, web("w1", "a1"), web("w2", "a2")), incoming)
        worlds.shift(-1, w1="a1", w2="a2")
        assert worlds.messages()["a1"] == worlds.messages()["a2"] == ANTI_AFFINITY

    def test_last_friend_gone(self) -> None:
        """In the world where the only pod to be near to is gone, the pod is the first of its kind again."""
        incoming = pod("p").labels(WEB).pod_affinity(ZONE, WEB).obj()
        worlds = Worlds(cache_of(*NODES, web("w", "b1")), incoming)
        worlds.shift(-1, w="b1")
        assert worlds.messages() == {"a1": AFFINITY, "a2": AFFINITY, "b1": PASSES, "x1": AFFINITY}

    def test_friend_comes(self) -> None:
        """A nominated pod on the node is near in that node's world."""
        cache = cache_of(*NODES, pod("w").labels(WEB).nominated("a1").obj())
        worlds = Worlds(cache, pod("p").pod_affinity(ZONE, WEB).obj())
        worlds.shift(+1, w="a1")
        assert worlds.messages() == {"a1": PASSES, "a2": AFFINITY, "b1": AFFINITY, "x1": AFFINITY}

    def test_nominated_pod_brings_a_key_nobody_counted_under(self) -> None:
        """Its required anti-affinity counts, though no running pod has a term with that key."""
        guard = pod("g").pod_anti_affinity(RACK, WEB).nominated("r1").obj()
        cache = cache_of(*NODES, node("r1").label(RACK, "r").obj(), guard)
        worlds = Worlds(cache, pod("p").labels(WEB).pod_anti_affinity(ZONE, "app=db").obj())
        assert worlds.messages()["r1"] == PASSES
        worlds.shift(+1, g="r1")
        assert worlds.messages()["r1"] == EXISTING

    def test_comes_and_goes_several_times(self) -> None:
        """What came can leave again, and a node may be named more than once in a call."""
        guards = [pod(name).pod_anti_affinity(HOST, WEB).node("a1").obj() for name in ("g1", "g2")]
        worlds = Worlds(cache_of(*NODES, *guards), pod("p").labels(WEB).obj())
        worlds.shift(-1, g1="a1", g2="a1")
        assert worlds.messages()["a1"] == PASSES
        worlds.shift(+1, g2="a1")
        assert worlds.messages()["a1"] == EXISTING

    def test_forks_are_independent(self) -> None:
        """A fork starts from the shifted state and does not change it."""
        worlds = Worlds(cache_of(*NODES, web("w", "a1")), pod("p").pod_anti_affinity(HOST, WEB).obj())
        worlds.shift(-1, w="a1")
        parent, worlds.state = worlds.state, worlds.plugin.fork(worlds.state, worlds.view)
        assert worlds.messages()["a1"] == PASSES
        worlds.shift(+1, w="a1")
        assert worlds.messages()["a1"] == ANTI_AFFINITY
        worlds.state = parent
        assert worlds.messages()["a1"] == PASSES
