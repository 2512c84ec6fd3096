"""Manifests that people use are applied with kubectl, on either side, and a second time nothing changes.

kubectl prints `configured` for some objects though nothing changed, against a real server too: its patch is not empty
when a manifest writes out what the server leaves out (`false`, `0`, nothing), what it writes in another way (`0.5` of a
CPU), or what is replaced as a whole (budgets' selectors, lists without keys that the server adds defaults to). That the
object stayed as it was is seen by its version.
"""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from tests.kubectl.programs import kubectl
from tests.kubectl.stories import cluster
from tests.support.recorded_answers import WITHOUT_EFFECT

UNKNOWN_FIELD = "karpenter-disruption-budget.yaml"
NEEDS_NAMESPACE = ("kube-prometheus-node-exporter-daemonset.yaml", "monitoring")
CONFIGURED_THOUGH_UNCHANGED = {
    "deployment.apps/argocd-redis-ha-haproxy": "keys of the strategy are listed",
    "networkpolicy.networking.k8s.io/argocd-application-controller-network-policy": "ports get a protocol",
    "networkpolicy.networking.k8s.io/argocd-repo-server-network-policy": "ports get a protocol",
    "job.batch/finetune-gemma-l4": "readOnly: false",
    "priorityclass.scheduling.k8s.io/high-priority-preempting": "globalDefault: false",
    "priorityclass.scheduling.k8s.io/low-priority-preempting": "globalDefault: false",
    "priorityclass.scheduling.k8s.io/placeholder": "globalDefault: false",
    "priorityclass.scheduling.k8s.io/longhorn-critical": "globalDefault: false",
    "poddisruptionbudget.policy/mysql-pdb": "selectors are replaced",
    "poddisruptionbudget.policy/zk-pdb": "selectors are replaced",
    "poddisruptionbudget.policy/pdb": "selectors are replaced",
    "statefulset.apps/dbc1": "claim templates get a volume mode",
    "statefulset.apps/zk": "0.5 of a CPU; claim templates get a volume mode",
    "configmap/ingress-nginx-controller": "data: nothing",
    "deployment.apps/ingress-nginx-controller": "minReadySeconds: 0",
    "validatingwebhookconfiguration.admissionregistration.k8s.io/ingress-nginx-admission": "rules get a scope",
    "deployment.apps/pdb": "a field that does not exist",
    "service/longhorn-frontend": "nodePort: nothing",
    "daemonset.apps/nvidia-device-plugin-daemonset": "env: nothing",
}


def _run(kubeconfig: Path, *arguments: str) -> tuple[str, str]:
    """What it prints, and its errors; warnings of what is only stored are expected."""
    command = [kubectl("1.36"), "--kubeconfig", str(kubeconfig), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout, "".join(line for line in done.stderr.splitlines(keepends=True) if WITHOUT_EFFECT not in line)


def _generations(kubeconfig: Path, file: Path) -> dict[str, object]:
    """What clients wrote of each object: metadata and status are others' to change."""
    found, _ = _run(kubeconfig, "get", "-f", str(file), "-o", "json")
    read = json.loads(found)
    items = read.get("items", [read])
    return {
        f"{item['kind']}/{item['metadata']['name']}": {
            key: item[key] for key in item if key not in ("metadata", "status")
        }
        for item in items
    }


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["client", "server"])
def test_manifests_apply_and_apply_again(shared: Path, tmp_path: Path, mode: str) -> None:
    if not kubectl("1.36"):
        pytest.skip("no kubectl 1.36 on the path")
    how = ("apply", "--server-side") if mode == "server" else ("apply",)
    with cluster(tmp_path, empty=False) as kubeconfig:
        for file in sorted((shared / "data" / "manifests").glob("*.yaml")):
            if file.name == NEEDS_NAMESPACE[0]:
                assert f'namespaces "{NEEDS_NAMESPACE[1]}" not found' in _run(kubeconfig, *how, "-f", str(file))[1]
                _run(kubeconfig, "create", "namespace", NEEDS_NAMESPACE[1])
            validate = ("--validate=ignore",) if file.name == UNKNOWN_FIELD else ()
            first, refused = _run(kubeconfig, *how, *validate, "-f", str(file))
            if validate and mode == "server":
                assert "allowPrivilegedEscalation: field not declared in schema" in refused
                continue
            assert (first != "", refused) == (True, ""), file.name
            before = _generations(kubeconfig, file)
            second, refused = _run(kubeconfig, *how, *validate, "-f", str(file))
            assert refused == "", file.name
            assert _generations(kubeconfig, file) == before, file.name
            unexpected = [line for line in second.splitlines() if not _is_as_expected(line, mode)]
            assert not unexpected, file.name


def _is_as_expected(line: str, mode: str) -> bool:
    name, _, said = line.partition(" ")
    if mode == "server":
        return said == "serverside-applied"
    return said == "unchanged" or name in CONFIGURED_THOUGH_UNCHANGED
