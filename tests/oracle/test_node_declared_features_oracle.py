"""NodeDeclaredFeatures by distinct sets of features against one node at a time."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from tests.support.caches import cache_of, verdicts

from bayplan.config.feature_gates import DEFAULT_GATES
from bayplan.core.plugins.node_declared_features import NodeDeclaredFeatures
from bayplan.model.pod import Container, ContainerRestartRule, Pod
from bayplan.testing.builders import node, pod

RESTART = "RestartAllContainersOnContainerExits"
USER_NAMESPACES = "UserNamespacesHostNetworkSupport"

DECLARED = st.lists(st.sets(st.sampled_from([RESTART, USER_NAMESPACES, "Another"])), min_size=1, max_size=6)
CONTAINERS = st.lists(
    st.builds(
        Container,
        restart_policy_rules=st.lists(
            st.builds(ContainerRestartRule, action=st.sampled_from(["Restart", "RestartAllContainers"])), max_size=2
        ),
    ),
    max_size=2,
)


def fits(incoming: Pod, declared: set[str]) -> bool:
    spec = incoming.spec
    for container in spec.containers + spec.init_containers:
        restarts_all = any(rule.action == "RestartAllContainers" for rule in container.restart_policy_rules)
        if restarts_all and RESTART not in declared:
            return False
    return not (spec.host_network and spec.host_users is False and USER_NAMESPACES not in declared)


@given(DECLARED, CONTAINERS, CONTAINERS, st.booleans(), st.sampled_from([None, True, False]))
def test_agrees_with_the_oracle(
    declared: list[set[str]],
    containers: list[Container],
    init_containers: list[Container],
    host_network: bool,
    host_users: bool | None,
) -> None:
    """Whatever is declared and whatever is needed; a pod that needs nothing is skipped."""
    cache = cache_of(*(node(f"n{i}").declares(*sorted(features)).obj() for i, features in enumerate(declared)))
    incoming = pod("p").obj()
    spec = incoming.spec
    spec.containers, spec.init_containers = containers, init_containers
    spec.host_network, spec.host_users = host_network, host_users
    expected = {f"n{i}": fits(incoming, features) for i, features in enumerate(declared)}
    outcome = verdicts(NodeDeclaredFeatures(gates=DEFAULT_GATES), cache, incoming)
    if not outcome:
        assert fits(incoming, set())
    else:
        assert {name: status.ok for name, status in outcome.items()} == expected
