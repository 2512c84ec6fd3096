"""A scheduler that raises where it should not: who backs off, what is kept, and what it is like afterwards."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest
from tests.support.checkers import check_always

from bayplan.config.loading import load_configuration
from bayplan.config.releases import DEFAULT_RELEASE, RELEASES
from bayplan.config.scheduling import build_scheduler
from bayplan.core.actions import Bind, Emit, SetCondition
from bayplan.core.binding import Binding
from bayplan.core.cache import Cache
from bayplan.core.deciding import Decider
from bayplan.core.decision import Decision, Outcome
from bayplan.core.events import BindAnswered, Event, ObjectAdded, ObjectChanged, ObjectRemoved, VolumesAnswered
from bayplan.core.groups.cycle import attempt_group
from bayplan.core.lifecycle import PodState
from bayplan.core.queue import SchedulingQueue
from bayplan.core.scheduler import Scheduler
from bayplan.model.kinds import Object, object_key
from bayplan.model.pod import Pod
from bayplan.model.structs import replace
from bayplan.model.time_units import SECOND
from bayplan.testing.builders import node, pod, pod_group
from bayplan.worlds.bugs import ATTEMPT, EVENT, RESTORING
from bayplan.worlds.guarded import LEFT_OUT_NS, SUSPICION_NS, GuardedScheduler
from bayplan.worlds.patience import NothingWorksError

NODE = node("n").capacity(cpu="4", memory="8Gi", pods=10).obj()
OTHER_NODE = node("m").capacity(cpu="4", memory="8Gi", pods=10).obj()


class Guarded:
    """A guarded scheduler, and what was reported of it."""

    def __init__(self, *objects: Object, gates: str = "") -> None:
        self.bugs: list[tuple[str, str, str]] = []
        release = RELEASES["1.37"] if gates else DEFAULT_RELEASE
        configuration = load_configuration(None, gates, release=release, with_groups=True)
        self.scheduler = build_scheduler(configuration, started_at=0)
        self.guarded = GuardedScheduler(
            self.scheduler, lambda where, about, error: self.bugs.append((where, about, str(error)))
        )
        self.hear(*map(ObjectAdded, objects))

    def hear(self, *events: Event, at: int = 0) -> None:
        for event in events:
            self.guarded.observe(event, at)

    def decide_all(self, at: int = 0) -> list[Decision]:
        """Until nothing is due any more; what was decided about a pod or is to be done."""
        decided = []
        while self.guarded.due_at(at) == at:
            decision = self.guarded.decide(at)
            if decision is None:
                break
            decided.append(decision)
        return [decision for decision in decided if decision.pod or decision.actions]

    def ends_after(self, seconds: int) -> int:
        """How many seconds pass before it gives up; it must, within so many."""
        for second in range(seconds):
            try:
                self.decide_all(second * SECOND)
            except NothingWorksError:
                return second
        raise AssertionError("it goes on")

    def bound(self, at: int = 0) -> dict[str, str]:
        """Pods that are to be bound now, with their nodes."""
        actions = [action for decision in self.decide_all(at) for action in decision.actions]
        return {action.pod: action.node for action in actions if isinstance(action, Bind)}


def raising(original: Callable[..., Any], when: Callable[..., bool], *, after: bool = False) -> Callable[..., Any]:
    def raises(*arguments: Any, **named: Any) -> Any:
        answer = original(*arguments, **named) if after else None
        if when(*arguments):
            raise ValueError("broken")
        return answer if after else original(*arguments, **named)

    return raises


class Once:
    """Holds the first time that it is asked."""

    def __init__(self) -> None:
        self._has_held = False

    def __call__(self, *_: Any) -> bool:
        holds, self._has_held = not self._has_held, True
        return holds


def small(name: str) -> Pod:
    return pod(name).cpu("1").obj()


def on_its_node(waiting: Pod, name: str = "n") -> Pod:
    return replace(waiting, spec=replace(waiting.spec, node_name=name))


@pytest.fixture
def cursed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Attempts of pods whose name begins with "cursed" raise."""
    is_cursed = raising(Decider.decide, lambda _, info, view: info.name.startswith("cursed"))
    monkeypatch.setattr(Decider, "decide", is_cursed)


# ---------------------------------------------------------------------- attempts


def test_after_an_attempt_that_raised_tables_are_filled_anew_but_not_too_often(cursed: None) -> None:
    """They are also filled by those who only look something up, and may be half filled."""
    scheduler = Guarded(NODE, small("cursed"))
    caches = [scheduler.scheduler.cache]
    for at in (0, 30 * SECOND, SUSPICION_NS - 1, SUSPICION_NS):
        for _ in range(2):  # the attempt, and what follows from it
            scheduler.guarded.decide(at)
        caches.append(scheduler.scheduler.cache)
    assert len(scheduler.bugs) > 1
    assert [cache is before for before, cache in pairwise(caches)] == [False, True, True, False]


def test_a_pod_whose_attempt_raises_backs_off_and_is_told_so(cursed: None) -> None:
    scheduler = Guarded(NODE, small("cursed"))
    (decision,) = scheduler.decide_all()
    message = "internal error: ValueError: broken"
    assert (decision.outcome, decision.message) == (Outcome.ERROR, message)
    event, condition = decision.actions
    assert isinstance(event, Emit)
    assert (event.reason, event.note) == ("FailedScheduling", message)
    assert isinstance(condition, SetCondition)
    assert (condition.reason, condition.message) == ("SchedulerError", message)
    assert scheduler.bugs == [(ATTEMPT, "default/cursed", "broken")]
    queued = scheduler.scheduler.queue.find("default/cursed")
    assert queued is not None
    assert queued.state is PodState.BACKOFF
    check_always(scheduler.scheduler)


def test_its_backoff_doubles_and_starting_over_does_not_shorten_it(cursed: None) -> None:
    scheduler = Guarded(NODE, small("cursed"))
    tried = [second for second in range(30) if any(one.pod for one in scheduler.decide_all(second * SECOND))]
    assert tried == [0, 2, 5, 10, 19]


def test_other_pods_are_scheduled_meanwhile(cursed: None) -> None:
    scheduler = Guarded(NODE, small("cursed"), small("blessed"))
    assert scheduler.bound() == {"default/blessed": "n"}


@pytest.mark.parametrize(
    ("owner", "name"),
    [(Binding, "take"), (Binding, "_bind"), (Cache, "add_pod"), (SchedulingQueue, "assume")],
    ids=["take", "bind", "add_pod", "assume"],
)
@pytest.mark.parametrize("after", [False, True])
def test_an_attempt_that_raises_half_way_leaves_nothing_behind(
    owner: type, name: str, after: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(owner, name, raising(getattr(owner, name), Once(), after=after))
    scheduler = Guarded(NODE, *(small(f"p{number}") for number in range(5)))
    first, *others = scheduler.decide_all()
    assert (first.pod, first.outcome) == ("default/p0", Outcome.ERROR)
    assert len(others) == 4
    check_always(scheduler.scheduler)
    assert scheduler.scheduler.pods_on_the_way() == [f"default/p{number}" for number in range(1, 5)]
    later = scheduler.decide_all(2 * SECOND)
    assert [decision.outcome for decision in later] == [Outcome.UNSCHEDULABLE], "the others have taken all the room"


def test_pods_keep_the_order_in_which_they_came(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Binding, "take", raising(Binding.take, Once()))
    scheduler = Guarded(NODE, *(small(name) for name in ("c", "a", "d", "b")))
    assert [decision.pod for decision in scheduler.decide_all()] == [f"default/{name}" for name in "cadb"]


# ---------------------------------------------------------------------- events


def test_an_event_that_raises_half_way_is_taken_in_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    running = on_its_node(small("running"))
    scheduler = Guarded(NODE, running)
    monkeypatch.setattr(Cache, "_account", raising(Cache._account, Once()))
    scheduler.hear(ObjectRemoved(running), *(ObjectAdded(small(f"p{number}")) for number in range(5)))
    assert scheduler.bugs == [(EVENT, "Pod default/running", "broken")]
    assert scheduler.guarded.is_broken
    assert scheduler.bound() == {f"default/p{number}": "n" for number in range(4)}
    check_always(scheduler.scheduler)


def test_starting_over_is_no_attempt(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Cache, "_account", raising(Cache._account, Once()))
    scheduler = Guarded(NODE, on_its_node(small("running")))
    decision = scheduler.guarded.decide(0)
    assert decision == Decision("", Outcome.NO_POD)


def test_little_time_is_spent_on_starting_over(monkeypatch: pytest.MonkeyPatch) -> None:
    """Events that always raise: what they say is known all the same, and a second passes before it is used."""
    raises = raising(Cache.remove_row, lambda *_: True)
    pods = [on_its_node(small(f"p{number}")) for number in range(4)]
    scheduler = Guarded(NODE, *pods, small("waiting"))
    scheduler.decide_all()
    monkeypatch.setattr(Cache, "remove_row", raises)
    scheduler.hear(ObjectRemoved(pods[0]), at=SECOND)
    assert scheduler.bound(SECOND) == {"default/waiting": "n"}
    scheduler.hear(ObjectAdded(small("another")), ObjectRemoved(pods[1]), at=SECOND)
    assert scheduler.guarded.due_at(SECOND) == 2 * SECOND
    assert scheduler.guarded.decide(SECOND) is None
    assert scheduler.bound(2 * SECOND) == {"default/another": "n"}


# ---------------------------------------------------------------------- what is being bound


def broken_while_binding(monkeypatch: pytest.MonkeyPatch, *answers: Event) -> Guarded:
    """One pod is being bound, then comes what is answered, then something raises, and it starts over."""
    scheduler = Guarded(NODE, pod("p").cpu("3").obj())
    assert scheduler.bound() == {"default/p": "n"}
    scheduler.hear(*answers)
    with monkeypatch.context() as patch:
        patch.setattr(Cache, "add_node", raising(Cache.add_node, Once()))
        scheduler.hear(ObjectAdded(OTHER_NODE))
        assert scheduler.guarded.is_broken
        scheduler.hear(ObjectRemoved(OTHER_NODE))
    return scheduler


def is_room_kept(scheduler: Guarded) -> bool:
    scheduler.hear(ObjectAdded(pod("other").cpu("3").obj()), at=SECOND)
    return "default/other" not in scheduler.bound(SECOND)


UID = "pod-default-p"


def test_a_pod_that_is_being_bound_keeps_its_room(monkeypatch: pytest.MonkeyPatch) -> None:
    scheduler = broken_while_binding(monkeypatch)
    assert scheduler.bound() == {}, "it is not bound a second time"
    assert is_room_kept(scheduler)
    scheduler.hear(BindAnswered("default/p", UID, ""), at=SECOND)
    (told,) = scheduler.decide_all(SECOND)
    assert [action.reason for action in told.actions if isinstance(action, Emit)] == ["Scheduled"]


def test_a_pod_that_is_bound_but_not_seen_yet_keeps_its_room(monkeypatch: pytest.MonkeyPatch) -> None:
    scheduler = broken_while_binding(monkeypatch, BindAnswered("default/p", UID, ""))
    assert scheduler.bound() == {}, "it is not bound a second time"
    assert is_room_kept(scheduler)
    waiting = pod("p").cpu("3").obj()
    labeled = replace(waiting, metadata=replace(waiting.metadata, labels={"a": "b"}))
    scheduler.hear(ObjectChanged(waiting, labeled), ObjectChanged(labeled, on_its_node(labeled)), at=SECOND)
    check_always(scheduler.scheduler)
    assert scheduler.scheduler.pods_on_the_way() == []


def test_a_refused_pod_is_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    scheduler = broken_while_binding(monkeypatch, BindAnswered("default/p", UID, "conflict"))
    assert scheduler.bound(2 * SECOND) == {"default/p": "n"}


def test_a_pod_that_is_refused_afterwards_gives_its_room_back(monkeypatch: pytest.MonkeyPatch) -> None:
    scheduler = broken_while_binding(monkeypatch)
    scheduler.decide_all()
    scheduler.hear(BindAnswered("default/p", UID, "conflict"), at=SECOND)
    assert not is_room_kept(scheduler)


def test_a_pod_whose_answer_was_lost_is_asked_for_again(monkeypatch: pytest.MonkeyPatch) -> None:
    scheduler = broken_while_binding(monkeypatch, BindAnswered("default/p", UID, "timeout", lost=True))
    assert scheduler.bound() == {"default/p": "n"}
    assert is_room_kept(scheduler)


# ---------------------------------------------------------------------- what cannot be taken in


def test_an_object_that_always_raises_is_left_out_with_its_node(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody knows how much room is left there; all else goes on, and when the pod is gone the node is back."""
    bad = on_its_node(small("bad"))
    raises = raising(Cache.add_pod, lambda _, added, *__: added.metadata.name == "bad")
    monkeypatch.setattr(Cache, "add_pod", raises)
    scheduler = Guarded(NODE, OTHER_NODE, bad, small("p"))
    assert scheduler.bound() == {"default/p": "m"}
    assert (RESTORING, "Pod default/bad", "broken") in scheduler.bugs
    scheduler.hear(ObjectRemoved(bad), ObjectAdded(pod("q").cpu("4").obj()), at=SECOND)
    assert scheduler.bound(SECOND) == {}
    assert scheduler.bound(SUSPICION_NS) == {"default/q": "n"}
    check_always(scheduler.scheduler)


def test_what_was_left_out_is_tried_again_after_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(Cache, "add_node", raising(Cache.add_node, lambda *_: True))
        scheduler = Guarded(NODE, small("p"))
        assert scheduler.bound() == {}
    assert scheduler.guarded.due_at(SECOND) is not None
    assert scheduler.bound(LEFT_OUT_NS) == {"default/p": "n"}


# ---------------------------------------------------------------------- the end


def test_it_ends_when_nothing_works_any_more(cursed: None) -> None:
    scheduler = Guarded(NODE, *(small(f"cursed-{number}") for number in range(12)))
    assert scheduler.ends_after(seconds=120) >= 60


def test_it_does_not_end_while_something_works(cursed: None) -> None:
    scheduler = Guarded(NODE, *(small(f"cursed-{number}") for number in range(12)))
    for second in range(0, 180, 20):
        scheduler.hear(ObjectAdded(pod(f"blessed-{second}").obj()), at=second * SECOND)
        scheduler.decide_all(second * SECOND)
    assert len(scheduler.bugs) > 60


def test_it_ends_when_starting_over_does_not_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Scheduler, "start_over", raising(Scheduler.start_over, lambda *_: True))
    monkeypatch.setattr(Cache, "_account", raising(Cache._account, Once()))
    scheduler = Guarded(NODE, on_its_node(small("p")))
    assert scheduler.ends_after(seconds=600) >= 60


# ---------------------------------------------------------------------- writes


def test_it_waits_for_what_is_being_written(monkeypatch: pytest.MonkeyPatch) -> None:
    """A device that is given to a claim by a write under way must not be given to another."""
    scheduler = Guarded(NODE)
    scheduler.guarded._ledger._written.add(UID)
    monkeypatch.setattr(Cache, "add_node", raising(Cache.add_node, Once()))
    scheduler.hear(ObjectChanged(NODE, NODE), ObjectAdded(small("q")))
    assert scheduler.guarded.due_at(0) == 30 * SECOND
    assert scheduler.guarded.decide(0) is None
    scheduler.hear(VolumesAnswered("default/p", UID, ""), at=SECOND)
    assert scheduler.bound(SECOND) == {"default/q": "n"}


# ---------------------------------------------------------------------- as a new process would be


def test_afterwards_it_is_what_a_new_process_would_be(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same objects, the same room on each node, the same pods that wait."""
    scheduler = Guarded(NODE, OTHER_NODE, *(small(f"p{number}") for number in range(6)))
    for decision in scheduler.decide_all():
        for action in decision.actions:
            if isinstance(action, Bind):
                waiting = next(each for each in scheduler.guarded._ledger.known.values() if action.pod == key_of(each))
                assert isinstance(waiting, Pod)
                scheduler.hear(BindAnswered(action.pod, action.uid, ""))
                scheduler.hear(ObjectChanged(waiting, on_its_node(waiting, action.node)))
    monkeypatch.setattr(Cache, "remove_node", raising(Cache.remove_node, Once(), after=True))
    scheduler.hear(ObjectRemoved(OTHER_NODE), ObjectAdded(pod("huge").cpu("100").obj()))
    scheduler.decide_all()
    fresh = Guarded(*scheduler.guarded._ledger.known.values())
    fresh.decide_all()
    for each in (scheduler, fresh):
        check_always(each.scheduler)
    assert room(scheduler.scheduler) == room(fresh.scheduler)
    assert waiting_in(scheduler.scheduler) == waiting_in(fresh.scheduler)


def key_of(obj: Object) -> str:
    return object_key(obj) if isinstance(obj, Pod) else ""


def room(scheduler: Scheduler) -> dict[str, tuple[bool, list[int]]]:
    nodes = scheduler.cache.nodes
    return {name: (bool(nodes.alive[row]), nodes.requested[row].tolist()) for name, row in nodes.rows_by_name.items()}


def waiting_in(scheduler: Scheduler) -> dict[str, PodState]:
    return {queued.key: queued.state for queued in scheduler.queue.queued_pods()}


def test_a_group_whose_attempt_raises_backs_off_and_others_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    is_cursed = raising(attempt_group, lambda _cache, _profiles, group, _members: group.metadata.name == "cursed")
    monkeypatch.setattr("bayplan.core.groups.scheduling.attempt_group", is_cursed)
    members = [pod(f"{group}-{n}").cpu("1").in_group(group) for group in ("cursed", "fine") for n in range(2)]
    groups = [pod_group("cursed").gang(2), pod_group("fine").gang(2)]
    scheduler = Guarded(
        NODE, *(each.obj() for each in groups), *(each.obj() for each in members), gates="GenericWorkload=true"
    )
    decided = scheduler.decide_all()
    assert scheduler.bugs == [(ATTEMPT, "podgroup/default/cursed", "broken")]
    (failed,) = [each for each in decided if each.outcome is Outcome.ERROR]
    assert (failed.group, [each.pod for each in failed.members]) == (
        "default/cursed",
        ["default/cursed-0", "default/cursed-1"],
    )
    bound = [action.pod for each in decided for action in each.actions if isinstance(action, Bind)]
    assert sorted(bound) == ["default/fine-0", "default/fine-1"]
    waiting = {queued.key: queued.state for queued in scheduler.scheduler.queue.queued_pods()}
    assert waiting == dict.fromkeys(["default/cursed-0", "default/cursed-1"], PodState.BACKOFF)
    check_always(scheduler.scheduler)
