"""CronJobs in a simulation: from manifests, from a dump, and with faults."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bayplan.analysis.cluster import Cluster
from bayplan.analysis.simulation.running import simulate
from bayplan.cli.main import run
from bayplan.model.reading import from_dicts

NODE = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}, "status": {"capacity": {"cpu": 4, "pods": 20}}}
HOUR = 3600


def cron_job(
    metadata: dict[str, Any] | None = None, status: dict[str, Any] | None = None, **spec: Any
) -> dict[str, Any]:
    work = {
        "metadata": {"annotations": {"bayplan/run-seconds": "60"}},
        "spec": {"restartPolicy": "Never", "containers": [{"name": "work"}]},
    }
    return {
        "apiVersion": "batch/v1",
        "kind": "CronJob",
        "metadata": {"name": "hourly", **(metadata or {})},
        "spec": {"schedule": "@hourly", "jobTemplate": {"spec": {"template": work}}, **spec},
        "status": status or {},
    }


def starts(*objects: dict[str, Any], until: float) -> list[float]:
    """Seconds after which pods were created."""
    cluster = Cluster(from_dicts([NODE, *objects]).objects)
    return [pod["created"] for pod in simulate(cluster, until=until).to_dict()["pods"]]


def test_every_hour() -> None:
    assert starts(cron_job(), until=3.5 * HOUR) == pytest.approx([HOUR, 2 * HOUR, 3 * HOUR], abs=0.2)


def test_a_dump_goes_on_where_it_was_taken() -> None:
    """However old it is, nothing has been missed since: ten minutes past twelve the next start is at one."""
    identity = {"uid": "u1", "creationTimestamp": "2023-01-01T00:00:00Z"}
    taken = cron_job(identity, {"lastScheduleTime": "2024-05-01T12:00:00Z"})
    assert starts(taken, until=2.5 * HOUR) == pytest.approx([HOUR, 2 * HOUR], abs=0.2)
    newer = {**NODE, "metadata": {"name": "m", "uid": "u2", "creationTimestamp": "2024-05-01T12:10:00Z"}}
    assert starts(taken, newer, until=HOUR) == pytest.approx([50 * 60], abs=0.2)


@pytest.mark.parametrize(
    ("fault", "complaint"),
    [
        ("schedule: '@often'", "{file}: CronJob default/bad: spec.schedule: '@often': unrecognized descriptor: @often"),
        ("timeZone: Mars/Base", 'CronJob.batch "bad" is invalid: spec.timeZone: Invalid value: "Mars/Base": unknown '),
    ],
)
def test_faults_are_told_at_load(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], fault: str, complaint: str
) -> None:
    file = tmp_path / "bad.yaml"
    schedule = "" if "schedule" in fault else "schedule: '@daily', "
    text = f"{{apiVersion: batch/v1, kind: CronJob, metadata: {{name: bad}}, spec: {{{schedule}{fault}}}}}"
    file.write_text(text, encoding="utf-8")
    assert run(["simulate", "-f", str(file), "--until", "1h"]) == 2
    assert capsys.readouterr().err.startswith(f"error: {complaint.replace('{file}', str(file))}")
