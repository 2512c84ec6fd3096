"""Objects in namespaces that do not exist."""

from __future__ import annotations

from bayplan.analysis.unknown_namespaces import UnknownNamespace, unknown_namespaces
from bayplan.model.kinds import Object
from bayplan.testing.builders import deployment, namespace, node, pod

SHOP = namespace("shop").obj()


def test_the_namespace_with_most_objects_comes_first() -> None:
    objects: list[Object] = [SHOP, pod("a", "dev").obj(), pod("a", "shopp").obj(), deployment("b", "shopp").obj()]
    assert unknown_namespaces(objects) == [UnknownNamespace("shopp", 2, ["shop"]), UnknownNamespace("dev", 1, [])]


def test_namespaces_that_every_cluster_has() -> None:
    assert unknown_namespaces([SHOP, pod("a").obj(), pod("b", "kube-system").obj(), node("n").obj()]) == []


def test_without_any_namespace_nothing_is_known() -> None:
    assert unknown_namespaces([pod("a", "dev").obj()]) == []
