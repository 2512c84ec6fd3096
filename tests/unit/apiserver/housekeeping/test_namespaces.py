"""What namespaces begin with, and how they end."""

from __future__ import annotations

from tests.support.api_server import pod
from tests.unit.apiserver.housekeeping.stage import Stage, named

from bayplan.apiserver.housekeeping.namespaces import NamespaceContents, NamespaceEnding

SHOP = "/api/v1/namespaces/shop"


def said(stage: Stage) -> dict[str, tuple[str, str, str]]:
    conditions = stage.api.get(SHOP)["status"]["conditions"]
    return {one["type"]: (one["status"], one["reason"], one["message"]) for one in conditions}


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


def test_the_certificate_is_restored_when_somebody_changes_it() -> None:
    stage = Stage([NamespaceContents("PEM")])
    stage.post("/api/v1/namespaces", metadata=named("shop"))
    stage.patch(f"{SHOP}/configmaps/kube-root-ca.crt", data={"ca.crt": "other", "more": "x"})
    assert stage.api.get(f"{SHOP}/configmaps/kube-root-ca.crt")["data"] == {"ca.crt": "PEM"}


def test_pods_go_before_everything_else() -> None:
    stage = Stage([NamespaceEnding()])
    stage.post("/api/v1/namespaces", metadata=named("shop"))
    stage.post(f"{SHOP}/configmaps", metadata=named("free"))
    stage.post(f"{SHOP}/pods", **pod("held", finalizers=["example.com/wait"]))
    stage.delete(SHOP)
    assert stage.names(f"{SHOP}/configmaps") == ["free"]
    assert "deletionTimestamp" in stage.api.get(f"{SHOP}/pods/held")["metadata"]
    stage.patch(f"{SHOP}/pods/held", metadata={"finalizers": None})
    assert "shop" not in stage.names("/api/v1/namespaces")


def test_a_namespace_ends_when_it_is_empty() -> None:
    stage = Stage([NamespaceContents(), NamespaceEnding()])
    stage.post("/api/v1/namespaces", metadata=named("shop"))
    stage.post(f"{SHOP}/configmaps", metadata=named("held", finalizers=["example.com/wait"]))
    stage.post(f"{SHOP}/secrets", metadata=named("free"))
    stage.delete(SHOP)
    assert stage.api.get(SHOP)["status"]["phase"] == "Terminating"
    assert (stage.names(f"{SHOP}/configmaps"), stage.names(f"{SHOP}/secrets")) == (["held"], [])
    assert said(stage)["NamespaceContentRemaining"] == (
        *("True", "SomeResourcesRemain"),
        "Some resources are remaining: configmaps. has 1 resource instances",
    )
    assert said(stage)["NamespaceFinalizersRemaining"] == (
        *("True", "SomeFinalizersRemain"),
        "Some content in the namespace has finalizers remaining: example.com/wait in 1 resource instances",
    )
    assert said(stage)["NamespaceDeletionContentFailure"][0] == "False"
    stage.patch(f"{SHOP}/configmaps/held", metadata={"finalizers": None})
    assert "shop" not in stage.names("/api/v1/namespaces")
