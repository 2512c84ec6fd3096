"""Dependents of any kind go with their owners, before them, or without them."""

from __future__ import annotations

from tests.support.api_server import CONFIG_MAPS
from tests.unit.apiserver.housekeeping.stage import Stage, named

from bayplan.apiserver.housekeeping.garbage import DocumentCollector

SECRETS = "/api/v1/namespaces/default/secrets"


def family(*, owners: int = 1) -> Stage:
    stage = Stage([DocumentCollector()])
    made = [stage.post(CONFIG_MAPS, metadata=named(f"owner-{number}")) for number in range(owners)]
    secret = stage.post(SECRETS, metadata=named("child", *made))
    stage.post(CONFIG_MAPS, metadata=named("grandchild", {**secret, "apiVersion": "v1", "kind": "Secret"}))
    return stage


def test_in_the_background() -> None:
    stage = family()
    stage.delete(f"{CONFIG_MAPS}/owner-0")
    assert (stage.names(CONFIG_MAPS), stage.names(SECRETS)) == ([], [])


def test_an_owner_in_the_foreground_goes_last() -> None:
    stage = family()
    stage.patch(f"{CONFIG_MAPS}/grandchild", metadata={"finalizers": ["example.com/wait"]})
    stage.delete(f"{CONFIG_MAPS}/owner-0", propagationPolicy="Foreground")
    assert stage.names(CONFIG_MAPS) == ["grandchild", "owner-0"]
    stage.patch(f"{CONFIG_MAPS}/grandchild", metadata={"finalizers": None})
    assert (stage.names(CONFIG_MAPS), stage.names(SECRETS)) == ([], [])


def test_orphans_stay_without_an_owner() -> None:
    stage = family()
    stage.delete(f"{CONFIG_MAPS}/owner-0", propagationPolicy="Orphan")
    assert stage.names(CONFIG_MAPS) == ["grandchild"]
    assert "ownerReferences" not in stage.api.get(f"{SECRETS}/child")["metadata"]


def test_one_of_two_owners() -> None:
    stage = family(owners=2)
    stage.delete(f"{CONFIG_MAPS}/owner-0")
    (left,) = stage.api.get(f"{SECRETS}/child")["metadata"]["ownerReferences"]
    assert left["name"] == "owner-1"
    stage.delete(f"{CONFIG_MAPS}/owner-1")
    assert stage.names(SECRETS) == []


def test_a_child_that_comes_after_its_owner_has_gone() -> None:
    stage = family()
    owner = stage.api.get(f"{CONFIG_MAPS}/owner-0")
    stage.delete(f"{CONFIG_MAPS}/owner-0")
    stage.post(SECRETS, metadata=named("late", owner))
    assert stage.names(SECRETS) == []


def test_an_owner_that_nobody_knew_is_no_reason() -> None:
    stage = Stage([DocumentCollector()])
    unknown = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x", "uid": "never-seen"}}
    stage.post(SECRETS, metadata=named("child", unknown))
    assert stage.names(SECRETS) == ["child"]


def test_an_owner_in_the_foreground_does_not_wait_for_what_another_owns_too() -> None:
    stage = family(owners=2)
    stage.delete(f"{CONFIG_MAPS}/owner-0", propagationPolicy="Foreground")
    assert stage.names(CONFIG_MAPS) == ["grandchild", "owner-1"]
    (left,) = stage.api.get(f"{SECRETS}/child")["metadata"]["ownerReferences"]
    assert left["name"] == "owner-1"


def test_a_circle_of_owners_can_go_in_the_foreground() -> None:
    stage = Stage([DocumentCollector()])
    names = ["a", "b", "c"]
    made = [stage.post(CONFIG_MAPS, metadata=named(name)) for name in names]
    for name, owner in zip(names, made[-1:] + made[:-1], strict=True):
        stage.patch(f"{CONFIG_MAPS}/{name}", metadata=named(name, owner))
    stage.delete(f"{CONFIG_MAPS}/a", propagationPolicy="Foreground")
    assert stage.names(CONFIG_MAPS) == []
