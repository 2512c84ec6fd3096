"""What namespaces begin with, and how they end."""

from __future__ import annotations

from tests.unit.apiserver.housekeeping.stage import Stage, named

from bayplan.apiserver.housekeeping.namespaces import NamespaceContents, NamespaceEnding

SHOP = "/api/v1/namespaces/shop"


def test_a_new_namespace_has_a_service_account() -> None:
    stage = Stage([NamespaceContents()])
    stage.post("/api/v1/namespaces", metadata=named("shop"))
    assert stage.names(f"{SHOP}/serviceaccounts") == ["default"]
    assert stage.names(f"{SHOP}/configmaps") == []
    stage.delete(f"{SHOP}/serviceaccounts/default")
    assert stage.names(f"{SHOP}/serviceaccounts") == ["default"]


def test_with_tls_it_has_the_certificate() -> None:
    stage = Stage([NamespaceContents("PEM")])
    stage.post("/api/v1/namespaces", metadata=named("shop"))
    assert stage.api.get(f"{SHOP}/configmaps/kube-root-ca.crt")["data"] == {"ca.crt": "PEM"}


def test_a_namespace_ends_when_it_is_empty() -> None:
    stage = Stage([NamespaceContents(), NamespaceEnding()])
    stage.post("/api/v1/namespaces", metadata=named("shop"))
    stage.post(f"{SHOP}/configmaps", metadata=named("held", finalizers=["example.com/wait"]))
    stage.post(f"{SHOP}/secrets", metadata=named("free"))
    stage.delete(SHOP)
    assert stage.api.get(SHOP)["status"]["phase"] == "Terminating"
    assert (stage.names(f"{SHOP}/configmaps"), stage.names(f"{SHOP}/secrets")) == (["held"], [])
    stage.patch(f"{SHOP}/configmaps/held", metadata={"finalizers": None})
    assert "shop" not in stage.names("/api/v1/namespaces")
