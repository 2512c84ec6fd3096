"""Pods: what a write to the status leaves alone, and what it need not repeat."""

from __future__ import annotations

from typing import Any

from tests.support.api_server import PODS, Api, pod

OWNER = {"apiVersion": "v1", "kind": "ConfigMap", "name": "o", "uid": "u"}


def with_status(api: Api, **status: Any) -> Any:
    stored = api.get(f"{PODS}/p")
    stored["status"] = {**stored["status"], **status}
    return api.put(f"{PODS}/p/status", stored)


def test_owners_stay_and_other_metadata_may_come_along() -> None:
    api = Api()
    made = pod()
    made["metadata"] |= {"ownerReferences": [OWNER], "labels": {"a": "b"}}
    stored = api.post(PODS, made)
    stored["metadata"] |= {"ownerReferences": [{**OWNER, "uid": "v"}], "labels": {"c": "d"}}
    written = api.put(f"{PODS}/p/status", stored)["metadata"]
    assert (written["ownerReferences"], written["labels"]) == ([OWNER], {"c": "d"})


def test_the_class_and_the_generation_that_was_seen_need_not_be_repeated() -> None:
    api = Api()
    api.post(PODS, pod())
    condition = {"type": "Ready", "status": "True", "observedGeneration": 1}
    with_status(api, observedGeneration=1, conditions=[condition])
    stored = api.get(f"{PODS}/p")
    stored["status"] = {"conditions": [{"type": "Ready", "status": "False"}, {"type": "x/y", "status": "True"}]}
    written = api.put(f"{PODS}/p/status", stored)["status"]
    assert (written["qosClass"], written["observedGeneration"]) == ("BestEffort", 1)
    assert [one.get("observedGeneration") for one in written["conditions"]] == [1, None]
