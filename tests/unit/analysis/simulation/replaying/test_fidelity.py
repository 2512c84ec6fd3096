"""How closely a run followed a recording, counted by hand."""

from __future__ import annotations

import pytest

from bayplan.analysis.simulation.replaying.fidelity import compared
from bayplan.analysis.simulation.results.run_format import End, EvictionCause, Fidelity, PodRow

KINDS = {"n1": "small", "n2": "small", "n3": "large"}


def row(
    key: str,
    node: str | None,
    *,
    owner: str = "",
    created: float = 10.0,
    started: float | None = 12.0,
    evicted: EvictionCause | None = None,
    bound: float | None = 11.0,
) -> PodRow:
    return PodRow(
        key=key,
        class_name="none",
        priority=0,
        owner=owner,
        node=node,
        created=created,
        bound=bound if node else None,
        started=started,
        ended=None,
        end=End.RUNNING,
        evicted=evicted,
        cpu=0,
        memory=0,
    )


def counts(found: Fidelity) -> tuple[int, ...]:
    return found.placed, found.placed_here, found.same_node, found.alike_node, found.started_within_second


WEB = "Deployment a/web"


@pytest.mark.parametrize(
    ("recorded", "run", "expected"),
    [
        ([row("a", "n1")], [row("a", "n1")], (1, 1, 1, 1, 1)),
        ([row("a", "n1")], [row("a", "n2")], (1, 1, 0, 1, 1)),
        ([row("a", "n1")], [row("a", "n3")], (1, 1, 0, 0, 1)),
        ([row("a", "n1")], [row("a", None, started=None)], (1, 0, 0, 0, 0)),
        ([row("a", "n1")], [], (1, 0, 0, 0, 0)),
        ([row("a", None, started=None)], [row("a", "n1")], (0, 0, 0, 0, 0)),
        ([row("a", "n1")], [row("a", "n1", started=13.0)], (1, 1, 1, 1, 1)),
        ([row("a", "n1")], [row("a", "n1", started=13.1)], (1, 1, 1, 1, 0)),
        # It had its node when recording began.
        ([row("a", "n1", bound=0.0)], [row("a", "n1", bound=0.0)], (0, 0, 0, 0, 0)),
        # Replicas that were created together may stand for each other,
        (
            [row("x1", "n1", owner=WEB), row("x2", "n3", owner=WEB)],
            [row("y1", "n3", owner=WEB), row("y2", "n1", owner=WEB)],
            (2, 2, 2, 2, 2),
        ),
        # others may not,
        (
            [row("x1", "n1", owner=WEB), row("x2", "n3", owner=WEB, created=20.0)],
            [row("y1", "n3", owner=WEB), row("y2", "n1", owner=WEB, created=20.0)],
            (2, 2, 0, 0, 2),
        ),
        # nor may those that have a name.
        (
            [row("web-0", "n1", owner="StatefulSet a/web"), row("web-1", "n3", owner="StatefulSet a/web")],
            [row("web-0", "n3", owner="StatefulSet a/web"), row("web-1", "n1", owner="StatefulSet a/web")],
            (2, 2, 0, 0, 2),
        ),
    ],
)
def test_counts(recorded: list[PodRow], run: list[PodRow], expected: tuple[int, ...]) -> None:
    assert counts(compared(recorded, run, KINDS)) == expected


def test_a_pod_that_is_created_later_may_start_as_soon() -> None:
    """Real controllers are slower than simulated ones; that is not the scheduler's doing."""
    found = compared([row("a", "n1", created=15.0, started=17.0)], [row("a", "n1", created=10.0, started=12.5)], KINDS)
    assert (found.started, found.started_within_second, found.started_as_soon) == (1, 0, 1)


def test_preemptions() -> None:
    victim = EvictionCause.PREEMPTION
    found = compared(
        [row("a", "n1", evicted=victim), row("b", "n1", evicted=victim), row("c", "n1", evicted=EvictionCause.NODE)],
        [row("a", "n1", evicted=victim), row("b", "n1"), row("c", "n1", evicted=victim)],
        KINDS,
    )
    assert (found.preempted, found.preempted_here, found.preempted_both) == (2, 2, 1)
