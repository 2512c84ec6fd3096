"""Commands for kubectl: what is patched, where, and that the patch does it."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from bayplan.analysis.answers.fixing.answer import Fixes, Patch, RemedyKind
from bayplan.analysis.answers.fixing.patches import difference
from bayplan.analysis.cluster import Cluster
from bayplan.apiserver.patching.json_patch import apply_json_patch
from bayplan.model.kinds import Object
from bayplan.testing.builders import (
    cron_job,
    deployment,
    job,
    node,
    pod,
    priority_class,
    replica_set,
    replication_controller,
    stateful_set,
)
from bayplan.testing.building import Builder
from bayplan.testing.pods import PodBuilder

NODE = node("n").capacity(cpu="4").taint("gpu")


def fixes_of(*things: Builder[Any], name: str = "x") -> Fixes:
    return Cluster([thing.obj() for thing in things]).fix(name)


def patches_of(answer: Fixes, kind: RemedyKind) -> tuple[Patch, ...]:
    return next(fix.patches for fix in answer.fixes if [change.kind for change in fix.changes] == [kind])


def patch_of(answer: Fixes, kind: RemedyKind) -> Patch:
    (patch,) = patches_of(answer, kind)
    return patch


def operations(patch: Patch) -> list[dict[str, Any]]:
    words = shlex.split(patch.command)
    found: list[dict[str, Any]] = json.loads(words[words.index("--patch") + 1])
    return found


TOLERATION = {"key": "gpu", "operator": "Exists", "effect": "NoSchedule"}


def test_a_workload_is_patched_in_its_template() -> None:
    web = deployment("web", "shop").template(pod("t").labels(app="web"))
    patch = patch_of(fixes_of(NODE, web, name="shop/deployment/web"), RemedyKind.TOLERATION)
    assert patch.command.startswith("kubectl patch deployment web --namespace shop --type json --patch ")
    assert operations(patch) == [{"op": "add", "path": "/spec/template/spec/tolerations", "value": [TOLERATION]}]


def test_a_pending_pod_of_a_workload_is_patched_there_too() -> None:
    web = deployment("web").template(pod("t").labels(app="web"))
    made = replica_set("web-1").owner(web)
    patch = patch_of(fixes_of(NODE, web, made, pod("x").labels(app="web").owner(made)), RemedyKind.TOLERATION)
    assert patch.command.startswith("kubectl patch deployment web ")


def test_a_workload_that_is_not_in_the_input_is_patched_by_name() -> None:
    patch, _ = patches_of(fixes_of(NODE, pod("x").tolerates("a").owner(stateful_set("db"))), RemedyKind.TOLERATION)
    assert patch.command.startswith("kubectl patch statefulset db ")
    assert patch.note.startswith("StatefulSet default/db is not in the input")
    assert operations(patch) == [{"op": "add", "path": "/spec/template/spec/tolerations/-", "value": TOLERATION}]


def test_the_template_of_a_cron_job_and_the_job_that_it_has_started() -> None:
    nightly = cron_job("nightly")
    made = job("nightly-1").owner(nightly).template(pod("t").labels(app="x"))
    coming, current = patches_of(fixes_of(NODE, nightly, made, pod("x").owner(made)), RemedyKind.TOLERATION)
    assert operations(coming)[0]["path"] == "/spec/jobTemplate/spec/template/spec/tolerations"
    assert current.command.startswith("kubectl get job nightly-1 --namespace default --output yaml | kubectl patch ")
    assert operations(current)[0]["path"] == "/spec/template/spec/tolerations"


def test_a_job_is_recreated_under_a_selector_of_its_own() -> None:
    """The old one selects by a uid that the new one does not have."""
    labels = {"app": "x", "batch.kubernetes.io/controller-uid": "1", "controller-uid": "1", "job-name": "x"}
    made = job("x").template(pod("t").labels(labels))
    waiting = pod("x-1").labels(labels).owner(made)
    patch = patch_of(fixes_of(NODE, made, waiting, name="job/x"), RemedyKind.TOLERATION)
    assert patch.command.startswith("kubectl get job x --namespace default --output yaml | kubectl patch --local ")
    assert patch.command.endswith(" | kubectl replace --force --filename -")
    assert [operation["path"] for operation in operations(patch) if operation["op"] == "remove"] == [
        "/spec/selector",
        "/spec/template/metadata/labels/batch.kubernetes.io~1controller-uid",
        "/spec/template/metadata/labels/controller-uid",
    ]
    assert patch.note.startswith("The template of a Job is immutable")


def test_a_job_that_is_not_in_a_cluster_is_changed_in_its_manifest() -> None:
    made = job("x").manifest().template(pod("t").labels(app="x"))
    patch = patch_of(fixes_of(NODE, made, name="job/x"), RemedyKind.TOLERATION)
    assert patch.command.startswith("kubectl patch --local --filename MANIFEST.yaml ")
    assert patch.note == "The Job is not in a cluster yet: change its manifest."


@pytest.mark.parametrize("make", [stateful_set, replica_set, replication_controller])
def test_pods_that_their_controller_keeps_are_deleted(make: Callable[[str], Builder[Any]]) -> None:
    owner = make("db").template(pod("t").labels(app="db")).replicas(2)  # type: ignore[attr-defined]
    waiting = [pod(name).labels(app="db").owner(owner) for name in ("db-0", "db-1")]
    _, deletion = patches_of(fixes_of(NODE, owner, *waiting, name="db-0"), RemedyKind.TOLERATION)
    assert deletion.command == "kubectl delete pod db-0 db-1 --namespace default"


def test_gates_are_opened_on_all_pods_that_have_them() -> None:
    owner = replica_set("web").replicas(2).template(pod("t").labels(app="web").gate("later"))
    waiting = [pod(name).labels(app="web").gate("later").owner(owner) for name in ("a", "b")]
    answer = fixes_of(node("n"), owner, *waiting, name="rs/web")
    assert (answer.fixes[0].fixed, answer.pending) == (2, 2)
    assert patch_of(answer, RemedyKind.GATES).command.startswith(
        "kubectl patch pod a b --namespace default --type json "
    )


@pytest.mark.parametrize(
    ("wanting", "kind", "start"),
    [
        pytest.param(
            pod("x"), RemedyKind.TOLERATION, "kubectl patch pod x --namespace default --type json", id="tolerations"
        ),
        pytest.param(
            pod("x").tolerates("gpu").cpu("5"),
            RemedyKind.REQUEST,
            "kubectl patch pod x --namespace default --subresource resize --type json",
            id="requests are resized",
        ),
        pytest.param(
            pod("x").tolerates("gpu").cpu("5").memory("1Gi").limit(cpu="5", memory="1Gi"),
            RemedyKind.REQUEST,
            "kubectl get pod x --namespace default --output yaml | kubectl patch --local --filename - ",
            id="not if the quality of service changed",
        ),
        pytest.param(
            pod("x").tolerates("gpu").node_selector(disk="ssd"),
            RemedyKind.NODE_SELECTOR,
            "kubectl get pod x --namespace default --output yaml | kubectl patch --local --filename - ",
            id="anything else means a new pod",
        ),
        pytest.param(
            pod("x").tolerates("gpu").gate("later"),
            RemedyKind.GATES,
            "kubectl patch pod x --namespace default",
            id="gates",
        ),
        pytest.param(
            pod("x").manifest(),
            RemedyKind.TOLERATION,
            "kubectl patch --local --filename MANIFEST.yaml ",
            id="a manifest",
        ),
    ],
)
def test_a_pod_without_a_workload(wanting: PodBuilder, kind: RemedyKind, start: str) -> None:
    assert patch_of(fixes_of(NODE, wanting), kind).command.startswith(start)


def test_a_new_class_leaves_the_priority_to_admission() -> None:
    things = (node("n"), pod("y").cpu("4").running("n"), priority_class("high", 9))
    stored = patch_of(fixes_of(*things, pod("x").cpu("1")), RemedyKind.PRIORITY)
    assert operations(stored) == [
        {"op": "remove", "path": "/spec/priority"},
        {"op": "remove", "path": "/spec/preemptionPolicy"},
        {"op": "add", "path": "/spec/priorityClassName", "value": "high"},
    ]
    manifest = patch_of(fixes_of(*things, pod("x").cpu("1").manifest()), RemedyKind.PRIORITY)
    assert operations(manifest) == [{"op": "add", "path": "/spec/priorityClassName", "value": "high"}]


def test_a_new_class_is_added_where_the_manifest_names_none_and_there_is_a_default() -> None:
    classes = (priority_class("high", 9), priority_class("usual", 1, default=True))
    answer = fixes_of(node("n"), pod("y").cpu("4").priority(5).running("n"), *classes, pod("x").cpu("1").manifest())
    assert operations(patch_of(answer, RemedyKind.PRIORITY)) == [
        {"op": "add", "path": "/spec/priorityClassName", "value": "high"}
    ]


def test_requests_are_written_as_a_whole() -> None:
    """A manifest with limits alone has no requests that could be replaced."""
    limited = pod("x").tolerates("gpu").limit(cpu="5", memory="1Gi").manifest()
    patch = patch_of(fixes_of(NODE, limited), RemedyKind.REQUEST)
    path = "/spec/containers/0/resources/requests"
    assert operations(patch) == [{"op": "add", "path": path, "value": {"cpu": "4", "memory": "1Gi"}}]


def test_nodes_are_uncordoned_and_untainted() -> None:
    answer = fixes_of(node("n").taint("gpu", "a b"), pod("x"))
    assert patch_of(answer, RemedyKind.UNTAINT).command == "kubectl taint nodes n 'gpu=a b:NoSchedule-'"
    answer = fixes_of(node("n").unschedulable(), pod("x"))
    assert patch_of(answer, RemedyKind.UNCORDON).command == "kubectl uncordon n"


def test_a_patched_template_gives_pods_that_fit() -> None:
    web = deployment("web").template(pod("t").cpu("5").labels(app="web")).replicas(1).obj()
    answer = Cluster([node("n").obj(), web]).fix("deployment/web")
    document = apply_json_patch(msgspec.to_builtins(web), operations(patch_of(answer, RemedyKind.REQUEST)))
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
