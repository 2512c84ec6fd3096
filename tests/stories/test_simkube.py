"""The recorded scaling of DeathStarBench's social network, played again: 27 Deployments, 27 to 52 replicas."""

from __future__ import annotations

import gzip
from collections import Counter
from pathlib import Path
from typing import Any

import msgspec
import pytest

from bayplan.analysis.cluster import Cluster
from bayplan.analysis.simulation.inputs.timeline import load_timeline
from bayplan.analysis.simulation.running import simulate
from bayplan.testing import builders as make

SETTLED = 30
"""Seconds after which what was asked for is there: pods start within a few, and have as long to end."""


@pytest.fixture
def recording(shared: Path) -> Path:
    file = shared / "data" / "simkube" / "dsb-scaling.json.gz"
    if not file.is_file():
        pytest.skip("no recording of SimKube among the reference data")
    return file


def wanted_over_time(recording: Path) -> list[tuple[float, Counter[str]]]:
    """Straight from the file: the replicas of each Deployment after each event, and when that was."""
    events = msgspec.json.decode(gzip.decompress(recording.read_bytes()))["events"]
    wanted: Counter[str] = Counter()
    levels = []
    for event in events:
        for one in event["applied_objs"]:
            wanted[f"Deployment dsb/{one['metadata']['name']}"] = one["spec"]["replicas"]
        levels.append((float(event["ts"] - events[0]["ts"]), wanted.copy()))
    return levels


def play(recording: Path, nodes: int) -> dict[str, Any]:
    machines = [make.node(f"n{place}").capacity(cpu="8", memory="32Gi") for place in range(nodes)]
    return simulate(
        Cluster([one.manifest().obj() for one in machines]), load_timeline(f"simkube:{recording}"), seed=1
    ).to_dict()


def there(run: dict[str, Any], seconds: float, since: str) -> Counter[str]:
    """Pods by workload at a time: those that were `created`, or that ran since they were `started`."""
    return Counter(
        pod["owner"]
        for pod in run["pods"]
        if pod[since] is not None and pod[since] <= seconds and (pod["ended"] is None or pod["ended"] > seconds)
    )


def test_as_many_pods_run_as_were_recorded(recording: Path) -> None:
    """With room enough each Deployment has, before each event, what the recording says it was to have."""
    run, levels = play(recording, nodes=8), wanted_over_time(recording)
    for (asked_at, wanted), (until, _) in zip(levels, [*levels[1:], (levels[-1][0] + 600, Counter())], strict=True):
        if until - asked_at > SETTLED:
            assert there(run, until - 0.001, "started") == +wanted
    assert max(wanted.total() for _, wanted in levels) == 52
    assert there(run, 950, "started").total() == 52
    assert run["summary"]["pods"]["placed"] == 54
    assert run["waiting"] == run["notes"] == []


def test_on_forty_cores_some_have_to_wait(recording: Path) -> None:
    """Each pod asks for a core: what is wanted beyond forty waits, and gets its turn when others are scaled down."""
    run, levels = play(recording, nodes=5), wanted_over_time(recording)
    assert there(run, 950, "started").total() == 40
    assert there(run, 950, "created").total() == levels[-5][1].total() == 52
    assert there(run, 1_200, "started").total() == 40
    assert run["summary"]["pods"]["pending"] == levels[-1][1].total() - 40 == 2
    (group,) = run["waiting"]
    assert group["message"].startswith("0/5 nodes are available: 5 Insufficient cpu.")
    assert run["summary"]["waiting"]["none"]["max"] > 60
