"""Labels of nodes that are no longer to be used, and values that no node has."""

from __future__ import annotations

import pytest

from bayplan.apiserver.admitting.warnings.nodes import DEPRECATED_LABELS, warn_of_node_term


@pytest.mark.parametrize(
    ("key", "instead"),
    [
        ("beta.kubernetes.io/arch", 'deprecated since v1.14; use "kubernetes.io/arch" instead'),
        ("beta.kubernetes.io/os", 'deprecated since v1.14; use "kubernetes.io/os" instead'),
        (
            "failure-domain.beta.kubernetes.io/region",
            'deprecated since v1.17; use "topology.kubernetes.io/region" instead',
        ),
        ("failure-domain.beta.kubernetes.io/zone", 'deprecated since v1.17; use "topology.kubernetes.io/zone" instead'),
        (
            "beta.kubernetes.io/instance-type",
            'deprecated since v1.17; use "node.kubernetes.io/instance-type" instead',
        ),
        ("app.kubernetes.io/created-by", "deprecated since v1.9"),
        (
            "scheduler.alpha.kubernetes.io/preferAvoidPods",
            "deprecated since v1.22; use Taints and Tolerations instead",
        ),
        ("node-role.kubernetes.io/master", 'use "node-role.kubernetes.io/control-plane" instead'),
    ],
)
def test_keys_that_have_a_successor(key: str, instead: str) -> None:
    term = {"matchExpressions": [{"key": "a", "operator": "Exists"}, {"key": key, "operator": "Exists"}]}
    assert [*warn_of_node_term(term, "p")] == [f"p.matchExpressions[1].key: {key} is {instead}"]
    assert len(DEPRECATED_LABELS) == 8


def test_values_that_no_label_can_have() -> None:
    term = {"matchExpressions": [{"key": "a", "operator": "In", "values": ["ok", "-"]}]}
    assert [*warn_of_node_term(term, "p")] == []
    [warning] = warn_of_node_term(term, "p", checks_values=True)
    assert warning.startswith("p.matchExpressions[0].values[1]: - is invalid, a valid label must be an empty string or")


def test_nothing_is_said_of_fields() -> None:
    assert [*warn_of_node_term({"matchFields": [{"key": "beta.kubernetes.io/os"}]}, "p", checks_values=True)] == []
