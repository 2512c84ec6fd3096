"""Nodes as kubelets report them."""

from __future__ import annotations

from tests.support.api_server import Api

from bayplan.config.releases import DEFAULT_RELEASE, RELEASES
from bayplan.testing import builders as make
from bayplan.worlds.bootstrap import create
from bayplan.worlds.starting_nodes import documents_of, plain_nodes


def test_plain_nodes_are_ready_and_spread_over_zones() -> None:
    api = Api()
    for document in plain_nodes(4, api.now, release=DEFAULT_RELEASE):
        create(api.registry, document, api.now)
    nodes = api.get("/api/v1/nodes")["items"]
    assert [node["metadata"]["labels"]["topology.kubernetes.io/zone"] for node in nodes] == [
        "zone-a",
        "zone-b",
        "zone-c",
        "zone-a",
    ]
    ready = [known for node in nodes for known in node["status"]["conditions"] if known["type"] == "Ready"]
    assert {known["status"] for known in ready} == {"True"}
    assert {node["status"]["nodeInfo"]["kubeletVersion"] for node in nodes} == {"v1.36.4"}
    assert len({node["status"]["addresses"][0]["address"] for node in nodes}) == 4


def test_described_nodes_keep_what_they_have() -> None:
    node = make.node("big").capacity(cpu="64").taint("dedicated", "gpu").label("pool", "x").obj()
    (document,) = documents_of([node], 0, release=DEFAULT_RELEASE)
    assert document["status"]["allocatable"]["cpu"] == "64"
    assert document["spec"]["taints"][0]["key"] == "dedicated"
    assert document["metadata"]["labels"]["pool"] == "x"


def test_kubelets_declare_what_their_version_does_by_default() -> None:
    for release in RELEASES.values():
        (node,) = plain_nodes(1, 0, release)
        assert node["status"]["declaredFeatures"] == [
            "ExtendWebSocketsToKubelet",
            "InPlacePodLevelResourcesVerticalScaling",
            "InPlacePodVerticalScalingInitContainers",
            "RestartAllContainersOnContainerExits",
        ]
