"""A whole cluster over HTTP: an urgent pod pushes others out, and their owner makes new ones."""

from __future__ import annotations

from typing import Any

from bayplan.testing import LiveCluster, cluster

_DEPLOYMENT = """---
apiVersion: apps/v1
kind: Deployment
metadata: {{name: {name}}}
spec:
  replicas: {replicas}
  selector: {{matchLabels: {{app: {name}}}}}
  template:
    metadata: {{labels: {{app: {name}}}, annotations: {{bayplan/stop-seconds: "{stop_s}"}}}}
    spec:
      priorityClassName: {priority}
      containers: [{{name: c, image: "pause:3.9", resources: {{requests: {{cpu: "1"}}}}}}]
"""
_CLASSES = """
apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: {name: low}
value: 10
---
apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: {name: high}
value: 1000
"""


def _condition(pod: dict[str, Any], kind: str) -> dict[str, Any] | None:
    return next((known for known in pod["status"].get("conditions", []) if known["type"] == kind), None)


def _events(running: LiveCluster, reason: str) -> list[dict[str, Any]]:
    return [event for event in running.list("events", "default") if event["reason"] == reason]


def test_an_urgent_deployment_gets_its_place() -> None:
    """Victims end so slowly that they can be looked at meanwhile, even if others want the processor."""
    with cluster(nodes=2, speed=2) as running:
        running.apply(_CLASSES + _DEPLOYMENT.format(name="filler", replicas=8, priority="low", stop_s=10))
        running.wait_until(lambda k: k.get("deployment", "filler")["status"]["readyReplicas"] == 8, timeout=120)
        fillers = {pod["metadata"]["name"] for pod in running.list("pods", "default", "app=filler")}
        running.apply(_DEPLOYMENT.format(name="urgent", replicas=1, priority="high", stop_s=1))
        nominated: str = running.wait_until(_nominated)
        victim: dict[str, Any] = running.wait_until(_marked)
        running.wait_until("deployment/urgent available", timeout=120)
        urgent = running.list("pods", "default", "app=urgent")[0]
        assert urgent["spec"]["nodeName"] == nominated
        assert "nominatedNodeName" not in urgent["status"]
        condition = _condition(victim, "DisruptionTarget")
        assert condition is not None
        assert condition["reason"] == "PreemptionByScheduler"
        preempted = running.wait_until(lambda k: _events(k, "Preempted"))
        assert [event["involvedObject"]["name"] for event in preempted] == [victim["metadata"]["name"]]
        assert preempted[0]["message"] == f"Preempted by pod {urgent['metadata']['uid']} on node {nominated}"
        again: dict[str, Any] = running.wait_until(lambda k: _made_again(k, fillers))
        assert again["status"]["phase"] == "Pending"


def _nominated(running: LiveCluster) -> str:
    pods = running.list("pods", "default", "app=urgent")
    return str(pods[0]["status"].get("nominatedNodeName", "")) if pods else ""


def _marked(running: LiveCluster) -> dict[str, Any]:
    """A victim that is still ending; nothing if there is none."""
    pods = running.list("pods", "default", "app=filler")
    return next((pod for pod in pods if _condition(pod, "DisruptionTarget")), {})


def _made_again(running: LiveCluster, before: set[str]) -> dict[str, Any]:
    pods = running.list("pods", "default", "app=filler")
    new = [pod for pod in pods if pod["metadata"]["name"] not in before]
    return new[0] if len(pods) == len(before) and new else {}


def test_a_new_environment_variable_rolls_a_deployment_out() -> None:
    """Fields that scheduling does not know count as much as others."""
    with cluster(nodes=1) as running:
        running.apply(_CLASSES + _DEPLOYMENT.format(name="web", replicas=1, priority="low", stop_s=1))
        running.wait_until("deployment/web available")
        web = running.get("deployment", "web")
        web["spec"]["template"]["spec"]["containers"][0]["env"] = [{"name": "A", "value": "1"}]
        del web["metadata"]["managedFields"]
        running.apply(web)
        revisions = running.wait_until(lambda k: len(k.list("replicasets", "default")) == 2)
        assert revisions


def test_events_of_controllers_are_written() -> None:
    with cluster(nodes=1) as running:
        running.apply(_CLASSES + _DEPLOYMENT.format(name="web", replicas=2, priority="low", stop_s=1))
        running.wait_until("deployment/web available")
        running.wait_until(lambda k: len(_events(k, "SuccessfulCreate")) == 2)
        created = _events(running, "SuccessfulCreate")
        assert {event["source"]["component"] for event in created} == {"replicaset-controller"}
        (scaled,) = _events(running, "ScalingReplicaSet")
        assert scaled["message"].startswith("Scaled up replica set web-")
        assert scaled["message"].endswith(" from 0 to 2")
