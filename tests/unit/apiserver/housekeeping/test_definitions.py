"""A definition goes after its objects, and takes them along."""

from __future__ import annotations

from tests.support.api_server import DEFINITIONS, TOYS, toy, toy_definition
from tests.unit.apiserver.housekeeping.stage import Stage, named

from bayplan.apiserver.housekeeping.definitions import DefinitionEnding
from bayplan.apiserver.housekeeping.namespaces import NamespaceEnding
from bayplan.apiserver.storage.entries import Entry

DEFINITION = f"{DEFINITIONS}/toys.example.com"


def stage_with_toys() -> Stage:
    stage = Stage([DefinitionEnding(), NamespaceEnding()])
    stage.post(DEFINITIONS, **toy_definition())
    return stage


def test_the_objects_of_a_definition_go_with_it() -> None:
    stage = stage_with_toys()
    stage.post(TOYS, **toy())
    stage.delete(DEFINITION)
    assert stage.names(DEFINITIONS) == []
    stage.post(DEFINITIONS, **toy_definition())
    assert stage.names(TOYS) == []


def test_a_definition_waits_for_objects_with_finalizers_and_takes_no_new_ones() -> None:
    stage = stage_with_toys()
    stage.post(TOYS, **toy("held", {"finalizers": ["example.com/wait"]}))
    stage.post(TOYS, **toy("free"))
    stage.delete(DEFINITION)
    waiting = stage.api.get(DEFINITION)
    assert waiting["metadata"]["finalizers"] == ["customresourcecleanup.apiextensions.k8s.io"]
    condition = next(one for one in waiting["status"]["conditions"] if one["type"] == "Terminating")
    assert (condition["status"], condition["reason"]) == ("True", "InstanceDeletionInProgress")
    assert stage.names(TOYS) == ["held"]
    assert stage.api.refusal("POST", TOYS, toy("new"))[0] == 405
    stage.patch(f"{TOYS}/held", metadata={"finalizers": None})
    assert stage.names(DEFINITIONS) == []


def test_a_definition_that_was_never_established_goes_at_once() -> None:
    stage = stage_with_toys()
    rival = toy_definition()
    rival["metadata"]["name"] = "dolls.example.com"
    rival["spec"]["names"] = {"plural": "dolls", "kind": "Toy"}
    stage.post(DEFINITIONS, **rival)
    stage.delete(f"{DEFINITIONS}/dolls.example.com")
    assert stage.names(DEFINITIONS) == ["toys.example.com"]


def test_a_namespace_whose_objects_have_lost_their_definition_can_end() -> None:
    stage = Stage([NamespaceEnding()])  # an older server did not delete the objects
    stage.post("/api/v1/namespaces", metadata=named("shop"))
    stage.post(DEFINITIONS, **toy_definition())
    stage.post(TOYS.replace("default", "shop"), **toy())
    registry = stage.api.registry
    registry.storage.remove("customresourcedefinitions.apiextensions.k8s.io", definition_entry(stage))
    stage.delete("/api/v1/namespaces/shop")
    assert "shop" not in stage.names("/api/v1/namespaces")


def definition_entry(stage: Stage) -> Entry:
    (entry,) = stage.api.registry.storage.entries("customresourcedefinitions.apiextensions.k8s.io")
    return entry
