"""What is renamed, what is kept, and what still belongs together."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from bayplan.analysis.anonymizing.objects import anonymized
from bayplan.model.kinds import Object
from bayplan.model.reading import from_dicts

SECRET = "acme"


def renamed(*documents: dict[str, Any]) -> list[Any]:
    """The objects under other names, as plain data."""
    return [msgspec.to_builtins(obj) for obj in anonymized(read(*documents))]


def read(*documents: dict[str, Any]) -> list[Object]:
    return from_dicts(documents).objects


def a_pod(name: str = "web", spec: dict[str, Any] | None = None, **metadata: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, **metadata}, "spec": spec or {}}


def a_node(name: str = "n1", labels: dict[str, str] | None = None, **parts: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels or {}}, **parts}


def test_the_objects_given_stay_as_they_are() -> None:
    objects = read(a_pod("web", {"nodeName": "n1"}, labels={"app": "web"}))
    before = msgspec.json.encode(objects)
    anonymized(objects)
    assert msgspec.json.encode(objects) == before


def test_whatever_refers_to_a_node_still_does() -> None:
    affinity = {
        "nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {
                "nodeSelectorTerms": [
                    {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["acme-1"]}]},
                    {"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "In", "values": ["acme-1"]}]},
                ]
            }
        }
    }
    node, pod, csi_node, piece = renamed(
        a_node("acme-1", {"kubernetes.io/hostname": "acme-1"}),
        {**a_pod("web", {"nodeName": "acme-1", "affinity": affinity}), "status": {"nominatedNodeName": "acme-1"}},
        {"apiVersion": "storage.k8s.io/v1", "kind": "CSINode", "metadata": {"name": "acme-1"}},
        {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "ResourceSlice",
            "metadata": {"name": "acme-1-gpus"},
            "spec": {"driver": "gpu.example.com", "nodeName": "acme-1", "pool": {"name": "acme-1"}},
        },
    )
    name = node["metadata"]["name"]
    terms = pod["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    assert SECRET not in name
    assert node["metadata"]["labels"] == {"kubernetes.io/hostname": name}
    assert (pod["spec"]["nodeName"], pod["status"]["nominatedNodeName"]) == (name, name)
    assert terms["nodeSelectorTerms"] == [
        {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [name]}]},
        {"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "In", "values": [name]}]},
    ]
    assert csi_node["metadata"]["name"] == name
    assert (piece["spec"]["nodeName"], piece["spec"]["pool"]["name"]) == (name, name)
    assert "example" not in piece["spec"]["driver"]


def test_selectors_still_select() -> None:
    pod, budget, service = renamed(
        a_pod("web", labels={"acme.example/app": "acme-shop"}, namespace="acme"),
        {
            "apiVersion": "policy/v1",
            "kind": "PodDisruptionBudget",
            "metadata": {"name": "web", "namespace": "acme"},
            "spec": {
                "selector": {
                    "matchLabels": {"acme.example/app": "acme-shop"},
                    "matchExpressions": [{"key": "acme.example/app", "operator": "In", "values": ["acme-shop"]}],
                }
            },
        },
        {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"name": "web", "namespace": "acme"},
            "spec": {"selector": {"acme.example/app": "acme-shop"}},
        },
    )
    labels = pod["metadata"]["labels"]
    ((key, value),) = labels.items()
    assert SECRET not in f"{key} {value} {pod['metadata']['namespace']}"
    assert budget["spec"]["selector"]["matchLabels"] == labels
    assert budget["spec"]["selector"]["matchExpressions"] == [{"key": key, "operator": "In", "values": [value]}]
    assert service["spec"]["selector"] == labels
    assert service["metadata"]["namespace"] == pod["metadata"]["namespace"]


def test_taints_are_still_tolerated() -> None:
    node, pod = renamed(
        a_node(spec={"taints": [{"key": "acme/team", "value": "acme", "effect": "NoSchedule"}]}),
        a_pod(spec={"tolerations": [{"key": "acme/team", "value": "acme"}, {"operator": "Exists"}]}),
    )
    (taint,) = node["spec"]["taints"]
    assert SECRET not in taint["key"] + taint["value"]
    assert pod["spec"]["tolerations"] == [{"key": taint["key"], "value": taint["value"]}, {"operator": "Exists"}]


def test_numbers_that_are_compared_stay_numbers() -> None:
    term = {"matchExpressions": [{"key": "acme/cores", "operator": "Gt", "values": ["8"]}]}
    required = "requiredDuringSchedulingIgnoredDuringExecution"
    node, other, pod = renamed(
        a_node("n1", {"acme/cores": "16", "acme/rack": "7"}),
        a_node("n2", {"acme/cores": "many"}),
        a_pod(spec={"affinity": {"nodeAffinity": {required: {"nodeSelectorTerms": [term]}}}}),
    )
    (term,) = pod["spec"]["affinity"]["nodeAffinity"][required]["nodeSelectorTerms"]
    (requirement,) = term["matchExpressions"]
    assert node["metadata"]["labels"][requirement["key"]] == "2"
    assert requirement["values"] == ["1"]
    assert not {"7", "16", "many"} & {*node["metadata"]["labels"].values(), *other["metadata"]["labels"].values()}


def test_pods_of_a_stateful_set_keep_their_ordinals() -> None:
    workload, pod, claim = renamed(
        {"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": "acme-db"}},
        a_pod("acme-db-10", labels={"statefulset.kubernetes.io/pod-name": "acme-db-10"}),
        {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "data-acme-db-10"}},
    )
    name = workload["metadata"]["name"]
    assert pod["metadata"]["name"] == f"{name}-10"
    assert pod["metadata"]["labels"] == {"statefulset.kubernetes.io/pod-name": f"{name}-10"}
    assert claim["metadata"]["name"].endswith(f"-{name}-10")


def test_a_claim_waits_for_the_pod_of_its_ordinal() -> None:
    """The StatefulSet's next pod number 2 finds the claim that an earlier one left."""
    workload, claim, other = renamed(
        {"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": "acme-db"}},
        {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "data-acme-db-2"}},
        {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "data-other-7"}},
    )
    assert claim["metadata"]["name"].endswith(f"-{workload['metadata']['name']}-2")
    assert not other["metadata"]["name"].endswith("-7")


def test_owners_and_their_identities() -> None:
    job, pod, other = renamed(
        {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "acme", "uid": "1-2-3"}},
        a_pod(
            labels={"batch.kubernetes.io/controller-uid": "1-2-3"},
            ownerReferences=[{"apiVersion": "batch/v1", "kind": "Job", "name": "acme", "uid": "1-2-3"}],
        ),
        a_pod("x", ownerReferences=[{"apiVersion": "acme.example/v1", "kind": "AcmeRun", "name": "acme"}]),
    )
    name, uid = job["metadata"]["name"], job["metadata"]["uid"]
    assert uid == "uid-1"
    assert pod["metadata"]["ownerReferences"] == [{"apiVersion": "batch/v1", "kind": "Job", "name": name, "uid": uid}]
    assert pod["metadata"]["labels"] == {"batch.kubernetes.io/controller-uid": uid}
    assert SECRET not in str(other).lower()


def test_images_with_and_without_a_tag_stay_the_same_image() -> None:
    node, *pods = renamed(
        a_node(status={"images": [{"names": ["acme.example:5000/shop/web:latest", "acme/db@sha256:0a1b"]}]}),
        *(
            a_pod(f"p{number}", {"containers": [{"name": "main", "image": image}]})
            for number, image in enumerate(["acme.example:5000/shop/web", "acme/db@sha256:0a1b"])
        ),
    )
    first, second = node["status"]["images"][0]["names"]
    assert SECRET not in first + second
    assert first == pods[0]["spec"]["containers"][0]["image"] + ":latest"
    assert second == pods[1]["spec"]["containers"][0]["image"]


def test_zones_of_a_volume_stay_apart() -> None:
    node, volume = renamed(
        a_node(labels={"topology.kubernetes.io/zone": "acme-a"}),
        {
            "apiVersion": "v1",
            "kind": "PersistentVolume",
            "metadata": {"name": "pv", "labels": {"topology.kubernetes.io/zone": "acme-a__acme-b"}},
        },
    )
    zone = node["metadata"]["labels"]["topology.kubernetes.io/zone"]
    first, second = volume["metadata"]["labels"]["topology.kubernetes.io/zone"].split("__")
    assert first == zone != second


@pytest.mark.parametrize(
    ("document", "words"),
    [
        (a_pod(spec={"schedulerName": "default-scheduler"}), "'schedulerName': 'default-scheduler'"),
        (a_pod(spec={"priorityClassName": "system-node-critical"}), "'priorityClassName': 'system-node-critical'"),
        (a_pod(spec={"containers": [{"resources": {"limits": {"nvidia.com/gpu": 1}}}]}), "'nvidia.com/gpu': 1"),
        (a_pod(spec={"containers": [{"resources": {"limits": {"hugepages-2Mi": "4Mi"}}}]}), "'hugepages-2Mi': '4Mi'"),
        (a_node(labels={"kubernetes.io/os": "linux"}), "'kubernetes.io/os': 'linux'"),
        (a_pod(spec={"containers": [{"ports": [{"hostPort": 80, "hostIP": "0.0.0.0"}]}]}), "'hostIP': '0.0.0.0'"),
        (a_pod(finalizers=["kubernetes.io/pv-protection"]), "'finalizers': ['kubernetes.io/pv-protection']"),
    ],
)
def test_words_of_kubernetes_stay(document: dict[str, Any], words: str) -> None:
    (new,) = renamed(document)
    assert words in str(new)


def test_drivers_that_are_known_keep_their_names() -> None:
    driver, node = renamed(
        {"apiVersion": "storage.k8s.io/v1", "kind": "CSIDriver", "metadata": {"name": "ebs.csi.aws.com"}},
        {
            "apiVersion": "storage.k8s.io/v1",
            "kind": "CSINode",
            "metadata": {"name": "n1"},
            "spec": {"drivers": [{"name": "ebs.csi.aws.com", "topologyKeys": ["topology.ebs.csi.aws.com/zone"]}]},
        },
    )
    assert driver["metadata"]["name"] == "ebs.csi.aws.com"
    assert node["spec"]["drivers"] == [{"name": "ebs.csi.aws.com", "topologyKeys": ["topology.ebs.csi.aws.com/zone"]}]


def test_a_class_of_devices_as_a_resource() -> None:
    prefix = "deviceclass.resource.kubernetes.io/"
    device_class, pod = renamed(
        {"apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass", "metadata": {"name": "acme-gpu"}},
        a_pod(spec={"containers": [{"resources": {"requests": {f"{prefix}acme-gpu": 1}}}]}),
    )
    requests = pod["spec"]["containers"][0]["resources"]["requests"]
    assert requests == {prefix + device_class["metadata"]["name"]: 1}


def test_annotations_go_but_for_those_that_decide() -> None:
    node, claim = renamed(
        a_node("acme-1"),
        {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "metadata": {
                "name": "data",
                "annotations": {
                    "acme/note": "acme",
                    "kubectl.kubernetes.io/last-applied-configuration": "acme",
                    "pv.kubernetes.io/bind-completed": "yes",
                    "volume.kubernetes.io/selected-node": "acme-1",
                },
            },
        },
    )
    assert claim["metadata"]["annotations"] == {
        "pv.kubernetes.io/bind-completed": "yes",
        "volume.kubernetes.io/selected-node": node["metadata"]["name"],
    }


def test_messages_of_conditions_go() -> None:
    condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "acme-1 is full"}
    (pod,) = renamed({**a_pod(), "status": {"conditions": [condition]}})
    assert pod["status"]["conditions"] == [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}]


def test_a_disk_keeps_the_form_that_its_driver_reads() -> None:
    (pod,) = renamed(
        a_pod(spec={"volumes": [{"name": "v", "awsElasticBlockStore": {"volumeID": "aws://acme-1a/vol-0acme"}}]})
    )
    volume_id = pod["spec"]["volumes"][0]["awsElasticBlockStore"]["volumeID"]
    assert volume_id.startswith("aws://")
    assert "/vol-" in volume_id
    assert SECRET not in volume_id
