"""Which writes policies are about."""

from __future__ import annotations

from typing import Any

import pytest
from tests.support.api_server import Api, Document

from bayplan.apiserver.policies.attributes import Attributes
from bayplan.apiserver.policies.matching import matched
from bayplan.apiserver.schema.resources import built_in
from bayplan.store.errors import NotFound

PODS, NODES, NAMESPACES = (built_in("", name) for name in ("pods", "nodes", "namespaces"))
DEPLOYMENTS = built_in("apps", "deployments")
EVENTS, OLD_EVENTS = built_in("events.k8s.io", "events"), built_in("", "events")


def labeled(**labels: str) -> Document:
    return {"metadata": {"name": "x", "labels": labels}}


def matches(constraints: Document, attributes: Attributes) -> bool:
    registry = Api().registry
    return matched(constraints, attributes, (), registry) == attributes.resource


def rule(resource: str = "pods", operation: str = "CREATE", **more: Any) -> Document:
    return {"apiGroups": [""], "apiVersions": ["v1"], "operations": [operation], "resources": [resource], **more}


POD = Attributes("CREATE", PODS, "default", "x", labeled(app="a"))
STATUS = POD._replace(operation="UPDATE", subresource="status", old=labeled())
NODE = Attributes("CREATE", NODES, "", "x", labeled())
NAMESPACE = Attributes("CREATE", NAMESPACES, "x", "x", labeled(team="t"))


@pytest.mark.parametrize(
    ("attributes", "one", "is_matched"),
    [
        (POD, rule(), True),
        (POD, rule(operation="*"), True),
        (POD, rule(operation="UPDATE"), False),
        (POD, rule("*"), True),
        (POD, rule("*/*"), True),
        (POD, rule("nodes"), False),
        (POD, rule("pods/status"), False),
        (POD, rule("pods/*"), True),
        (POD, rule(apiGroups=["apps"]), False),
        (POD, rule(apiGroups=["*"], apiVersions=["*"]), True),
        (POD, rule(apiVersions=["v2"]), False),
        (POD, rule(resourceNames=["y"]), False),
        (POD, rule(resourceNames=["y", "x"]), True),
        (POD, rule(scope="Namespaced"), True),
        (POD, rule(scope="Cluster"), False),
        (NODE, rule("nodes", scope="Cluster"), True),
        (NODE, rule("nodes", scope="Namespaced"), False),
        (NAMESPACE, rule("namespaces", scope="Cluster"), True),
        (NAMESPACE, rule("namespaces", scope="Namespaced"), False),
        (STATUS, rule(operation="UPDATE"), False),
        (STATUS, rule("*", "UPDATE"), False),
        (STATUS, rule("*/status", "UPDATE"), True),
        (STATUS, rule("pods/status", "UPDATE"), True),
    ],
)
def test_rules(attributes: Attributes, one: Document, is_matched: bool) -> None:
    assert matches({"resourceRules": [rule("services"), one]}, attributes) == is_matched
    assert matches({"resourceRules": [rule("*/*", "*")], "excludeResourceRules": [one]}, attributes) != is_matched


def selecting(selector: str, **labels: str) -> Document:
    return {selector: {"matchLabels": labels}}


@pytest.mark.parametrize(
    ("attributes", "constraints", "is_matched"),
    [
        (POD, {}, True),
        (POD, selecting("objectSelector", app="a"), True),
        (POD, selecting("objectSelector", app="b"), False),
        (POD._replace(object=None, old=labeled(app="b")), selecting("objectSelector", app="b"), True),
        (POD._replace(old=labeled(app="b")), selecting("objectSelector", app="b"), True),
        (POD, selecting("namespaceSelector", **{"kubernetes.io/metadata.name": "default"}), True),
        (POD, selecting("namespaceSelector", team="t"), False),
        (NODE, selecting("namespaceSelector", team="t"), True),
        (NAMESPACE, selecting("namespaceSelector", team="t"), True),
        (NAMESPACE, selecting("namespaceSelector", team="u"), False),
    ],
)
def test_selectors(attributes: Attributes, constraints: Document, is_matched: bool) -> None:
    assert matches(constraints, attributes) == is_matched


def test_a_namespace_that_does_not_exist() -> None:
    with pytest.raises(NotFound):
        matches(selecting("namespaceSelector", team="t"), POD._replace(namespace="nope"))


def test_the_same_objects_in_another_group_match_unless_exactness_is_asked_for() -> None:
    event = Attributes("CREATE", EVENTS, "default", "x", labeled())
    constraints = {"resourceRules": [rule("events")], "matchPolicy": "Equivalent"}
    registry = Api().registry
    assert matched(constraints, event, [OLD_EVENTS], registry) == OLD_EVENTS
    assert matched({**constraints, "matchPolicy": "Exact"}, event, [OLD_EVENTS], registry) is None
