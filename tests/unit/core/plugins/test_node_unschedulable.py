"""Cordoned nodes take only pods that tolerate the cordon."""

from __future__ import annotations

import numpy as np
import pytest
from tests.support.caches import cache_of, prepared, verdicts

from bayplan.config.feature_gates import DEFAULT_GATES
from bayplan.core.columns import row_array
from bayplan.core.framework.contract import FilterPlugin
from bayplan.core.framework.verdict import Code
from bayplan.core.plugins.node_unschedulable import REASON, NodeUnschedulable
from bayplan.testing.builders import node, pod
from bayplan.testing.pods import PodBuilder

CORDON = "node.kubernetes.io/unschedulable"


@pytest.mark.parametrize(
    ("incoming", "admitted"),
    [
        pytest.param(pod("p"), False, id="no toleration"),
        pytest.param(pod("p").tolerates(CORDON, effect="NoSchedule"), True, id="the taint itself"),
        pytest.param(pod("p").tolerates(CORDON), True, id="any effect"),
        pytest.param(pod("p").tolerates(), True, id="everything"),
        pytest.param(pod("p").tolerates(CORDON, ""), True, id="equal to the empty value"),
        pytest.param(pod("p").tolerates(CORDON, "true"), False, id="another value"),
        pytest.param(pod("p").tolerates(CORDON, effect="NoExecute"), False, id="another effect"),
        pytest.param(pod("p").tolerates("other"), False, id="another key"),
        pytest.param(pod("p").tolerates(CORDON, "0", operator="Gt"), False, id="operator that is switched off"),
    ],
)
def test_who_may_enter_a_cordoned_node(incoming: PodBuilder, admitted: bool) -> None:
    """Only a toleration of the NoSchedule taint with an empty value opens a cordoned node."""
    cache = cache_of(node("open").obj(), node("cordoned").unschedulable().obj())
    outcome = verdicts(NodeUnschedulable(gates=DEFAULT_GATES), cache, incoming.obj())
    assert outcome["open"].ok
    assert outcome["cordoned"].ok is admitted
    if not admitted:
        assert outcome["cordoned"].code is Code.UNRESOLVABLE
        assert outcome["cordoned"].reasons == (REASON,) == ("node(s) were unschedulable",)


@pytest.mark.parametrize("incoming", [pod("p"), pod("p").tolerates()], ids=["plain", "tolerant"])
def test_answers_for_the_rows_asked_about(incoming: PodBuilder) -> None:
    """One code for each row, in the order of the rows."""
    plugin = NodeUnschedulable(gates=DEFAULT_GATES)
    cache = cache_of(node("a").obj(), node("b").unschedulable().obj(), node("c").obj())
    info, view, _ = prepared(plugin, cache, incoming.obj())
    blocked = int(not incoming.obj().spec.tolerations)
    codes = plugin.filter(info, view, row_array([2, 1, 1]))
    assert codes.dtype == np.int64
    assert codes.tolist() == [0, blocked, blocked]


def test_uncordoning_lets_pods_in() -> None:
    """The flag follows the node object."""
    cache = cache_of(node("n").unschedulable().obj())
    cache.add(node("n").obj())
    assert verdicts(NodeUnschedulable(gates=DEFAULT_GATES), cache, pod("p").obj())["n"].ok


def test_is_a_filter_plugin() -> None:
    """The framework finds it by what it can do."""
    assert isinstance(NodeUnschedulable(gates=DEFAULT_GATES), FilterPlugin)
