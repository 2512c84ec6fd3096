"""Labels of nodes that nobody should use any more. Upstream: pkg/api/node/util.go (v1.36)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from bayplan.apiserver.admitting.documents import Document, Path
from bayplan.model.names import label_value_faults
from bayplan.model.well_known import BETA_REGION, BETA_ZONE

DEPRECATED_LABELS: Final = {
    "beta.kubernetes.io/arch": 'deprecated since v1.14; use "kubernetes.io/arch" instead',
    "beta.kubernetes.io/os": 'deprecated since v1.14; use "kubernetes.io/os" instead',
    BETA_REGION: 'deprecated since v1.17; use "topology.kubernetes.io/region" instead',
    BETA_ZONE: 'deprecated since v1.17; use "topology.kubernetes.io/zone" instead',
    "beta.kubernetes.io/instance-type": 'deprecated since v1.17; use "node.kubernetes.io/instance-type" instead',
    "app.kubernetes.io/created-by": "deprecated since v1.9",
    "scheduler.alpha.kubernetes.io/preferAvoidPods": "deprecated since v1.22; use Taints and Tolerations instead",
    "node-role.kubernetes.io/master": 'use "node-role.kubernetes.io/control-plane" instead',
}


def warn_of_node_term(term: Document, path: Path, *, checks_values: bool = False) -> Iterator[str]:
    """Of a term of a node selector."""
    for position, expression in enumerate(term.get("matchExpressions", ())):
        at, key = f"{path}.matchExpressions[{position}]", expression["key"]
        if key in DEPRECATED_LABELS:
            yield f"{at}.key: {key} is {DEPRECATED_LABELS[key]}"
        if checks_values:
            for index, value in enumerate(expression.get("values", ())):
                for fault in label_value_faults(value):
                    yield f"{at}.values[{index}]: {value} is invalid, {fault}"
