"""What a definition serves, and its status."""

from __future__ import annotations

from typing import Any

import pytest

from bayplan.apiserver.custom_resources.definitions import (
    established_status,
    is_established,
    resources_of,
    served_versions,
)
from bayplan.apiserver.schema.resources import Subresource
from bayplan.model.timestamps import parse_time

Part = dict[str, Any]
TIME = "2026-01-01T00:00:00Z"
NOW = parse_time(TIME)


def version(name: str, *, served: bool = True, storage: bool = False, **fields: Any) -> Part:
    return {"name": name, "served": served, "storage": storage, **fields}


def definition(*versions: Part, scope: str = "Namespaced", **names: Any) -> Part:
    names = {"plural": "shirts", "singular": "shirt", "kind": "Shirt", "listKind": "ShirtList", **names}
    return {
        "metadata": {"name": f"{names['plural']}.example.com"},
        "spec": {
            "group": "example.com",
            "scope": scope,
            "names": names,
            "versions": list(versions) or [version("v1", storage=True)],
        },
    }


def established(made: Part, *others: Part) -> Part:
    return {**made, "status": established_status(made, others, NOW)}


def test_a_definition_is_established_at_once() -> None:
    made = established(definition(shortNames=["sh"], categories=["all"]))
    assert is_established(made)
    assert made["status"] == {
        "conditions": [
            {
                "type": "NamesAccepted",
                "status": "True",
                "lastTransitionTime": TIME,
                "reason": "NoConflicts",
                "message": "no conflicts found",
            },
            {
                "type": "Established",
                "status": "True",
                "lastTransitionTime": TIME,
                "reason": "InitialNamesAccepted",
                "message": "the initial names have been accepted",
            },
        ],
        "acceptedNames": {
            "plural": "shirts",
            "singular": "shirt",
            "shortNames": ["sh"],
            "kind": "Shirt",
            "listKind": "ShirtList",
            "categories": ["all"],
        },
        "storedVersions": ["v1"],
    }


def test_a_later_change_keeps_times_and_stored_versions() -> None:
    made = established(definition())
    made["spec"]["versions"] = [version("v1"), version("v2", storage=True)]
    status = established_status(made, [made], NOW + 10**12)
    assert status["conditions"] == made["status"]["conditions"]
    assert status["storedVersions"] == ["v1", "v2"]


@pytest.mark.parametrize(
    ("names", "reason", "message"),
    [
        ({"plural": "shirt"}, "PluralConflict", '"shirt" is already in use'),
        ({"singular": "shirts"}, "SingularConflict", '"shirts" is already in use'),
        ({"kind": "Shirt"}, "KindConflict", '"Shirt" is already in use'),
        ({"listKind": "ShirtList"}, "ListKindConflict", '"ShirtList" is already in use'),
        ({"shortNames": ["sh", "x"]}, "ShortNamesConflict", '"sh" is already in use'),
    ],
)
def test_names_that_others_have_are_refused(names: Part, reason: str, message: str) -> None:
    first = established(definition(shortNames=["sh"]))
    own = {"plural": "blouses", "singular": "blouse", "kind": "Blouse", "listKind": "BlouseList", **names}
    second = established(definition(**own), first)
    conditions = {condition["type"]: condition for condition in second["status"]["conditions"]}
    assert (conditions["NamesAccepted"]["reason"], conditions["NamesAccepted"]["message"]) == (reason, message)
    assert conditions["Established"]["status"] == "False"
    assert next(iter(names)) not in second["status"]["acceptedNames"]
    assert resources_of(second) == []


def test_other_groups_have_names_of_their_own() -> None:
    other = established(definition())
    other["spec"]["group"] = "example.org"
    other["metadata"]["name"] = "shirts.example.org"
    assert is_established(established(definition(), other))


def test_a_definition_that_is_not_established_serves_nothing() -> None:
    assert resources_of(definition()) == []


def test_a_resource_has_the_names_of_its_definition() -> None:
    (resource,) = resources_of(established(definition(shortNames=["sh"], categories=["all"])))
    assert resource.qualified_resource == "shirts.example.com"
    assert resource.api_version == "example.com/v1"
    assert (resource.kind, resource.singular, resource.namespaced) == ("Shirt", "shirt", True)
    assert (resource.short_names, resource.categories) == (("sh",), ("all",))
    assert resource.verbs == ("delete", "deletecollection", "get", "list", "patch", "create", "update", "watch")


def test_a_cluster_wide_resource_has_no_namespace() -> None:
    assert not resources_of(established(definition(scope="Cluster")))[0].namespaced


def test_subresources_are_those_declared() -> None:
    declared = {"status": {}, "scale": {"specReplicasPath": ".spec.replicas"}}
    (resource,) = resources_of(established(definition(version("v1", storage=True, subresources=declared))))
    assert resource.subresources == (
        Subresource("status", "Shirt"),
        Subresource("scale", "Scale", ("get", "patch", "update"), "autoscaling", "v1"),
    )


def test_versions_are_served_in_order_of_their_stability() -> None:
    names = ["v1alpha1", "v1", "foo", "v10", "v2beta1", "v2", "bar", "v1beta2"]
    served = served_versions(definition(*map(version, names), version("v3", served=False)))
    assert [item["name"] for item in served] == ["v10", "v2", "v1", "v2beta1", "v1beta2", "v1alpha1", "bar", "foo"]


def test_another_version_than_the_stored_one_says_so() -> None:
    resources = resources_of(established(definition(version("v1"), version("v1beta1", storage=True))))
    assert [resource.stored_as for resource in resources] == ["example.com/v1beta1", ""]


def test_a_definition_that_ends_takes_no_new_objects() -> None:
    made = established(definition())
    made["status"]["conditions"].append({"type": "Terminating", "status": "True"})
    assert "create" not in resources_of(made)[0].verbs
