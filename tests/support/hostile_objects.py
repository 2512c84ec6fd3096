"""A small cluster in which every text that is not a name tries to be more than text, wherever it is shown."""

from __future__ import annotations

from typing import Any

#: Characters that steer a terminal, reverse what follows, or cannot be seen.
HIDDEN = "\x1b[31m\x1b]0;title\x07\x1b[2J\x08\x9b31m\u202egpj.exe\u2066\u200b\ufeff\U000e0041"
EVIL = (
    "\"'></title></style></script></svg><script>alert(1)</script><img src=x onerror=alert(2)>"
    f"<iframe src=http://evil.example></iframe>`|*_[x](javascript:alert(3)) $(touch evil){HIDDEN}"
)
LONG = "l" * 5_000


def hostile_objects() -> list[dict[str, Any]]:
    """Nodes that differ in why they reject pods, running pods, and a pending pod for each reason."""
    meta = {"labels": {"app": EVIL, "long": LONG}, "annotations": {EVIL: EVIL}}
    return [
        _node("a"),
        _node("tainted", taints=[{"key": EVIL, "value": EVIL, "effect": "NoSchedule"}]),
        _node("cordoned", unschedulable=True),
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "default", **meta}},
        {
            "apiVersion": "scheduling.k8s.io/v1",
            "kind": "PriorityClass",
            "metadata": {"name": "high", **meta},
            "value": 1_000,
            "description": EVIL,
        },
        {
            "apiVersion": "policy/v1",
            "kind": "PodDisruptionBudget",
            "metadata": {"name": "budget", "namespace": "default", **meta},
            "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": EVIL}}},
        },
        {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": "web", "namespace": "default", **meta},
            "spec": {
                "replicas": 2,
                "selector": {"matchLabels": {"app": EVIL}},
                "template": {
                    "metadata": {"labels": {"app": EVIL}},
                    "spec": _pod_spec("500m", nodeSelector={EVIL: LONG}),
                },
            },
        },
        _pod("low", _pod_spec("3", nodeName="a")),
        _pod("lost", _pod_spec("1", nodeName=EVIL)),
        _pod("urgent", _pod_spec("3", priorityClassName="high", priority=1_000)),
        _pod("selecting", _pod_spec("1", nodeSelector={EVIL: EVIL})),
        _pod("asking", _pod_spec("1", **{EVIL: "1"})),
        _pod("storing", _pod_spec("1", volumes=[{"name": EVIL, "persistentVolumeClaim": {"claimName": EVIL}}])),
        _pod("claiming", _pod_spec("1", resourceClaims=[{"name": EVIL, "resourceClaimName": EVIL}])),
    ]


def _node(name: str, **spec: Any) -> dict[str, Any]:
    amounts = {"cpu": "4", "memory": "8Gi", "pods": "10"}
    labels = {"kubernetes.io/hostname": name, "topology.kubernetes.io/zone": EVIL, "karpenter.sh/nodepool": EVIL}
    condition = {"type": "Ready", "status": "True", "message": EVIL, "reason": EVIL}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels},
        "spec": spec,
        "status": {"capacity": amounts, "allocatable": amounts, "conditions": [condition]},
    }


def _pod_spec(cpu: str, **more: Any) -> dict[str, Any]:
    requests = {"cpu": cpu} | ({EVIL: more.pop(EVIL)} if EVIL in more else {})
    container = {"name": EVIL, "image": EVIL, "resources": {"requests": requests}}
    return {"containers": [container], "schedulingGates": [], **more}


def _pod(name: str, spec: dict[str, Any]) -> dict[str, Any]:
    condition = {"type": "PodScheduled", "status": "False", "reason": EVIL, "message": EVIL}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "default", "labels": {"app": EVIL}},
        "spec": spec,
        "status": {"phase": "Running" if "nodeName" in spec else "Pending", "conditions": [condition], "message": EVIL},
    }
