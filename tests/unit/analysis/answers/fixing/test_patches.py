"""Commands for kubectl: what is patched, where, and that the patch does it."""

from __future__ import annotations

import json
import shlex
from typing import Any

import msgspec
import pytest

from bayplan.analysis.answers.fixing.answer import Fixes, Kind, Patch
from bayplan.analysis.answers.fixing.patches import difference
from bayplan.analysis.cluster import Cluster
from bayplan.apiserver.patching.json_patch import apply_json_patch
from bayplan.model.kinds import Object
from bayplan.testing.builders import cron_job, deployment, job, node, pod, priority_class, replica_set, stateful_set
from bayplan.testing.building import Builder
from bayplan.testing.pods import PodBuilder

NODE = node("n").capacity(cpu="4").taint("gpu")


def fixes_of(*things: Builder[Any], name: str = "x") -> Fixes:
    return Cluster([thing.obj() for thing in things]).fix(name)


def patch_of(answer: Fixes, kind: Kind) -> Patch:
    (patch,) = next(fix.patches for fix in answer.fixes if [change.kind for change in fix.changes] == [kind])
    return patch


def operations(patch: Patch) -> list[dict[str, Any]]:
    words = shlex.split(patch.command)
    found: list[dict[str, Any]] = json.loads(words[words.index("--patch") + 1])
    return found


TOLERATION = {"key": "gpu", "operator": "Exists", "effect": "NoSchedule"}


def test_a_workload_is_patched_in_its_template() -> None:
    web = deployment("web", "shop").template(pod("t").labels(app="web"))
    patch = patch_of(fixes_of(NODE, web, name="shop/deployment/web"), Kind.TOLERATION)
    assert patch.command.startswith("kubectl patch deployment web --namespace shop --type json --patch ")
    assert operations(patch) == [{"op": "add", "path": "/spec/template/spec/tolerations", "value": [TOLERATION]}]


def test_a_pending_pod_of_a_workload_is_patched_there_too() -> None:
    web = deployment("web").template(pod("t").labels(app="web"))
    made = replica_set("web-1").owner(web)
    patch = patch_of(fixes_of(NODE, web, made, pod("x").labels(app="web").owner(made)), Kind.TOLERATION)
    assert patch.command.startswith("kubectl patch deployment web ")


def test_a_workload_that_is_not_in_the_input_is_patched_by_name() -> None:
    patch = patch_of(fixes_of(NODE, pod("x").tolerates("a").owner(stateful_set("db"))), Kind.TOLERATION)
    assert patch.command.startswith("kubectl patch statefulset db ")
    assert patch.note.startswith("StatefulSet default/db is not in the input")
    assert operations(patch) == [{"op": "add", "path": "/spec/template/spec/tolerations/-", "value": TOLERATION}]


def test_the_template_of_a_cron_job() -> None:
    nightly = cron_job("nightly")
    made = job("nightly-1").owner(nightly).template(pod("t").labels(app="x"))
    patch = patch_of(fixes_of(NODE, nightly, made, pod("x").owner(made)), Kind.TOLERATION)
    assert operations(patch)[0]["path"] == "/spec/jobTemplate/spec/template/spec/tolerations"


def test_a_job_cannot_be_patched() -> None:
    patch = patch_of(fixes_of(NODE, job("x").template(pod("t").labels(app="x")), name="job/x"), Kind.TOLERATION)
    assert patch.command.startswith("kubectl patch --local --filename MANIFEST.yaml ")
    assert patch.note.startswith("The template of a Job is immutable")


@pytest.mark.parametrize(
    ("wanting", "kind", "start"),
    [
        pytest.param(
            pod("x"), Kind.TOLERATION, "kubectl patch pod x --namespace default --type json", id="tolerations"
        ),
        pytest.param(
            pod("x").tolerates("gpu").cpu("5"),
            Kind.REQUEST,
            "kubectl patch pod x --namespace default --subresource resize --type json",
            id="requests are resized",
        ),
        pytest.param(
            pod("x").tolerates("gpu").cpu("5").memory("1Gi").limit(cpu="5", memory="1Gi"),
            Kind.REQUEST,
            "kubectl get pod x --namespace default --output yaml | kubectl patch --local --filename - ",
            id="not if the quality of service changed",
        ),
        pytest.param(
            pod("x").tolerates("gpu").node_selector(disk="ssd"),
            Kind.NODE_SELECTOR,
            "kubectl get pod x --namespace default --output yaml | kubectl patch --local --filename - ",
            id="anything else means a new pod",
        ),
        pytest.param(
            pod("x").tolerates("gpu").gate("later"), Kind.GATES, "kubectl patch pod x --namespace default", id="gates"
        ),
        pytest.param(
            pod("x").manifest(), Kind.TOLERATION, "kubectl patch --local --filename MANIFEST.yaml ", id="a manifest"
        ),
    ],
)
def test_a_pod_without_a_workload(wanting: PodBuilder, kind: Kind, start: str) -> None:
    assert patch_of(fixes_of(NODE, wanting), kind).command.startswith(start)


def test_a_new_class_leaves_the_priority_to_admission() -> None:
    things = (node("n"), pod("y").cpu("4").running("n"), priority_class("high", 9))
    stored = patch_of(fixes_of(*things, pod("x").cpu("1")), Kind.PRIORITY)
    assert operations(stored) == [
        {"op": "remove", "path": "/spec/priority"},
        {"op": "remove", "path": "/spec/preemptionPolicy"},
        {"op": "add", "path": "/spec/priorityClassName", "value": "high"},
    ]
    manifest = patch_of(fixes_of(*things, pod("x").cpu("1").manifest()), Kind.PRIORITY)
    assert operations(manifest) == [{"op": "add", "path": "/spec/priorityClassName", "value": "high"}]


def test_a_new_class_is_added_where_the_manifest_names_none_and_there_is_a_default() -> None:
    classes = (priority_class("high", 9), priority_class("usual", 1, default=True))
    answer = fixes_of(node("n"), pod("y").cpu("4").priority(5).running("n"), *classes, pod("x").cpu("1").manifest())
    assert operations(patch_of(answer, Kind.PRIORITY)) == [
        {"op": "add", "path": "/spec/priorityClassName", "value": "high"}
    ]


def test_requests_are_written_as_a_whole() -> None:
    """A manifest with limits alone has no requests that could be replaced."""
    limited = pod("x").tolerates("gpu").limit(cpu="5", memory="1Gi").manifest()
    patch = patch_of(fixes_of(NODE, limited), Kind.REQUEST)
    path = "/spec/containers/0/resources/requests"
    assert operations(patch) == [{"op": "add", "path": path, "value": {"cpu": "4", "memory": "1Gi"}}]


def test_nodes_are_uncordoned_and_untainted() -> None:
    answer = fixes_of(node("n").taint("gpu", "a b"), pod("x"))
    assert patch_of(answer, Kind.UNTAINT).command == "kubectl taint nodes n 'gpu=a b:NoSchedule-'"
    answer = fixes_of(node("n").unschedulable(), pod("x"))
    assert patch_of(answer, Kind.UNCORDON).command == "kubectl uncordon n"


def test_a_patched_template_gives_pods_that_fit() -> None:
    web = deployment("web").template(pod("t").cpu("5").labels(app="web")).replicas(1).obj()
    answer = Cluster([node("n").obj(), web]).fix("deployment/web")
    document = apply_json_patch(msgspec.to_builtins(web), operations(patch_of(answer, Kind.REQUEST)))
    patched: Object = msgspec.convert(document, type(web))
    assert Cluster([node("n").obj(), patched]).place().decisions[0].node == "n"


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ({"a": 1}, {"a": 1}, []),
        ({"a": 1}, {"a": 2}, [{"op": "replace", "path": "/a", "value": 2}]),
        ({"a/b~c": 1}, {}, [{"op": "remove", "path": "/a~1b~0c"}]),
        ({}, {"a": [1]}, [{"op": "add", "path": "/a", "value": [1]}]),
        ([1, 2, 3, 4], [2, 4], [{"op": "remove", "path": "/2"}, {"op": "remove", "path": "/0"}]),
        ([1], [1, 2, 3], [{"op": "add", "path": "/-", "value": 2}, {"op": "add", "path": "/-", "value": 3}]),
        ([{"a": 1}], [{"a": 2}], [{"op": "replace", "path": "/0/a", "value": 2}]),
    ],
)
def test_a_difference_turns_one_into_the_other(before: Any, after: Any, expected: list[dict[str, Any]]) -> None:
    found = list(difference({"doc": before}, {"doc": after}, ""))
    assert found == [each | {"path": f"/doc{each['path']}"} for each in expected]
    assert apply_json_patch({"doc": before}, found) == {"doc": after}
