"""Which kinds are watched, and where they are."""

from __future__ import annotations

from typing import Any

import pytest

from bayplan.client.watched_kinds import kinds_to_watch, watched_kind
from bayplan.config.loading import load_configuration
from bayplan.config.releases import DEFAULT_RELEASE, RELEASES

#: As kube-scheduler v1.36 was seen to ask for them.
RECORDED = [
    "/api/v1/namespaces",
    "/api/v1/nodes",
    "/api/v1/persistentvolumeclaims",
    "/api/v1/persistentvolumes",
    "/api/v1/pods",
    "/api/v1/replicationcontrollers",
    "/api/v1/services",
    "/apis/apps/v1/replicasets",
    "/apis/apps/v1/statefulsets",
    "/apis/policy/v1/poddisruptionbudgets",
    "/apis/resource.k8s.io/v1/deviceclasses",
    "/apis/resource.k8s.io/v1/resourceclaims",
    "/apis/resource.k8s.io/v1/resourceslices",
    "/apis/storage.k8s.io/v1/csidrivers",
    "/apis/storage.k8s.io/v1/csinodes",
    "/apis/storage.k8s.io/v1/csistoragecapacities",
    "/apis/storage.k8s.io/v1/storageclasses",
    "/apis/storage.k8s.io/v1/volumeattachments",
]


def watched(without: tuple[str, ...] = (), **options: Any) -> list[str]:
    disabled = [{"name": name} for name in without]
    document = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [{"plugins": {"multiPoint": {"disabled": disabled}}}],
    }
    configuration = load_configuration(document, **{"release": DEFAULT_RELEASE, **options})
    return [kind.info.kind for kind in kinds_to_watch(configuration)]


def test_the_default_profile_watches_what_kube_scheduler_watches() -> None:
    assert sorted(kind.path for kind in kinds_to_watch(load_configuration(release=DEFAULT_RELEASE))) == RECORDED


def test_pods_come_last_and_what_they_refer_to_first() -> None:
    kinds = watched()
    assert (kinds[:2], kinds[-1]) == (["Namespace", "Node"], "Pod")


@pytest.mark.parametrize(
    ("plugins", "unwatched"),
    [
        (("InterPodAffinity",), {"Namespace"}),
        (("PodTopologySpread",), {"Service", "ReplicationController", "ReplicaSet", "StatefulSet"}),
        (("DefaultPreemption",), {"PodDisruptionBudget"}),
        (("NodeVolumeLimits",), {"VolumeAttachment"}),
        (("VolumeBinding",), {"CSIStorageCapacity"}),
        (("VolumeZone",), set()),
    ],
)
def test_a_kind_that_no_plugin_looks_at_is_not_watched(plugins: tuple[str, ...], unwatched: set[str]) -> None:
    assert set(watched()) - set(watched(plugins)) == unwatched


def test_taint_rules_of_devices_are_watched_where_their_gate_is_on() -> None:
    assert "DeviceTaintRule" in watched(feature_gates={"DRADeviceTaintRules": True})
    assert watched_kind("DeviceTaintRule").path == "/apis/resource.k8s.io/v1beta2/devicetaintrules"


@pytest.mark.parametrize(("version", "path"), [("1.36", None), ("1.37", "/apis/resource.k8s.io/v1/devicetaintrules")])
def test_device_taint_rules_are_stable_since_1_37(version: str, path: str | None) -> None:
    paths = [kind.path for kind in kinds_to_watch(load_configuration(release=RELEASES[version]))]
    assert [each for each in paths if "devicetaintrules" in each] == ([] if path is None else [path])


@pytest.mark.parametrize(("gates", "is_watched"), [("GenericWorkload=true", True), ("", False)])
def test_pod_groups_are_watched_where_groups_are_on_and_before_their_pods(gates: str, *, is_watched: bool) -> None:
    configuration = load_configuration(None, gates, release=RELEASES["1.37"], with_groups=True)
    paths = [kind.path for kind in kinds_to_watch(configuration)]
    assert ("/apis/scheduling.k8s.io/v1beta1/podgroups" in paths[:-1]) is is_watched
    assert paths[-1] == "/api/v1/pods"
