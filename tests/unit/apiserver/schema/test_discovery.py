"""Discovery bodies, against those of a real server where they are at hand."""

from __future__ import annotations

import json
import lzma
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from bayplan.apiserver.schema.discovery import (
    aggregated,
    api_group,
    api_group_list,
    api_resource_list,
    api_versions,
    in_discovery_order,
    version_order,
)
from bayplan.apiserver.schema.resources import Resource, Subresource

BUILT_IN = in_discovery_order([])


def crontabs(version: str = "v1", group: str = "stable.example.com") -> Resource:
    subresources = (Subresource("status", "CronTab"), Subresource("scale", "Scale", group="autoscaling", version="v1"))
    return Resource(
        group, version, "CronTab", "crontabs", "crontab", True, short_names=("ct",), subresources=subresources
    )


@pytest.fixture(scope="module")
def recorded(recordings: Path) -> list[tuple[str, Any]]:
    """Paths and bodies of the real server's discovery."""
    bodies = []
    with lzma.open(recordings / "transcripts.jsonl.xz", "rt") as lines:
        for line in lines:
            exchange = json.loads(line)
            body = exchange["response"].get("body")
            if isinstance(body, dict) and (
                body.get("kind") in {"APIVersions", "APIGroup", "APIGroupList", "APIResourceList"}
                or body.get("kind") == "APIGroupDiscoveryList"
            ):
                bodies.append((urlsplit(exchange["request"]["path"]).path, body))
    return bodies


def answer_to(path: str, kind: str) -> dict[str, Any] | None:
    _, prefix, *rest = path.split("/")
    if kind == "APIGroupDiscoveryList":
        return aggregated(BUILT_IN, core=prefix == "api")
    if kind == "APIResourceList":
        return api_resource_list(BUILT_IN, rest[0] if prefix == "apis" else "", rest[-1])
    if kind == "APIVersions":
        return api_versions("192.0.2.2:36443")
    return api_group(BUILT_IN, rest[0]) if rest else api_group_list(BUILT_IN)


def test_every_body_is_the_real_servers_in_the_same_order(recorded: list[tuple[str, Any]]) -> None:
    assert {path for path, _ in recorded} >= {"/api", "/apis", "/apis/apps", "/api/v1", "/apis/batch/v1"}
    for path, body in recorded:
        assert json.dumps(answer_to(path, body["kind"])) == json.dumps(body), path


def test_eviction_is_found_where_drain_looks_for_it() -> None:
    listed = api_resource_list(BUILT_IN, "", "v1")
    assert listed is not None
    eviction = next(entry for entry in listed["resources"] if entry["name"] == "pods/eviction")
    assert (eviction["group"], eviction["version"], eviction["kind"]) == ("policy", "v1", "Eviction")


def test_custom_groups_follow_the_built_in_ones_with_the_preferred_version_first() -> None:
    resources = in_discovery_order([crontabs("v1beta1"), crontabs("v1"), crontabs(group="a.example.com")])
    groups = api_group_list(resources)["groups"]
    assert [group["name"] for group in groups][-3:] == [
        "flowcontrol.apiserver.k8s.io",
        "a.example.com",
        "stable.example.com",
    ]
    assert groups[-1]["preferredVersion"]["version"] == "v1"
    assert [entry["version"] for entry in groups[-1]["versions"]] == ["v1", "v1beta1"]


def test_custom_resources_name_their_group_and_version_in_the_aggregated_form() -> None:
    body = aggregated(in_discovery_order([crontabs()]), core=False, version="v2beta1")
    assert body["apiVersion"] == "apidiscovery.k8s.io/v2beta1"
    (resource,) = body["items"][-1]["versions"][0]["resources"]
    assert resource["responseKind"] == {"group": "stable.example.com", "version": "v1", "kind": "CronTab"}
    assert [one["responseKind"]["kind"] for one in resource["subresources"]] == ["CronTab", "Scale"]
    assert resource["subresources"][1]["responseKind"]["group"] == "autoscaling"


def test_unknown_groups_and_versions_have_no_body() -> None:
    assert api_group(BUILT_IN, "nope") is None
    assert api_group(BUILT_IN, "") is None
    assert api_resource_list(BUILT_IN, "apps", "v9") is None


def test_versions_are_ordered_by_stability_and_then_by_number() -> None:
    preferred = ["v10", "v2", "v1", "v11beta2", "v10beta3", "v3beta1", "v12alpha1", "v11alpha2", "foo1", "foo10"]
    assert sorted(sorted(preferred), key=version_order) == preferred
