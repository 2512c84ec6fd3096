"""The last decisions, explained as they were made."""

from __future__ import annotations

import pytest

from bayplan.config.loading import load_configuration
from bayplan.config.registry import build_profiles
from bayplan.config.releases import DEFAULT_RELEASE
from bayplan.config.scheduling import build_scheduler
from bayplan.core.actions import Bind, Emit
from bayplan.core.events import ObjectAdded
from bayplan.model.kinds import Object
from bayplan.model.time_units import SECOND
from bayplan.serving.decisions import KEPT, DecisionRecorder, decisions_document, decisions_text
from bayplan.testing.builders import node, pod

CONFIGURATION = load_configuration(release=DEFAULT_RELEASE)
NODES = [node("a").capacity(cpu=1).obj(), node("b").capacity(cpu=4).obj()]


class Seen:
    """A scheduler with its recorder, and a clock that explanations do not move."""

    def __init__(self, *objects: Object, leaves_out: str = "") -> None:
        self.now = 0
        self.recorder = DecisionRecorder(build_profiles(CONFIGURATION), self._tick, leaves_out=leaves_out)
        self.explaining_ns = 0
        self.scheduler = build_scheduler(CONFIGURATION, started_at=0, on_choice=self.recorder.chose)
        for obj in objects:
            self.scheduler.observe(ObjectAdded(obj), 0)

    def _tick(self) -> int:
        self.now += getattr(self, "explaining_ns", 0)
        return self.now

    def decide_all(self) -> None:
        while (decision := self.scheduler.decide(0)) is not None:
            self.recorder.decided(decision, 5 * SECOND, 42_000)


def test_a_placed_pod_is_explained_as_of_the_moment_of_the_decision() -> None:
    seen = Seen(*NODES, pod("p").cpu(3).obj())
    seen.decide_all()
    seen.scheduler.observe(ObjectAdded(node("c").capacity(cpu=64).obj()), 0)
    (decision,) = decisions_document(seen.recorder.records())["decisions"]
    assert (decision["pod"], decision["outcome"], decision["node"]) == ("default/p", "assumed", "b")
    assert (decision["time"], decision["tookMicroseconds"]) == ("1970-01-01T00:00:05.000000Z", 42)
    assert decision["explanation"]["feasible"] == ["b"]
    assert decision["explanation"]["filter"]["a"]["reasons"] == ["Insufficient cpu"]
    assert decision["score"] == decision["explanation"]["totals"]["b"]


def test_text_has_a_sentence_for_each_and_everything_for_one() -> None:
    seen = Seen(*NODES, pod("p").cpu(3).obj(), pod("q").cpu(9).obj())
    seen.decide_all()
    text = decisions_text(seen.recorder.records(), whole=False)
    assert "default/p fits on 1 of 2 nodes; b wins with" in text
    assert "default/q does not fit on any of the 2 nodes" in text
    assert "0/2 nodes are available: 2 Insufficient cpu." in text
    whole = decisions_text(seen.recorder.records("default/q"), whole=True)
    assert "Scheduler message" in whole
    assert "default/p" not in whole


def test_what_was_written_follows_and_events_do_not() -> None:
    seen = Seen(*NODES, pod("p").cpu(3).obj())
    seen.decide_all()
    seen.recorder.wrote(Bind("default/p", "u", "b"), 7_000, "")
    seen.recorder.wrote(Bind("default/p", "u", "b"), 9_000, "it is gone")
    seen.recorder.wrote(Emit("default/p", "u", "Normal", "Scheduled", "Binding", "note"), 7_000, "")
    seen.recorder.wrote(Bind("default/unknown", "u", "b"), 7_000, "")
    (decision,) = decisions_document(seen.recorder.records())["decisions"]
    assert decision["writes"] == [
        {"action": "Bind", "tookMicroseconds": 7},
        {"action": "Bind", "tookMicroseconds": 9, "error": "it is gone"},
    ]
    assert "Bind answered after 9 µs: it is gone" in decisions_text(seen.recorder.records(), whole=False)


def test_what_an_explanation_leaves_out_is_said() -> None:
    seen = Seen(*NODES, pod("p").obj(), leaves_out="extenders")
    seen.decide_all()
    assert "This does not take extenders into account." in decisions_text(seen.recorder.records(), whole=False)


def test_only_the_last_are_kept() -> None:
    seen = Seen(
        node("a").capacity(cpu=64, pods=200).obj(), *(pod(f"p{number:03}").obj() for number in range(KEPT + 20))
    )
    seen.decide_all()
    kept = [record.decision.pod for record in seen.recorder.records()]
    assert kept == [f"default/p{number:03}" for number in range(KEPT + 19, 19, -1)]


@pytest.mark.parametrize(("explaining_ns", "explained"), [(0, 10), (9_000_000, 3), (SECOND, 1)])
def test_explanations_take_a_small_share_of_the_time(explaining_ns: int, explained: int) -> None:
    seen = Seen(*NODES, *(pod(f"p{number}").obj() for number in range(10)))
    seen.explaining_ns = explaining_ns
    seen.decide_all()
    records = decisions_document(seen.recorder.records())["decisions"]
    assert sum(record["explanation"] is not None for record in records) == explained
    text = decisions_text(seen.recorder.records(), whole=False)
    assert text.count("Not explained: decisions were made too fast.") == 10 - explained
