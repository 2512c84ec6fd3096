"""Explanations of the moment at which something was decided, from the log."""

from __future__ import annotations

import asyncio
from typing import Any

from tests.support.dashboard import Served, node, pod, served

from bayplan.web.explaining import BOUND, NOMINATED, Explainer, Moment, moments_of


def _explained(cluster: Served, when: str = "") -> Any:
    return asyncio.run(Explainer(cluster.registry.storage).explain("default", "web", when))


def _verdict(answer: Any) -> Any:
    return answer["parts"][0]


def _bind(cluster: Served, name: str, node_name: str) -> None:
    cluster.change("Pod", name, {"spec": {"nodeName": node_name}})


def _preempting() -> Served:
    """`low` fills the only node; `web` is nominated, then low goes and web is bound."""
    cluster = served([node("node-1", cpu="2"), _class("urgent", 1000), pod("low", cpu="2")])
    _bind(cluster, "low", "node-1")
    cluster.create(pod("web", cpu="1", priorityClassName="urgent"))
    cluster.change("Pod", "web", {"status": {"nominatedNodeName": "node-1"}}, "status")
    entry = cluster.registry.storage.find("pods", "default", "low")
    assert entry is not None
    cluster.registry.storage.remove("pods", entry)
    _bind(cluster, "web", "node-1")
    return cluster


def _class(name: str, value: int) -> dict[str, Any]:
    kind = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass"}
    return {**kind, "metadata": {"name": name}, "value": value}


def test_moments_are_just_before_the_writes_that_made_them() -> None:
    cluster = _preempting()
    log = cluster.registry.storage.log
    moments = moments_of(log.since(log.expired), "default", "web")
    assert [(moment.what, moment.node) for moment in moments] == [(NOMINATED, "node-1"), (BOUND, "node-1")]
    assert moments[1].version == log.version - 1


def test_a_pod_of_the_same_name_that_was_there_before_is_forgotten() -> None:
    cluster = served([node("node-1"), pod("web")])
    _bind(cluster, "web", "node-1")
    entry = cluster.registry.storage.find("pods", "default", "web")
    assert entry is not None
    cluster.registry.storage.remove("pods", entry)
    cluster.create(pod("web"))
    log = cluster.registry.storage.log
    assert moments_of(log.since(log.expired), "default", "web") == []


def test_who_had_to_go_is_known_after_they_are_gone() -> None:
    answer = _explained(_preempting())
    assert answer["moment"]["what"] == NOMINATED
    assert _verdict(answer) == {
        "part": "sentence",
        "text": "default/web does not fit on the only node; evicting default/low from node-1 would make room.",
        "tone": "warn",
    }
    assert answer["pods"] == ["default/low"]


def test_of_a_pod_that_was_just_bound_the_binding_is_explained() -> None:
    cluster = served([node("node-1"), pod("web")])
    _bind(cluster, "web", "node-1")
    cluster.create(pod("later", cpu="3900m"))
    _bind(cluster, "later", "node-1")
    assert _verdict(_explained(cluster))["tone"] == "good"
    assert _verdict(_explained(cluster, "now"))["tone"] == "bad"


def test_any_version_that_the_log_reaches_can_be_asked_for() -> None:
    cluster = _preempting()
    version = cluster.registry.storage.version
    answer = _explained(cluster, str(version - 1))
    assert answer["moment"] == {"what": BOUND, "version": version - 1, "node": "node-1"}
    assert _verdict(answer)["text"].startswith("default/web fits on the only node; node-1 wins")
    assert Moment(NOMINATED, answer["moments"][0]["version"], "node-1").version < version


def test_explaining_changes_nothing() -> None:
    cluster = _preempting()
    before = {entry.key: dict(entry.document) for entry in cluster.registry.storage.entries("pods")}
    version = cluster.registry.storage.version
    _explained(cluster)
    assert {entry.key: entry.document for entry in cluster.registry.storage.entries("pods")} == before
    assert cluster.registry.storage.version == version
