"""What is refused about changes to statuses of jobs."""

from __future__ import annotations

from typing import Any

import pytest

from bayplan.apiserver.admitting.validation.faults import Faults
from bayplan.apiserver.admitting.validation.job_statuses import check_job_status

EARLY, LATE = "2026-01-01T00:00:10Z", "2026-01-01T00:00:20Z"
COMPLETE = {
    **{"startTime": "2026-01-01T00:00:00Z", "completionTime": EARLY, "succeeded": 1},
    "conditions": [{"type": kind, "status": "True"} for kind in ("SuccessCriteriaMet", "Complete")],
}


@pytest.mark.parametrize(
    ("change", "faults"),
    [
        ({}, []),
        ({"completionTime": LATE}, [f'status.completionTime: Invalid value: "{LATE}": field is immutable']),
        (
            {"startTime": EARLY},
            [f'status.startTime: Invalid value: "{EARLY}": field is immutable for unsuspended job once set'],
        ),
        ({"succeeded": 0}, ["status.succeeded: Invalid value: 0: cannot decrease the succeeded counter"]),
        ({"active": 1}, ["status.active: Invalid value: 1: active>0 is invalid for finished job"]),
    ],
)
def test_a_job_that_is_complete_stays_as_it_is(change: dict[str, Any], faults: list[str]) -> None:
    found = Faults()
    check_job_status({"spec": {}, "status": {**COMPLETE, **change}}, {"spec": {}, "status": COMPLETE}, found)
    assert [f"{cause.field}: {cause.message}" for cause in found] == faults
