"""The parameters with which a binding has its policy evaluated.

Upstream: CollectParams in apiserver/pkg/admission/plugin/policy/generic/policy_dispatcher.go (v1.36).
"""

from __future__ import annotations

from collections.abc import Callable

from bayplan.apiserver.admitting.cluster import ClusterView
from bayplan.apiserver.admitting.selecting_labels import matches
from bayplan.apiserver.registry.versions import served_form
from bayplan.apiserver.schema.resources import Resource
from bayplan.apiserver.storage.entries import Document


class ConfigurationError(Exception):
    """A policy or a binding cannot be used as it stands."""


class ParamKindError(ConfigurationError):
    """There is no such kind of parameters, so no binding of the policy can be used."""


def params_of(
    kind: Document | None,
    reference: Document | None,
    namespace: str,
    resource_of: Callable[[str, str], Resource | None],
    cluster: ClusterView,
) -> list[Document | None]:
    """Each parameter in turn; one None if the policy is evaluated without any, and nothing if it is not at all.

    Args:
        kind: `paramKind` of the policy.
        reference: `paramRef` of the binding.
        namespace: of the write.
        resource_of: the resource of an apiVersion and a kind.
        cluster: where the parameters are.
    """
    if kind is None:
        return [None]
    resource = resource_of(kind.get("apiVersion", ""), kind.get("kind", ""))
    if resource is None:
        group, _, version = kind.get("apiVersion", "").rpartition("/")
        named = f"{group}/{version}, Kind={kind.get('kind', '')}"
        raise ParamKindError(f"failed to find resource referenced by paramKind: '{named}'")
    if reference is None:
        return [None]
    found = _selected(reference, resource, _namespace_of(reference, resource, namespace), cluster)
    if not found and reference.get("parameterNotFoundAction") == "Deny":
        raise ConfigurationError("no params found for policy binding with `Deny` parameterNotFoundAction")
    return [{**served_form(resource, document), **kind} for document in found]


def _namespace_of(reference: Document, resource: Resource, namespace: str) -> str:
    named: str = reference.get("namespace", "")
    if not resource.namespaced:
        if named:
            raise ConfigurationError("paramRef.namespace must not be provided for a cluster-scoped `paramKind`")
        return ""
    if not named and not namespace:
        text = "cannot use namespaced paramRef in policy binding that matches cluster-scoped resources"
        raise ConfigurationError(text)
    return named or namespace


def _selected(reference: Document, resource: Resource, namespace: str, cluster: ClusterView) -> list[Document]:
    name, selector = reference.get("name"), reference.get("selector")
    if name:
        found = cluster.find(resource, namespace, name)
        return [] if found is None else [found]
    if selector is None:
        raise ConfigurationError("one of name or selector must be provided")
    everything = sorted(cluster.list(resource, namespace), key=lambda document: str(document["metadata"]["name"]))
    return [document for document in everything if matches(selector, document["metadata"].get("labels") or {})]
