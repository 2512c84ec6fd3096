"""Configurations as text: the defaults as kube-scheduler writes them, and nothing lost on the way back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from bayplan.config.loading import load_configuration
from bayplan.config.releases import DEFAULT_RELEASE, RELEASES
from bayplan.config.writing import configuration_document, configuration_text

#: What kube-scheduler v1.36.4 writes with `--write-config-to` and no configuration.
DEFAULTS = Path(__file__).parent / "kube_scheduler_defaults.yaml"


def document(**fields: Any) -> dict[str, Any]:
    return {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration", **fields}


def test_the_defaults_are_written_as_kube_scheduler_writes_them() -> None:
    assert yaml.safe_load(configuration_text(load_configuration(release=DEFAULT_RELEASE))) == yaml.safe_load(
        DEFAULTS.read_text()
    )


def test_what_1_37_writes_besides() -> None:
    before, after = (configuration_document(load_configuration(release=RELEASES[version])) for version in RELEASES)
    (old,), (new,) = before["profiles"], after["profiles"]
    assert new["plugins"].pop("podGroupPostFilter") == {}
    new["plugins"]["multiPoint"]["enabled"].sort(key=lambda plugin: plugin["name"])
    old["plugins"]["multiPoint"]["enabled"].sort(key=lambda plugin: plugin["name"])
    volumes = next(entry["args"] for entry in new["pluginConfig"] if entry["name"] == "VolumeBinding")
    assert volumes.pop("shape") == [{"utilization": 0, "score": 10}, {"utilization": 100, "score": 0}]
    assert after == before


@pytest.mark.parametrize(
    "given",
    [
        {"percentageOfNodesToScore": 30, "parallelism": 4, "delayCacheUntilActive": True},
        {"leaderElection": {"leaderElect": False, "leaseDuration": "1m30s"}},
        {"clientConnection": {"qps": 12.5, "burst": 7, "kubeconfig": "/k"}},
        {
            "extenders": [
                {
                    "urlPrefix": "http://e",
                    "filterVerb": "f",
                    "weight": 2,
                    "httpTimeout": "100ms",
                    "tlsConfig": {"caData": "aGk="},
                    "managedResources": [{"name": "example.com/x", "ignoredByScheduler": True}],
                }
            ]
        },
        {
            "profiles": [
                {"schedulerName": "a", "plugins": {"score": {"disabled": [{"name": "*"}]}}},
                {
                    "schedulerName": "b",
                    "percentageOfNodesToScore": 10,
                    "pluginConfig": [
                        {
                            "name": "NodeResourcesFit",
                            "args": {
                                "ignoredResources": ["example.com/y"],
                                "scoringStrategy": {
                                    "type": "RequestedToCapacityRatio",
                                    "resources": [{"name": "cpu", "weight": 3}],
                                    "requestedToCapacityRatio": {"shape": [{"utilization": 0, "score": 10}]},
                                },
                            },
                        },
                        {
                            "name": "PodTopologySpread",
                            "args": {
                                "defaultingType": "List",
                                "defaultConstraints": [
                                    {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "ScheduleAnyway"}
                                ],
                            },
                        },
                    ],
                },
            ]
        },
    ],
    ids=["process", "election", "connection", "extenders", "profiles"],
)
def test_what_is_written_reads_back_to_the_same(given: dict[str, Any]) -> None:
    once = configuration_document(load_configuration(document(**given), release=DEFAULT_RELEASE))
    again = load_configuration(once, release=DEFAULT_RELEASE)
    assert configuration_document(again) == once
    first = load_configuration(document(**given), release=DEFAULT_RELEASE)
    assert again.file.leader_election == first.file.leader_election
    assert again.file.client_connection == first.file.client_connection
    assert again.file.extenders == first.file.extenders
    for written, read in zip(again.profiles, first.profiles, strict=True):
        assert (written.plugins, written.score_weights, written.args) == (read.plugins, read.score_weights, read.args)
