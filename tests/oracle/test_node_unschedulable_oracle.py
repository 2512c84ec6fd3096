"""NodeUnschedulable over all nodes against one node at a time."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from tests.support.caches import cache_of, verdicts

from bayplan.config.feature_gates import DEFAULT_GATES
from bayplan.core.plugins.node_unschedulable import NodeUnschedulable
from bayplan.model.node import Node
from bayplan.model.pod import Pod, Toleration
from bayplan.testing.builders import node, pod

CORDON = "node.kubernetes.io/unschedulable"

TOLERATIONS = st.builds(
    Toleration,
    key=st.sampled_from(["", CORDON, "other"]),
    operator=st.sampled_from(["", "Equal", "Exists", "Gt", "Lt"]),
    value=st.sampled_from(["", "0", "x"]),
    effect=st.sampled_from(["", "NoSchedule", "NoExecute", "PreferNoSchedule"]),
)


def fits(incoming: Pod, target: Node) -> bool:
    if not target.spec.unschedulable:
        return True
    for toleration in incoming.spec.tolerations:
        means_the_taint = toleration.key in ("", CORDON) and toleration.effect in ("", "NoSchedule")
        any_value = toleration.operator == "Exists"
        no_value = toleration.operator in ("", "Equal") and toleration.value == ""
        if means_the_taint and (any_value or no_value):
            return True
    return False


@given(st.lists(st.booleans(), max_size=6), st.lists(TOLERATIONS, max_size=3))
def test_agrees_with_the_oracle(cordoned: list[bool], tolerations: list[Toleration]) -> None:
    """Whatever is cordoned and whatever is tolerated."""
    nodes = []
    for position, flag in enumerate(cordoned):
        built = node(f"n{position}").obj()
        built.spec.unschedulable = flag
        nodes.append(built)
    incoming = pod("p").obj()
    incoming.spec.tolerations = tolerations
    outcome = verdicts(NodeUnschedulable(gates=DEFAULT_GATES), cache_of(*nodes), incoming)
    assert {name: status.ok for name, status in outcome.items()} == {
        target.metadata.name: fits(incoming, target) for target in nodes
    }
