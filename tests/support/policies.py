"""Admission policies and bindings as documents."""

from __future__ import annotations

from typing import Any

from tests.support.api_server import Api, Document

GROUP = "/apis/admissionregistration.k8s.io/v1"
POLICIES = f"{GROUP}/validatingadmissionpolicies"
BINDINGS = f"{GROUP}/validatingadmissionpolicybindings"
MUTATING_POLICIES = f"{GROUP}/mutatingadmissionpolicies"
MUTATING_BINDINGS = f"{GROUP}/mutatingadmissionpolicybindings"
CONFIG_MAP_RULE: Document = {
    "apiGroups": [""],
    "apiVersions": ["v1"],
    "operations": ["CREATE", "UPDATE"],
    "resources": ["configmaps"],
}


def validating(*expressions: str | Document, rule: Document = CONFIG_MAP_RULE, **spec: Any) -> Document:
    """A policy for config maps; an expression may be a whole validation."""
    validations = [{"expression": one} if isinstance(one, str) else one for one in expressions]
    made = {"matchConstraints": {"resourceRules": [rule]}, "validations": validations, **spec}
    return {"metadata": {"name": "rule"}, "spec": made}


def binding(*actions: str, **spec: Any) -> Document:
    made = {"policyName": "rule", "validationActions": [*actions] or ["Deny"], **spec}
    return {"metadata": {"name": "bound"}, "spec": made}


def applying(expression: str) -> Document:
    return {"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": expression}}


def patching(expression: str) -> Document:
    return {"patchType": "JSONPatch", "jsonPatch": {"expression": expression}}


def mutating(*mutations: Document, rule: Document = CONFIG_MAP_RULE, name: str = "rule", **spec: Any) -> Document:
    made = {
        "matchConstraints": {"resourceRules": [rule]},
        "mutations": [*mutations],
        "reinvocationPolicy": "Never",
        **spec,
    }
    return {"metadata": {"name": name}, "spec": made}


def with_policy(policy: Document, bound: Document | None = None) -> Api:
    """A server with a validating policy that is bound."""
    api = Api()
    api.post(POLICIES, policy)
    api.post(BINDINGS, bound or binding())
    return api


def with_mutating(*policies: Document) -> Api:
    """A server with mutating policies that are bound."""
    api = Api()
    for policy in policies:
        name = policy["metadata"]["name"]
        api.post(MUTATING_POLICIES, policy)
        api.post(MUTATING_BINDINGS, {"metadata": {"name": f"{name}-bound"}, "spec": {"policyName": name}})
    return api
