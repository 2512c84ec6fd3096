"""What all kinds of policies share: their name, when they apply, and the values that their expressions see."""

from __future__ import annotations

from typing import Any, Final

from bayplan.apiserver.admitting.cluster import NAMESPACES, ClusterView
from bayplan.apiserver.policies.attributes import Attributes
from bayplan.apiserver.policies.expressions import (
    MATCH_BUDGET,
    Activation,
    Compiler,
    Declared,
    EvaluationError,
    OutOfBudget,
)
from bayplan.apiserver.schema.resources import Resource
from bayplan.apiserver.storage.entries import Document

_NAMESPACE_FIELDS: Final = ("metadata", "spec", "status")
_OMITTED_METADATA: Final = ("managedFields", "ownerReferences", "selfLink")


class Policy:
    """A policy whose variables and conditions are compiled."""

    def __init__(self, document: Document) -> None:
        self.name: str = document["metadata"]["name"]
        self.spec: Document = document["spec"]
        self.ignores_failures = self.spec.get("failurePolicy") == "Ignore"
        declared = Declared(has_params=self.spec.get("paramKind") is not None)
        self.compiler = Compiler(declared, self.spec.get("variables") or ())
        conditions = self.spec.get("matchConditions") or ()
        self._conditions = [self.compiler.compile(condition["expression"], "bool") for condition in conditions]

    def applies(self, values: dict[str, Any]) -> bool:
        """Whether the conditions hold; raises EvaluationError if that cannot be said and failures matter."""
        # Upstream: apiserver/pkg/admission/plugin/webhook/matchconditions/matcher.go (v1.36).
        scene = self.scene({**values, "namespaceObject": None}, MATCH_BUDGET)
        faults = []
        for condition in self._conditions:
            try:
                if scene.evaluate(condition) is False:
                    return False
            except OutOfBudget as error:
                faults = [str(error)]
                break
            except EvaluationError as error:
                faults.append(str(error))
        if faults and not self.ignores_failures:
            raise EvaluationError(faults[0] if len(faults) == 1 else f"[{', '.join(faults)}]")
        return not faults

    def scene(self, values: dict[str, Any], budget: int) -> Activation:
        return Activation(values, self.compiler.variables, budget)


def values_of(
    attributes: Attributes, matched: Resource, params: Document | None, cluster: ClusterView
) -> dict[str, Any]:
    """The variables of a policy's expressions."""
    namespace = None
    if attributes.namespace and not attributes.is_of_namespace:
        namespace = cluster.find(NAMESPACES, "", attributes.namespace)
    return {
        "object": attributes.object,
        "oldObject": attributes.old,
        "params": params,
        "request": attributes.request(matched),
        "namespaceObject": None if namespace is None else _shown_namespace(namespace),
    }


def _shown_namespace(namespace: Document) -> Document:
    shown: Document = {field: namespace[field] for field in _NAMESPACE_FIELDS if field in namespace}
    metadata = {name: value for name, value in namespace["metadata"].items() if name not in _OMITTED_METADATA}
    return {**shown, "metadata": metadata}
