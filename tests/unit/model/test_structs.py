"""The structs: how JSON names map to attributes, and what absence looks like."""

from collections.abc import Iterator
from copy import deepcopy
from typing import Any

import msgspec
import pytest
from tests.fuzz.inputs import cluster

from bayplan.model.kinds import KINDS, kind_info
from bayplan.model.meta import ObjectPart
from bayplan.model.pod import Pod
from bayplan.model.policy import PodDisruptionBudget
from bayplan.model.storage import PersistentVolume


def pod(spec: dict[str, Any]) -> Pod:
    return msgspec.convert({"kind": "Pod", "spec": spec}, Pod)


def test_absence() -> None:
    """Lists and maps are empty when absent, what may matter is None, the parts of an object are always there."""
    empty = Pod()
    assert empty.metadata.labels == {}
    assert empty.spec.containers == []
    assert empty.spec.priority is None
    assert empty.spec.affinity is None
    assert empty.status.phase == ""
    assert PodDisruptionBudget().status is None
    assert Pod().metadata.labels is not empty.metadata.labels


def test_affinities() -> None:
    """The long names of the affinities are `required` and `preferred`."""
    required, preferred = (
        "requiredDuringSchedulingIgnoredDuringExecution",
        "preferredDuringSchedulingIgnoredDuringExecution",
    )
    affinity = pod(
        {
            "affinity": {
                "nodeAffinity": {
                    required: {"nodeSelectorTerms": [{"matchExpressions": [{"key": "a", "operator": "Exists"}]}]},
                    preferred: [{"weight": 3, "preference": {}}],
                },
                "podAffinity": {required: [{"topologyKey": "zone"}]},
                "podAntiAffinity": {preferred: [{"weight": 7, "podAffinityTerm": {"topologyKey": "host"}}]},
            }
        }
    ).spec.affinity
    assert affinity is not None
    assert affinity.node_affinity is not None
    assert affinity.node_affinity.required is not None
    assert affinity.node_affinity.required.node_selector_terms[0].match_expressions[0].key == "a"
    assert affinity.node_affinity.preferred[0].weight == 3
    assert affinity.pod_affinity is not None
    assert affinity.pod_affinity.required[0].topology_key == "zone"
    assert affinity.pod_affinity.required[0].label_selector is None
    assert affinity.pod_anti_affinity is not None
    assert affinity.pod_anti_affinity.preferred[0].pod_affinity_term.topology_key == "host"


def test_names_with_capitals() -> None:
    """Names that are not plain camel case are mapped too."""
    spec = pod(
        {
            "containers": [{"ports": [{"hostPort": 80, "hostIP": "127.0.0.1"}]}],
            "volumes": [
                {"name": "a", "awsElasticBlockStore": {"volumeID": "vol-1"}},
                {"name": "b", "gcePersistentDisk": {"pdName": "disk-1"}},
                {"name": "c", "azureDisk": {"diskName": "d", "diskURI": "u"}},
            ],
        }
    ).spec
    assert spec.containers[0].ports[0].host_ip == "127.0.0.1"
    ebs, gce, azure = (
        spec.volumes[0].aws_elastic_block_store,
        spec.volumes[1].gce_persistent_disk,
        spec.volumes[2].azure_disk,
    )
    assert ebs is not None
    assert ebs.volume_id == "vol-1"
    assert gce is not None
    assert gce.pd_name == "disk-1"
    assert azure is not None
    assert azure.disk_uri == "u"


def test_quantities_stay_as_written() -> None:
    """Text, integers and fractions are kept, for the parser to read."""
    requests = {"cpu": 0.5, "memory": 1024, "pods": "1k"}
    spec = pod({"containers": [{"resources": {"requests": requests}}]}).spec
    assert spec.containers[0].resources.requests == requests


def test_volume_node_affinity() -> None:
    """A volume's node affinity has its own, short name for the required part."""
    volume = msgspec.convert(
        {"spec": {"nodeAffinity": {"required": {"nodeSelectorTerms": [{}]}}, "csi": {"volumeHandle": "h"}}},
        PersistentVolume,
    )
    assert volume.spec.node_affinity is not None
    assert volume.spec.node_affinity.required is not None
    assert len(volume.spec.node_affinity.required.node_selector_terms) == 1
    assert volume.spec.csi is not None
    assert volume.spec.csi.volume_handle == "h"


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_round_trip(kind: str) -> None:
    """Every kind writes its kind and reads back what it wrote."""
    info = KINDS[kind]
    obj = msgspec.convert({"metadata": {"name": "x", "labels": {"a": "b"}}}, info.struct)
    text = msgspec.json.encode(obj)
    assert msgspec.json.decode(text)["kind"] == kind
    assert msgspec.json.decode(text, type=info.struct) == obj


def changeable_parts(value: Any) -> Iterator[Any]:
    """All structs, lists and maps in a value, itself included."""
    if isinstance(value, ObjectPart):
        inner = [getattr(value, name) for name in value.__struct_fields__]
    elif isinstance(value, dict | list):
        inner = list(value.values() if isinstance(value, dict) else value)
    else:
        return
    yield value
    for item in inner:
        yield from changeable_parts(item)


@pytest.mark.parametrize("plain", cluster(), ids=lambda plain: f"{plain['kind']} {plain['metadata']['name']}")
def test_deep_copies_are_equal_and_share_nothing(plain: dict[str, Any]) -> None:
    obj = msgspec.convert(plain, KINDS[plain["kind"]].struct)
    copied = deepcopy(obj)
    assert type(copied) is type(obj)
    assert copied == obj
    parts = list(changeable_parts(obj))
    assert {id(part) for part in parts}.isdisjoint(id(part) for part in changeable_parts(copied))
    assert len(parts) > 2


def test_deep_copies_of_values_that_no_field_should_have() -> None:
    """Tests build wrong objects, too."""
    wrong = pod({})
    held: Any = ({"a"}, [1])
    wrong.metadata.name = held
    copied: Any = deepcopy(wrong)
    assert copied.metadata.name == held
    copied.metadata.name[1].append(2)
    assert held == ({"a"}, [1])


def test_integers_are_bounded() -> None:
    """An integer that Kubernetes could not hold is refused."""
    with pytest.raises(msgspec.ValidationError, match="priority"):
        pod({"priority": 2**31})


@pytest.mark.parametrize(
    ("api_version", "kind", "is_known"),
    [
        ("v1", "Pod", True),
        ("", "Pod", True),
        ("apps/v1", "Deployment", True),
        ("apps/v1beta1", "Deployment", True),
        ("policy/v1beta1", "PodDisruptionBudget", True),
        ("extensions/v1beta1", "Deployment", False),
        ("serving.knative.dev/v1", "Service", False),
        ("v1", "Deployment", False),
        ("v1", "ConfigMap", False),
    ],
)
def test_kind_info(api_version: str, kind: str, is_known: bool) -> None:
    """A kind is known by its name and its group; the version does not count."""
    assert (kind_info(api_version, kind) is not None) is is_known


def test_api_versions() -> None:
    """Each kind says the apiVersion it is written with."""
    assert KINDS["Pod"].api_version == "v1"
    assert KINDS["Deployment"].api_version == "apps/v1"
    assert KINDS["PriorityClass"].api_version == "scheduling.k8s.io/v1"
