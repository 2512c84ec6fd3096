"""Results of runs as plain data, as small as a test needs them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

Plain = dict[str, Any]


def pod(key: str, node: str | None = "n1", bound: float | None = 1.0, **changed: Any) -> Plain:
    """Placed after a second and running; without a node it waits."""
    made = {
        "key": f"default/{key}", "class": "low", "priority": 10, "owner": "", "node": node, "created": 0.0,
        "bound": bound if node else None, "started": None, "ended": None, "end": "running" if node else "pending",
        "cpu": 1000, "memory": 0,
    }  # fmt: skip
    return made | changed


def preemption(preemptor: str, *victims: str, at: float = 50.0, **changed: Any) -> Plain:
    made = {
        "t": at, "preemptor": f"default/{preemptor}", "priority": 1000, "node": "n1",
        "victims": [{"pod": f"default/{key}", "priority": 10, "breaks": []} for key in victims],
        "decided": "the only node where evicting pods makes room", "record": None,
    }  # fmt: skip
    return made | changed


def run(pods: Iterable[Plain] = (), preemptions: Iterable[Plain] = (), **changed: Any) -> Plain:
    """A run of a hundred seconds; its summary counts the pods given."""
    pods = list(pods)
    made = {
        "format": "bayplan simulation v1", "seed": 0, "configs": "default", "inputs": "same", "seconds": 100.0,
        "partial": False, "classes": {"high": 1000, "low": 10}, "summary": summary(pods),
        "series": {
            "t": [0.0, 50.0], "queue": {"active": [0, 1], "backoff": [0, 2]}, "used": {"cpu": [0.25, 0.75]},
            "running": [0, 1], "fragmentation": [0.0, 0.0],
        },
        "nodes": [{"name": "n1", "from": 0.0, "until": None, "allocatable": {"cpu": 4000}}],
        "pods": pods, "preemptions": list(preemptions), "chains": [], "loops": [], "waiting": [], "notes": [],
    }  # fmt: skip
    return made | changed


def summary(pods: list[Plain], **changed: Any) -> Plain:
    ends = Counter(one["end"] for one in pods)
    names = dict.fromkeys(one["class"] for one in pods if one["bound"] is not None)
    made = {
        "pods": {
            "created": len(pods), "placed": sum(one["bound"] is not None for one in pods),
            **{end: ends[end] for end in ("finished", "failed", "deleted", "preempted", "pending")},
        },
        "waiting": {name: _waited([one for one in pods if one["class"] == name]) for name in names},
        "evictions": {"preemption": ends["preempted"]} if ends["preempted"] else {},
        "evictionsByPreemptor": {}, "budgetsBroken": 0, "utilisation": {"cpu": 0.5},
        "fragmentation": {"mean": 0.0, "max": 0.0},
    }  # fmt: skip
    return made | changed


def _waited(pods: list[Plain]) -> Plain:
    """All quantiles are the longest wait: who needs others sets them."""
    waits = [one["bound"] - one["created"] for one in pods if one["bound"] is not None]
    return {"count": len(waits), **dict.fromkeys(("p50", "p90", "p99", "max"), max(waits))}
