"""The resources that a Kubernetes release serves, out of its discovery documents, as lines of `resources.txt`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bayplan.apiserver.schema.messages import GROUPS
from bayplan.apiserver.schema.resources import ALL_VERBS, SUBRESOURCE_VERBS
from generators.go_packages import BadSourceError

#: Versions in which a real server stores what it serves in another; no document says so.
_STORED = {
    ("events.k8s.io/v1", "events"): "v1",
    ("autoscaling/v1", "horizontalpodautoscalers"): "autoscaling/v2",
    ("admissionregistration.k8s.io/v1", "mutatingadmissionpolicies"): "admissionregistration.k8s.io/v1beta1",
    ("admissionregistration.k8s.io/v1", "mutatingadmissionpolicybindings"): "admissionregistration.k8s.io/v1beta1",
    ("apiextensions.k8s.io/v1", "customresourcedefinitions"): "apiextensions.k8s.io/v1beta1",
}


def discovered(kubernetes: Path) -> list[dict[str, Any]]:
    """Group versions with their resources, in discovery's order; those of the core group first."""
    folder = kubernetes / "api" / "discovery"
    core = _read_json(folder / "api__v1.json")
    groups = _read_json(folder / "aggregated_v2.json")["items"]
    stable = [
        {"apiVersion": f"{group['metadata']['name']}/{each['version']}", "resources": each["resources"]}
        for group in groups
        for each in group["versions"]
        if group["metadata"]["name"] in GROUPS and each["version"].strip("v").isdigit()
    ]
    return [{"apiVersion": "v1", "resources": [*_nested(core["resources"])]}, *stable]


def _read_json(path: Path) -> Any:
    try:
        return json.loads(path.read_bytes())
    except OSError as error:
        raise BadSourceError(f"{path}: {error.strerror}") from None


def _nested(resources: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """The flat list of the older form of discovery, as the aggregated form has it."""
    for each in resources:
        if "/" in each["name"]:
            continue
        inner = [other for other in resources if other["name"].startswith(f"{each['name']}/")]
        yield {
            "resource": each["name"],
            "responseKind": {"kind": each["kind"]},
            "scope": "Namespaced" if each["namespaced"] else "Cluster",
            "verbs": each["verbs"],
            "shortNames": each.get("shortNames", []),
            "categories": each.get("categories", []),
            "subresources": [
                {
                    "subresource": other["name"].split("/")[1],
                    "responseKind": {key: other.get(key, "") for key in ("group", "version", "kind")},
                    "verbs": other["verbs"],
                }
                for other in inner
            ],
        }


def resources_text(discovered: list[dict[str, Any]]) -> str:
    return "".join(f"{line}\n" for each in discovered for line in _group_version_lines(each))


def _group_version_lines(discovered: dict[str, Any]) -> Iterator[str]:
    api_version = discovered["apiVersion"]
    yield api_version
    for each in discovered["resources"]:
        words = [each["resource"], each["responseKind"]["kind"], each["scope"].lower()]
        words += _listed("verbs", each["verbs"], ALL_VERBS)
        words += _listed("short", each.get("shortNames", []), ())
        words += _listed("categories", each.get("categories", []), ())
        words += [f"stored={version}"] if (version := _STORED.get((api_version, each["resource"]))) else []
        yield "  " + " ".join(words)
        for inner in each.get("subresources", []):
            yield "    " + " ".join(_subresource_words(inner, api_version))


def _subresource_words(inner: dict[str, Any], api_version: str) -> list[str]:
    kind = inner["responseKind"]
    words = [inner["subresource"], kind["kind"], *_listed("verbs", inner["verbs"], SUBRESOURCE_VERBS)]
    kind_version = f"{kind['group']}/{kind['version']}" if kind.get("group") else kind.get("version", "")
    return [*words, f"api={kind_version}"] if kind_version not in ("", api_version) else words


def _listed(name: str, values: list[str], usual: tuple[str, ...]) -> list[str]:
    return [f"{name}={','.join(values)}"] if tuple(values) != usual else []
