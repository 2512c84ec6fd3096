"""Users of a live cluster, and its time."""

from __future__ import annotations

import json
import urllib.request

import pytest

from bayplan.testing import ClusterUser, LiveCluster, Refusal, cluster

REVIEWS = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
JOB = {
    "apiVersion": "batch/v1",
    "kind": "Job",
    "metadata": {"name": "done"},
    "spec": {
        "ttlSecondsAfterFinished": 3600,
        "template": {
            "metadata": {"annotations": {"bayplan/run-seconds": "1800"}},
            "spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]},
        },
    },
}


@pytest.mark.kubernetes_cluster(nodes=0, scheduler=False, controllers=False)
def test_a_user_is_known_by_its_own_token(kubernetes_cluster: LiveCluster, kubernetes_user: ClusterUser) -> None:
    user = kubernetes_user
    assert (user.name, user.namespace) == ("system:serviceaccount:test:tester", "test")
    assert user.token != kubernetes_cluster.token
    headers = {"Authorization": f"Bearer {user.token}", "Content-Type": "application/json"}
    with urllib.request.urlopen(urllib.request.Request(user.url + REVIEWS, b"{}", headers)) as answer:
        assert json.load(answer)["status"]["userInfo"]["username"] == user.name
    text = user.kubeconfig.read_text()
    assert "namespace: test\n" in text
    assert user.token in text


MAP = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "one"}, "data": {"n": "1"}}
POLICY = """
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: administrators-only}
spec:
  matchConstraints:
    resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [secrets]}]
  validations: [{expression: "!request.userInfo.username.startsWith('system:serviceaccount:test:')"}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: administrators-only}
spec: {policyName: administrators-only, validationActions: [Deny]}
"""


@pytest.mark.kubernetes_cluster(nodes=0, scheduler=False, controllers=False)
def test_a_user_reads_and_writes_as_itself(kubernetes_cluster: LiveCluster, kubernetes_user: ClusterUser) -> None:
    k, user = kubernetes_cluster, kubernetes_user
    assert user.apply(MAP)[0]["metadata"]["namespace"] == "test"
    assert user.get("cm", "one") == k.get("cm", "one", "test")
    k.apply(MAP)
    assert [found["metadata"]["namespace"] for found in user.list("configmaps")] == ["default", "test"]
    user.delete("cm", "one")
    with pytest.raises(Refusal, match='NotFound: configmaps "one" not found'):
        user.get("cm", "one")
    k.apply(POLICY)
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}}
    k.apply(secret)
    with pytest.raises(Refusal, match="administrators-only"):
        user.apply(secret)


@pytest.mark.kubernetes_cluster(nodes=0, scheduler=False, controllers=False)
def test_what_goes_wrong_goes_wrong_for_the_user_itself(kubernetes_user: ClusterUser) -> None:
    user = kubernetes_user
    user.faults.refuse(409, verb="patch")
    with pytest.raises(Refusal, match="a fault that a test asked for"):
        user.apply(MAP)
    user.faults.lose_answers()
    with pytest.raises(ConnectionError):
        user.apply(MAP)
    assert user.get("cm", "one")["data"] == {"n": "1"}


def test_time_that_is_put_forward() -> None:
    with cluster(nodes=1) as k:
        k.apply(JOB)
        k.wait_until(lambda k: k.list("pods")[0]["status"]["phase"] == "Running")
        k.advance_time(1800)
        k.wait_until("job/done complete")


def test_time_that_stands_still() -> None:
    with cluster(nodes=1) as k:
        k.stop_time()
        k.apply(JOB)
        with pytest.raises(TimeoutError):
            k.wait_until(lambda k: k.list("pods")[0]["status"]["phase"] == "Running", timeout=0.3)
        k.set_time_speed(10_000)
        k.wait_until("job/done complete")
