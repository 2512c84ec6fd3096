"""Pods that wait together are tried in a row, and get one answer for as long as nothing happens."""

from __future__ import annotations

import pytest
from tests.support.decision_checks import ChoiceChecker

from bayplan.config.loading import load_configuration
from bayplan.config.registry import build_profiles
from bayplan.config.releases import DEFAULT_RELEASE
from bayplan.config.scheduling import build_scheduler
from bayplan.core.columns.shapes import PodInfo
from bayplan.core.decision import Choice, Decision, Outcome, Unschedulable
from bayplan.core.events import Event, ObjectAdded, ObjectChanged, ObjectRemoved
from bayplan.core.framework.verdict import CycleError
from bayplan.core.snapshot import View
from bayplan.model.kinds import Object
from bayplan.model.time_units import MINUTE, SECOND
from bayplan.testing.builders import node, pod

NOW = 1_700_000_000 * SECOND
SEVERAL = 5


class Stage:
    """A scheduler whose every choice is held against one made from scratch, and equal pods that fit nowhere."""

    def __init__(self) -> None:
        configuration = load_configuration(None, release=DEFAULT_RELEASE)
        self.checker = ChoiceChecker(build_profiles(configuration), rebuild_every=1)
        self.choices: list[Choice | CycleError] = []
        self.scheduler = build_scheduler(configuration, started_at=NOW, on_choice=self._chosen)
        self.now = NOW
        self.add(node("n").capacity(cpu="4", pods=10).obj())
        self.running = pod("runs").cpu("4").node("n").obj()
        self.add(self.running)
        self.waiting = [pod(f"p{number}").uid(f"u{number}").cpu("3").obj() for number in range(SEVERAL)]
        for one in self.waiting:
            self.add(one)
        self.decide()
        self.flush()

    def _chosen(self, info: PodInfo, view: View, choice: Choice | CycleError) -> None:
        self.checker.check(info, view, choice)
        self.choices.append(choice)

    def observe(self, event: Event) -> None:
        self.checker.observe(event, self.now)
        self.scheduler.observe(event, self.now)

    def add(self, obj: Object) -> None:
        self.observe(ObjectAdded(obj))

    def flush(self) -> None:
        """Later, when all that wait are given another chance."""
        self.now += 6 * MINUTE
        self.choices.clear()

    def decide(self, most: int = 100) -> list[Decision]:
        decided: list[Decision] = []
        while len(decided) < most and (decision := self.scheduler.decide(self.now)) is not None:
            decided.append(decision)
        return decided


def test_one_answer_goes_for_all() -> None:
    stage = Stage()
    decided = stage.decide()
    assert [decision.outcome for decision in decided] == [Outcome.UNSCHEDULABLE] * SEVERAL
    assert len({decision.pod for decision in decided}) == SEVERAL
    assert len({id(choice) for choice in stage.choices}) == 1
    stage.flush()
    stage.decide()
    assert len({id(choice) for choice in stage.choices}) == 1, "nor has anything happened in five minutes"


def test_room_that_comes_between_two_of_them_is_seen() -> None:
    stage = Stage()
    (refused,) = stage.decide(1)
    stage.observe(ObjectRemoved(stage.running))
    outcomes = [decision.outcome for decision in stage.decide() if decision.pod]
    assert refused.outcome is Outcome.UNSCHEDULABLE
    assert outcomes.count(Outcome.ASSUMED) == 1


def test_what_else_happens_is_in_the_words_of_those_who_come_after_it() -> None:
    stage = Stage()
    (before,) = stage.decide(1)
    stage.add(node("small").capacity(cpu="1", pods=10).obj())
    after = stage.decide(SEVERAL - 1)
    assert before.message.startswith("0/1 nodes")
    assert all(decision.message.startswith("0/2 nodes") for decision in after)


def test_a_pod_that_has_changed_is_not_like_the_others() -> None:
    stage = Stage()
    stage.decide(1)
    changed = stage.waiting[-1]
    cheaper = pod(changed.metadata.name).uid(changed.metadata.uid).cpu("3").priority(10).obj()
    stage.observe(ObjectChanged(changed, cheaper))
    by_pod = {decision.pod: decision.outcome for decision in stage.decide() if decision.pod}
    assert by_pod[f"default/{changed.metadata.name}"] is Outcome.NOMINATED


def test_what_is_kept_of_a_refusal_are_its_words() -> None:
    """What they were made from takes as much room as there are nodes."""
    stage = Stage()
    stage.decide()
    (choice, *_) = stage.choices
    assert isinstance(choice, Unschedulable)
    said = choice.diagnosis
    assert [cell.cell_contents for cell in choice.diagnose.__closure__ or ()] == [said]


def test_nobody_can_tell_whether_an_attempt_was_skipped() -> None:
    by_skipping, by_asking = Stage(), Stage()
    by_asking.scheduler._may_skip_attempts = False
    told: list[list[Decision]] = []
    for stage in (by_skipping, by_asking):
        told.append([])
        for _ in range(3):
            told[-1] += stage.decide()
            stage.flush()
        stage.add(node("small").capacity(cpu="1", pods=10).obj())
        told[-1] += stage.decide()
    skipping, asking = by_skipping.scheduler, by_asking.scheduler
    assert told[0] == told[1]
    assert len(told[0]) == 4 * SEVERAL
    assert skipping.queue.figures.incoming == asking.queue.figures.incoming
    assert skipping.queue.figures.rejected == asking.queue.figures.rejected
    assert skipping.due_at(by_skipping.now) == asking.due_at(by_asking.now)


def test_one_that_is_refused_again_waits_for_no_leave_to_evict(monkeypatch: pytest.MonkeyPatch) -> None:
    stage, forgotten = Stage(), list[str]()
    monkeypatch.setattr(stage.scheduler.guard, "withholds", True)
    monkeypatch.setattr(stage.scheduler.guard, "forget", forgotten.append)
    assert [decision.pod for decision in stage.decide()] == forgotten
