"""Fixes for workloads that have no pods yet: what would have to be done once they have."""

from __future__ import annotations

from typing import Any

import pytest

from bayplan.analysis.answers.fixing.answer import Fixes, RemedyKind
from bayplan.analysis.cluster import Cluster
from bayplan.model.errors import InvalidObject
from bayplan.model.workloads import CronJob
from bayplan.testing.builders import cron_job, job, node, pod
from bayplan.testing.building import Builder

TEMPLATE = pod("t").labels(app="x").node_selector(pool="generall")
NODE = node("n").label("pool", "general")
RESUME = 'kubectl patch job x --namespace default --type merge --patch \'{"spec": {"suspend": false}}\''


def fixes_of(*things: Builder[Any], name: str) -> Fixes:
    return Cluster([thing.obj() for thing in things]).fix(name)


def nightly(template: Any = TEMPLATE) -> Builder[CronJob]:
    made = cron_job("nightly")
    made._object.spec.schedule = "0 3 * * *"
    made._object.spec.job_template.spec = job("t").template(template).obj().spec
    return made


def test_a_cron_job_is_fixed_before_it_is_due() -> None:
    answer = fixes_of(NODE, nightly(), name="cronjob/nightly")
    assert (answer.workload, answer.is_one_more) == ("cronjob/nightly", True)
    first = answer.fixes[0]
    assert (first.changes[0].kind, first.nodes) == (RemedyKind.SELECTOR_TYPO, ("n",))
    (patch,) = first.patches  # there is no Job yet that would have to be recreated
    assert patch.command.startswith("kubectl patch cronjob nightly --namespace default ")


def test_a_cron_job_that_needs_no_fix() -> None:
    answer = fixes_of(NODE, nightly(pod("t").labels(app="x")), name="cronjob/nightly")
    assert (answer.fits_on, answer.is_one_more, answer.running) == ("n", True, 0)


def test_a_cron_job_that_does_not_exist() -> None:
    with pytest.raises(InvalidObject, match="not found in the input"):
        fixes_of(NODE, name="cronjob/nightly")


def test_a_suspended_job_is_fixed_and_resumed() -> None:
    suspended = job("x").set(suspend=True, parallelism=2, completions=2).template(TEMPLATE)
    answer = fixes_of(NODE, suspended, name="job/x")
    first = answer.fixes[0]
    assert [change.kind for change in first.changes] == [RemedyKind.SELECTOR_TYPO, RemedyKind.RESUME]
    assert (first.fixed, answer.pending) == (2, 2)
    assert first.patches[-1].command == RESUME
    assert answer.message.startswith("the Job is suspended; once resumed: 0/1 nodes are available")


def test_a_suspended_job_that_need_only_be_resumed() -> None:
    suspended = job("x").set(suspend=True, parallelism=2, completions=2).template(pod("t").labels(app="x"))
    answer = fixes_of(node("n"), suspended, name="job/x")
    (fix,) = answer.fixes
    assert [change.kind for change in fix.changes] == [RemedyKind.RESUME]
    assert (fix.fixed, fix.nodes, [patch.command for patch in fix.patches]) == (2, ("n",), [RESUME])
    assert not answer.is_fine
