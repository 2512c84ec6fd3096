"""Pods that need a kubelet feature go where it is declared."""

from __future__ import annotations

import pytest
from tests.support.caches import cache_of, prepared, verdicts

from bayplan.config.feature_gates import DEFAULT_GATES
from bayplan.core.columns import row_array
from bayplan.core.framework.contract import Ready, Skip
from bayplan.core.framework.verdict import Code
from bayplan.core.plugins.node_declared_features import REASON, NodeDeclaredFeatures
from bayplan.model.pod import Container, ContainerRestartRule, Pod
from bayplan.testing.builders import node, pod

RESTART = "RestartAllContainersOnContainerExits"
USER_NAMESPACES = "UserNamespacesHostNetworkSupport"


def a_pod(
    *, action: str = "", init_action: str = "", host_network: bool = False, host_users: bool | None = None
) -> Pod:
    made = pod("p").obj()
    made.spec.containers[0].restart_policy_rules = [ContainerRestartRule(action=action)] if action else []
    rules = [ContainerRestartRule(action="Restart"), ContainerRestartRule(action=init_action)]
    made.spec.init_containers = [Container(name="i", restart_policy_rules=rules)] if init_action else []
    made.spec.host_network = host_network
    made.spec.host_users = host_users
    return made


@pytest.mark.parametrize(
    ("incoming", "needed"),
    [
        pytest.param(a_pod(), set(), id="plain"),
        pytest.param(a_pod(action="Restart"), set(), id="another action"),
        pytest.param(a_pod(action="RestartAllContainers"), {RESTART}, id="a container"),
        pytest.param(a_pod(init_action="RestartAllContainers"), {RESTART}, id="an init container"),
        pytest.param(a_pod(host_network=True), set(), id="host network, users not said"),
        pytest.param(a_pod(host_network=True, host_users=True), set(), id="host network, host users"),
        pytest.param(a_pod(host_users=False), set(), id="own users, own network"),
        pytest.param(a_pod(host_network=True, host_users=False), {USER_NAMESPACES}, id="own users on the host network"),
        pytest.param(
            a_pod(action="RestartAllContainers", host_network=True, host_users=False),
            {RESTART, USER_NAMESPACES},
            id="both",
        ),
    ],
)
def test_what_a_pod_needs(incoming: Pod, needed: set[str]) -> None:
    """Two features can be read off a spec; without any there is nothing to filter."""
    _, _, outcome = prepared(NodeDeclaredFeatures(gates=DEFAULT_GATES), cache_of(node("n").obj()), incoming)
    if needed:
        assert isinstance(outcome, Ready)
        assert outcome.state == needed
    else:
        assert isinstance(outcome, Skip)


def test_filter() -> None:
    """A node must declare everything the pod needs; more does no harm."""
    cache = cache_of(
        node("none").obj(),
        node("one").declares(RESTART).obj(),
        node("both").declares(USER_NAMESPACES, RESTART).obj(),
        node("more").declares(RESTART, "Another", USER_NAMESPACES).obj(),
    )
    incoming = a_pod(action="RestartAllContainers", host_network=True, host_users=False)
    outcome = verdicts(NodeDeclaredFeatures(gates=DEFAULT_GATES), cache, incoming)
    assert {name for name, status in outcome.items() if status.ok} == {"both", "more"}
    for name in ("none", "one"):
        assert outcome[name].code is Code.UNRESOLVABLE
        assert outcome[name].reasons == (REASON,) == ("node(s) didn't match Pod's required features",)


def test_answers_for_the_rows_asked_about() -> None:
    """One code for each row, in the order of the rows."""
    plugin = NodeDeclaredFeatures(gates=DEFAULT_GATES)
    cache = cache_of(node("a").obj(), node("b").declares(RESTART).obj())
    _, view, _ = prepared(plugin, cache, a_pod())
    assert plugin.filter(frozenset({RESTART}), view, row_array([1, 0, 1])).tolist() == [0, 1, 0]
