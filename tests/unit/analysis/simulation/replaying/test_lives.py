"""How long pods run, start and stop in a run that plays a recording again."""

from __future__ import annotations

from typing import Any

import pytest

from bayplan.analysis.simulation.replaying.lives import LivesAgain, RecordedLives, ran_before
from bayplan.analysis.simulation.results.run_format import End, EvictionCause, PodRow
from bayplan.controllers.delays import FixedDelays
from bayplan.controllers.nodes.kubelet import RUN_SECONDS
from bayplan.model.meta import OwnerReference
from bayplan.model.structs import replace
from bayplan.model.time_units import SECOND
from bayplan.model.timestamps import parse_time
from bayplan.model.watch_types import ADDED, DELETED
from bayplan.store import WatchEvent
from bayplan.testing import builders as make

JOB = "Job default/train"


def row(key: str, owner: str = JOB, **fields: Any) -> PodRow:
    """A pod that was created at 10 s, bound at 11, started at 13 and ended at 43."""
    usual = {"node": "n1", "created": 10.0, "bound": 11.0, "started": 13.0, "ended": 43.0, "end": End.FINISHED}
    given = usual | fields
    return PodRow(key=f"default/{key}", class_name="none", priority=0, owner=owner, cpu=0, memory=0, **given)  # type: ignore[arg-type]


def pod(name: str, *, owner: str = "train", annotations: dict[str, str] | None = None) -> Any:
    made = make.pod(name).cpu("1").annotations(annotations or {}).obj()
    references = [OwnerReference(kind="Job", name=owner, uid="1", controller=True)] if owner else []
    return replace(made, metadata=replace(made.metadata, uid=f"uid-{name}", owner_references=references))


def lived(lives: RecordedLives, *pods: Any) -> LivesAgain:
    """The lives of these new pods."""
    again = LivesAgain(lives, FixedDelays(), 0)
    for one in pods:
        again.observe(WatchEvent(ADDED, "Pod", None, one, 1, 0), 0)
    return again


def test_the_life_of_its_name_comes_first_and_others_in_order() -> None:
    lives = RecordedLives([row("x", ended=20.0), row("b", ended=30.0), row("y", ended=40.0)], {}, {})
    a, b, c = pod("a"), pod("b"), pod("c")
    again = lived(lives, a, b, c)
    assert [again.run_seconds(one) for one in (a, b, c)] == [7.0, 17.0, 27.0]


def test_more_pods_than_were_recorded_run_as_long_as_is_usual() -> None:
    lives = RecordedLives([row("x", ended=20.0), row("y", ended=30.0), row("z", ended=60.0)], {}, {})
    pods = [pod(f"p{number}") for number in range(4)]
    assert lived(lives, *pods).run_seconds(pods[-1]) == 17.0


@pytest.mark.parametrize(
    ("fields", "annotations", "expected"),
    [
        ({}, {}, 30.0),
        ({}, {RUN_SECONDS: "5"}, 30.0),
        # It was cut short, so nobody knows.
        ({"end": End.PREEMPTED, "evicted": EvictionCause.PREEMPTION}, {RUN_SECONDS: "5"}, 5.0),
        ({"end": End.PREEMPTED, "evicted": EvictionCause.PREEMPTION}, {}, None),
        ({"end": End.FAILED, "evicted": EvictionCause.NODE}, {}, None),
        ({"ended": None, "end": End.RUNNING}, {}, None),
        # It ended before anybody saw it running.
        ({"started": None}, {}, 0.0),
    ],
)
def test_run_times(fields: dict[str, Any], annotations: dict[str, str], expected: float | None) -> None:
    one = pod("a", annotations=annotations)
    assert lived(RecordedLives([row("x", **fields)], {}, {}), one).run_seconds(one) == expected


def test_a_pod_that_failed_fails_again() -> None:
    good, bad = pod("a"), pod("b")
    again = lived(RecordedLives([row("a"), row("b", end=End.FAILED)], {}, {}), good, bad)
    assert again.exit_codes(good) == {}
    assert again.exit_codes(bad) == {"main": 1}


def test_starting_and_stopping_take_as_long_as_they_did() -> None:
    one, other = pod("a"), pod("b")
    again = lived(RecordedLives([row("a")], {}, {0: 7 * SECOND}), one, other)
    assert (again.start_ns(one), again.stop_ns(one)) == (2 * SECOND, 7 * SECOND)
    usual = FixedDelays()
    assert (again.start_ns(other), again.stop_ns(other)) == (usual.start, usual.stop)
    again.observe(WatchEvent(DELETED, "Pod", one, one, 2, 0), 0)
    assert again.stop_ns(one) == usual.stop


def test_a_pod_of_the_first_list_has_run_before() -> None:
    one = pod("a")
    started = replace(one, status=replace(one.status, phase="Running", start_time="2026-01-01T00:00:00Z"))
    assert ran_before(started, parse_time("2026-01-01T00:01:00Z")) == 60 * SECOND
    assert ran_before(one, parse_time("2026-01-01T00:01:00Z")) == 0
    lives = RecordedLives([row("a", created=0.0, bound=0.0, started=0.0, ended=30.0)], {0: 60 * SECOND}, {})
    assert lived(lives, started).run_seconds(started) == 90.0


def test_a_pod_of_nobody_lives_as_it_says() -> None:
    one = pod("a", owner="", annotations={RUN_SECONDS: "5"})
    assert lived(RecordedLives([row("x")], {}, {}), one).run_seconds(one) == 5.0
