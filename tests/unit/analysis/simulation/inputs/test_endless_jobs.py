"""Which Jobs are said to run for ever."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.analysis.simulation.worlds import after, objects

from bayplan.analysis.simulation.inputs.commands import Apply
from bayplan.analysis.simulation.inputs.endless_jobs import endless_jobs
from bayplan.controllers.nodes.kubelet import RUN_SECONDS
from bayplan.model.meta import Condition
from bayplan.testing import builders as make

PATTERN = make.pod("work").cpu("1")
TIMED = make.pod("work").cpu("1").annotations({RUN_SECONDS: "60"})


@pytest.mark.parametrize(
    ("things", "named"),
    [
        pytest.param([make.job("a").template(PATTERN)], "Job default/a", id="a job"),
        pytest.param([make.cron_job("c")], "CronJob default/c", id="a cron job"),
        pytest.param(
            [make.job(name).template(PATTERN) for name in "abcde"],
            "Job default/a, Job default/b, Job default/c and 2 more",
            id="many",
        ),
        pytest.param([make.job("a").template(TIMED)], None, id="one that says for how long"),
        pytest.param([make.deployment("d").template(PATTERN)], None, id="what is meant to run on"),
    ],
)
def test_endless_jobs(things: list[Any], named: str | None) -> None:
    for found in (endless_jobs(objects(*things), []), endless_jobs([], [after(1, Apply(objects(*things)))])):
        if named is None:
            assert found is None
        else:
            assert found is not None
            assert found.startswith(f"pods of {named} run until they are deleted; ")
            assert RUN_SECONDS in found


def test_a_finished_job_is_over() -> None:
    job = make.job("done").template(PATTERN).obj()
    job.status.conditions = [Condition(type="Complete", status="True")]
    assert endless_jobs([job], []) is None
