"""Which writes a policy or a binding is about: selectors, and rules about operations and resources.

Takes `matchConstraints` of a policy or `matchResources` of a binding. Conditions in CEL are not looked at here.
Upstream: apiserver/pkg/admission/plugin/policy/matching/matching.go (v1.36).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from bayplan.apiserver.admitting.cluster import NAMESPACES, ClusterView
from bayplan.apiserver.admitting.selecting_labels import matches as labels_match
from bayplan.apiserver.policies.attributes import CREATE, UPDATE, Attributes
from bayplan.apiserver.schema.resources import Resource
from bayplan.apiserver.storage.entries import Document
from bayplan.store.errors import NotFound

_ALL = "*"


def matched(
    constraints: Document, attributes: Attributes, equivalents: Iterable[Resource], cluster: ClusterView
) -> Resource | None:
    """As which resource the write matches: its own, or one that is the same in another version; None: not at all.

    Raises NotFound if the namespace whose labels decide does not exist.
    """
    if not _objects_match(constraints.get("objectSelector") or {}, attributes):
        return None
    rules = constraints.get("resourceRules") or ()
    if _by_rules(constraints.get("excludeResourceRules") or (), constraints, attributes, equivalents) is not None:
        return None
    found = _by_rules(rules, constraints, attributes, equivalents) if rules else attributes.resource
    if found is None or not _namespace_matches(constraints.get("namespaceSelector") or {}, attributes, cluster):
        return None
    return found


def _objects_match(selector: Document, attributes: Attributes) -> bool:
    seen = (document for document in (attributes.object, attributes.old) if document is not None)
    return not _selects(selector) or any(labels_match(selector, _labels(document)) for document in seen)


def _namespace_matches(selector: Document, attributes: Attributes, cluster: ClusterView) -> bool:
    if not _selects(selector) or not (attributes.namespace or attributes.is_of_namespace):
        return True
    if attributes.is_of_namespace and not attributes.subresource and attributes.operation in (CREATE, UPDATE):
        namespace = attributes.object
    else:
        namespace = cluster.find(NAMESPACES, "", attributes.namespace)
    if namespace is None:
        raise NotFound.of(NAMESPACES, attributes.namespace)
    return labels_match(selector, _labels(namespace))


def _selects(selector: Document) -> bool:
    return bool(selector.get("matchLabels") or selector.get("matchExpressions"))


def _labels(document: Document) -> Mapping[str, str]:
    return (document.get("metadata") or {}).get("labels") or {}


def _by_rules(
    rules: Iterable[Document], constraints: Document, attributes: Attributes, equivalents: Iterable[Resource]
) -> Resource | None:
    if any(_rule_matches(rule, attributes.resource, attributes) for rule in rules):
        return attributes.resource
    if constraints.get("matchPolicy") != "Equivalent":
        return None
    found = (other for rule in rules for other in equivalents if _rule_matches(rule, other, attributes))
    return next(found, None)


def _rule_matches(rule: Document, resource: Resource, attributes: Attributes) -> bool:
    names = rule.get("resourceNames") or ()
    return (
        _scope_matches(rule.get("scope") or _ALL, attributes)
        and _is_listed(rule.get("operations"), attributes.operation)
        and _is_listed(rule.get("apiGroups"), resource.group)
        and _is_listed(rule.get("apiVersions"), resource.version)
        and any(_resource_matches(text, resource, attributes) for text in rule.get("resources") or ())
        and (not names or attributes.name in names)
    )


def _scope_matches(scope: str, attributes: Attributes) -> bool:
    is_namespaced = bool(attributes.namespace) and not attributes.is_of_namespace
    return scope == _ALL or is_namespaced == (scope == "Namespaced")


def _is_listed(items: Any, wanted: str) -> bool:
    return _ALL in (items or ()) or wanted in (items or ())


def _resource_matches(text: str, resource: Resource, attributes: Attributes) -> bool:
    name, _, subresource = text.partition("/")
    return name in (_ALL, resource.plural) and subresource in (_ALL, attributes.subresource)
