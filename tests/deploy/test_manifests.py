"""The manifests: taken by an API server, the same from Helm and from Kustomize, and as careful as they claim to be."""

from __future__ import annotations

import json
import shutil
import subprocess
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest
import yaml
from tests.support.helm_charts import chart_documents, render_chart

from bayplan.cli.main import cli
from bayplan.cli.run import command
from bayplan.config.loading import load_configuration
from bayplan.config.releases import DEFAULT_RELEASE
from bayplan.testing import LiveCluster, cluster

DEPLOY = Path(__file__).resolve().parents[2] / "deploy"
CHART = DEPLOY / "helm" / "bayplan"
BASE, OVERLAYS = DEPLOY / "kustomize" / "base", DEPLOY / "kustomize" / "overlays"
NAMESPACE = "bayplan-system"
FULL: dict[str, Any] = {
    "config": {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [{"schedulerName": "own"}],
    },
    "extraArgs": ["--feature-gates=SchedulerAsyncPreemption=true"],
    "imagePullSecrets": [{"name": "secret"}],
    "nodeSelector": {"a": "b"},
    "plugins": {"configMap": "plugins"},
    "podAnnotations": {"a": "b"},
    "podLabels": {"a": "b"},
    "serviceAccount": {"annotations": {"a": "b"}},
}
VARIANTS: dict[str, dict[str, Any]] = {
    "default": {},
    "shadow": {"shadow": True},
    "full": FULL,
    "plugins-from-an-image": {"plugins": {"image": "plugins:1"}},
}
#: What each overlay is in the chart's terms.
AS_OVERLAYS: dict[str, dict[str, Any]] = {
    "second-scheduler": {},
    "shadow": {"shadow": True, "schedulerName": "default-scheduler"},
    "replace": {"schedulerName": "default-scheduler", "leaderElection": {"resourceName": "kube-scheduler"}},
}


def rendered(values: dict[str, Any], service: str = "Helm") -> list[Any]:
    return chart_documents(CHART, values, name="bayplan", namespace=NAMESPACE, service=service)


def only(documents: list[Any], kind: str) -> Any:
    (found,) = [document for document in documents if document["kind"] == kind]
    return found


def in_order(documents: list[Any]) -> list[Any]:
    """Comparable: sorted, and with what a file of a ConfigMap says instead of its text."""
    read = [
        {**document, "data": {name: yaml.safe_load(text) for name, text in document["data"].items()}}
        if document["kind"] == "ConfigMap"
        else document
        for document in documents
    ]
    return sorted(read, key=lambda document: (document["kind"], document["metadata"]["name"]))


@pytest.fixture(scope="module")
def live() -> Iterator[LiveCluster]:
    with cluster(nodes=0, scheduler=False, controllers=False) as running:
        running.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})
        yield running


def check(live: LiveCluster, document: Any) -> None:
    """Creates the object as a dry run, refusing every field that the server does not know."""
    kind, metadata = document["kind"], document["metadata"]
    plural = "poddisruptionbudgets" if kind == "PodDisruptionBudget" else f"{kind.lower()}s"
    version = document["apiVersion"]
    prefix = f"/api/{version}" if "/" not in version else f"/apis/{version}"
    scope = f"/namespaces/{metadata['namespace']}" if "namespace" in metadata else ""
    url = f"{live.url}{prefix}{scope}/{plural}?dryRun=All&fieldValidation=Strict"
    headers = {"Content-Type": "application/json", "Authorization": f"Bearer {live.token}"}
    request = urllib.request.Request(url, json.dumps(document).encode(), headers)
    try:
        with urllib.request.urlopen(request, timeout=5) as response:
            assert response.status == 201
    except urllib.error.HTTPError as error:
        with error:
            raise AssertionError(f"{kind} {metadata['name']}: {error.read().decode()}") from error


@pytest.mark.parametrize("values", VARIANTS.values(), ids=VARIANTS)
def test_an_api_server_takes_the_charts_objects_with_every_field(live: LiveCluster, values: dict[str, Any]) -> None:
    for document in rendered(values):
        check(live, document)


def test_a_field_that_does_not_exist_would_be_refused(live: LiveCluster) -> None:
    deployment = only(rendered({}), "Deployment")
    deployment["spec"]["template"]["spec"]["containers"][0]["comand"] = ["bayplan"]
    with pytest.raises(AssertionError, match="unknown field"):
        check(live, deployment)


def test_the_base_of_kustomize_is_the_chart_with_its_defaults() -> None:
    base = [document for document in yaml.safe_load_all((BASE / "bayplan.yaml").read_text()) if document]
    assert in_order(base) == in_order(rendered({}, "kustomize"))


@pytest.mark.skipif(shutil.which("kubectl") is None, reason="kubectl builds the overlays")
@pytest.mark.parametrize("overlay", sorted(path.name for path in OVERLAYS.iterdir()))
def test_each_overlay_is_the_chart_with_some_values(overlay: str) -> None:
    building = ["kubectl", "kustomize", str(OVERLAYS / overlay)]
    built = subprocess.run(building, capture_output=True, text=True, check=True, timeout=60).stdout
    namespace = yaml.safe_load((BASE / "namespace.yaml").read_text())
    expected = in_order([*rendered(AS_OVERLAYS[overlay], "kustomize"), namespace])
    assert in_order([*yaml.safe_load_all(built)]) == expected


def test_the_namespace_is_taken_too(live: LiveCluster) -> None:
    check(live, {**yaml.safe_load((BASE / "namespace.yaml").read_text()), "metadata": {"name": "another"}})


@pytest.mark.parametrize("values", [{}, FULL, {"shadow": True}], ids=["default", "full", "shadow"])
def test_the_configuration_and_the_flags_are_ones_that_bayplan_takes(values: dict[str, Any], tmp_path: Path) -> None:
    documents = rendered(values)
    file = tmp_path / "scheduler.yaml"
    file.write_text(only(documents, "ConfigMap")["data"]["scheduler.yaml"])
    expected = "own" if values is FULL else "bayplan"
    assert [profile.scheduler_name for profile in load_configuration(file, release=DEFAULT_RELEASE).profiles] == [
        expected
    ]
    (container,) = only(documents, "Deployment")["spec"]["template"]["spec"]["containers"]
    name, *arguments = container["args"]
    assert name == "run"
    command.make_context(name, arguments, parent=click.Context(cli, **cli.context_settings))


def test_pods_have_no_more_rights_on_their_node_than_they_need() -> None:
    spec = only(rendered({}), "Deployment")["spec"]["template"]["spec"]
    (container,) = spec["containers"]
    assert spec["securityContext"]["runAsNonRoot"] is True
    assert spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }


def test_two_replicas_of_which_one_may_be_evicted_at_a_time() -> None:
    documents = rendered({})
    assert only(documents, "Deployment")["spec"]["replicas"] == 2
    budget = only(documents, "PodDisruptionBudget")["spec"]
    assert budget["maxUnavailable"] == 1
    labels = only(documents, "Deployment")["spec"]["template"]["metadata"]["labels"]
    assert labels.items() >= budget["selector"]["matchLabels"].items()


def test_in_the_shadow_there_is_one_replica_that_may_write_nothing() -> None:
    documents = rendered({"shadow": True})
    assert {document["kind"] for document in documents}.isdisjoint({"Role", "PodDisruptionBudget"})
    assert only(documents, "Deployment")["spec"]["replicas"] == 1
    writes = [rule for rule in only(documents, "ClusterRole")["rules"] if rule["verbs"] != ["list", "watch"]]
    assert [rule["resources"] for rule in writes] == [["tokenreviews"], ["subjectaccessreviews"]]


def test_plugins_come_from_a_config_map_or_an_image() -> None:
    for plugins, volume in (
        ({"configMap": "mine"}, {"name": "plugins", "configMap": {"name": "mine"}}),
        ({"image": "mine:1"}, {"name": "plugins", "image": {"reference": "mine:1"}}),
    ):
        spec = only(rendered({"plugins": plugins}), "Deployment")["spec"]["template"]["spec"]
        assert volume in spec["volumes"]
        mount = {"name": "plugins", "mountPath": "/plugins", "readOnly": True}
        assert mount in spec["containers"][0]["volumeMounts"]


def test_prometheus_finds_the_service() -> None:
    documents = rendered({"serviceMonitor": {"enabled": True, "labels": {"release": "prometheus"}}})
    monitor, service = only(documents, "ServiceMonitor"), only(documents, "Service")
    assert service["metadata"]["labels"].items() >= monitor["spec"]["selector"]["matchLabels"].items()
    assert monitor["metadata"]["labels"]["release"] == "prometheus"
    assert [endpoint["port"] for endpoint in monitor["spec"]["endpoints"]] == [
        port["name"] for port in service["spec"]["ports"]
    ]


def test_the_notes_say_what_to_do_next() -> None:
    notes = render_chart(CHART, {}, name="bayplan", namespace=NAMESPACE)["NOTES.txt"]
    assert "Pods with `schedulerName: bayplan` are scheduled by bayplan." in notes
    assert "kubectl -n kube-system get lease bayplan" in notes
