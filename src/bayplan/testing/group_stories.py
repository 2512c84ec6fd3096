"""Pod groups over time, asked about in tests: a scheduler, objects that come and go, and what it does about them.

`play_group_story` takes objects as an API server stores them and steps in each of which objects come, change or go and
time passes; then the scheduler tries whatever is active. The world is a dictionary: what the scheduler asks for is done
at once, and it hears of it after each attempt. Times are virtual; no two things happen at the same time.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from bayplan.admission import admit
from bayplan.analysis.group_explanation import plain_condition, plain_preemption
from bayplan.config.feature_gates import GateSettings
from bayplan.config.loading import load_configuration
from bayplan.config.registry import build_profiles, queue_order
from bayplan.config.releases import choose_release
from bayplan.core.actions import Action, Bind, ClearNomination, Emit, Evict, SetCondition, SetGroupCondition
from bayplan.core.decision import Decision, Outcome
from bayplan.core.events import BindAnswered, Event, EvictAnswered, ObjectAdded, ObjectChanged, ObjectRemoved
from bayplan.core.groups.cycle import SCHEDULED, GroupAttempt, condition_of
from bayplan.core.scheduler import Scheduler
from bayplan.core.snapshot import View
from bayplan.model.conditions import find_condition, with_condition
from bayplan.model.groups import PodGroup
from bayplan.model.kinds import Object, object_key
from bayplan.model.meta import Condition
from bayplan.model.pod import Pod
from bayplan.model.reading import from_dicts
from bayplan.model.structs import replace
from bayplan.model.time_units import SECOND
from bayplan.model.well_known import POD_SCHEDULED
from bayplan.performing.groups import with_group_condition

PlainObject = Mapping[str, Any]
Plain = dict[str, Any]

_STARTED_AT: Final = 1_700_000_000 * SECOND


def play_group_story(
    objects: Iterable[PlainObject],
    steps: Sequence[Mapping[str, Any]],
    feature_gates: GateSettings = None,
    kubernetes_version: str | None = None,
) -> dict[str, Any]:
    """What a scheduler with the default profile does in each step, as plain data.

    Args:
        objects: the cluster at the start, in the order in which its objects arrive.
        steps: each with objects to `apply`, names to `delete` ("Pod default/web", "Node a"), seconds to `advance` the
            clock, and the most `cycles` to try.
        feature_gates: GenericWorkload among them, for there are no groups without.
        kubernetes_version: that of the scheduler, as `1.37`.
    """
    story = _Story(feature_gates, kubernetes_version)
    for obj in story.read(objects):
        story.put(obj)
    return {"steps": [story.play(step) for step in steps]}


class _Story:
    """A scheduler and the objects it knows, by kind and key."""

    def __init__(self, feature_gates: GateSettings, kubernetes_version: str | None) -> None:
        release = choose_release(kubernetes_version, None).release
        configuration = load_configuration(None, feature_gates, release=release, with_groups=True)
        profiles = build_profiles(configuration)
        self._now = _STARTED_AT
        self._objects: dict[tuple[str, str], Object] = {}
        self._scheduler = Scheduler(
            profiles,
            queue_order(profiles),
            started_at=self._now,
            gates=configuration.gates,
            on_group_attempt=self._note_attempt,
            tries_groups_in_full=True,
        )
        self._attempted: Plain = {}  # what the attempt on a group came to

    def read(self, objects: Iterable[PlainObject]) -> list[Object]:
        return admit(from_dicts(list(objects)).objects, beside=list(self._objects.values()))

    def put(self, obj: Object) -> None:
        """An object comes, or changes; then it keeps its status."""
        name = (type(obj).__name__, object_key(obj))
        old = self._objects.get(name)
        if isinstance(obj, Pod) and isinstance(old, Pod):
            obj = replace(obj, status=old.status, spec=replace(obj.spec, node_name=old.spec.node_name))
        elif isinstance(obj, PodGroup) and isinstance(old, PodGroup):
            obj = replace(obj, status=old.status)
        self._objects[name] = obj
        self._tell(ObjectAdded(obj) if old is None else ObjectChanged(old, obj))

    def play(self, step: Mapping[str, Any]) -> Plain:
        for obj in self.read(step.get("apply", ())):
            self.put(obj)
        for named in step.get("delete", ()):
            kind, _, key = named.partition(" ")
            gone = self._objects.pop((kind, f"/{key}" if kind == "Node" else key), None)
            if gone is not None:
                self._tell(ObjectRemoved(gone))
        self._now += int(step.get("advance", 0)) * SECOND
        self._scheduler.queue.tick(self._now)
        cycles = self._try_active(step["cycles"])
        return {"cycles": cycles, **self._state()}

    def _try_active(self, most: int) -> list[Plain]:
        cycles: list[Plain] = []
        while self._scheduler.queue.active_count and len(cycles) < most:
            self._now += 1
            decision = self._scheduler.decide(self._now)
            assert decision is not None
            self._perform(decision.actions)
            if decision.outcome is not Outcome.NO_POD:
                cycles.append(self._cycle(decision))
        return cycles

    def _note_attempt(self, attempt: GroupAttempt, view: View) -> None:
        preemption = plain_preemption(attempt.preemption, view)
        self._attempted = {
            "group": attempt.key,
            "condition": plain_condition(attempt.condition),
        }
        if preemption is not None:
            del preemption["evicted"]  # is said of each cycle
            self._attempted["preemption"] = preemption

    def _cycle(self, decision: Decision) -> Plain:
        evicted = sorted(action.pod for action in decision.actions if isinstance(action, Evict))
        tried = [each.pod for each in decision.members] if decision.group else [decision.pod]
        events = {action.pod: action for action in decision.actions if isinstance(action, Emit)}
        return {
            **(self._attempted if decision.group else {"pod": decision.pod}),
            "order": tried,
            "pods": {key: self._outcome(key, events.get(key)) for key in tried},
            "evicted": evicted,
        }

    def _outcome(self, key: str, event: Emit | None) -> Plain:
        """What the pod's status says afterwards, and the last event about it."""
        pod = self._objects["Pod", key]
        assert isinstance(pod, Pod)
        condition = find_condition(pod.status.conditions, POD_SCHEDULED)
        is_false = condition is not None and condition.status == "False"
        plain: Plain = {
            "node": pod.spec.node_name or None,
            "nominated": pod.status.nominated_node_name or None,
            "reason": condition.reason if condition is not None and is_false else None,
            "message": condition.message if condition is not None and is_false else None,
            "event": SCHEDULED if pod.spec.node_name else event.reason if event is not None else None,
        }
        if event is not None and not pod.spec.node_name and event.note != plain["message"]:
            plain["eventMessage"] = event.note
        return plain

    def _perform(self, actions: Iterable[Action]) -> None:
        """Everything is done first; then the scheduler hears of it."""
        before = dict(self._objects)
        bound: set[str] = set()
        gone: list[Pod] = []
        for action in actions:
            match action:
                case Bind(pod, uid):
                    bound.add(pod)
                    self._change_pod(pod, node=action.node, nominated="", condition=("True", "", ""))
                    self._tell(BindAnswered(pod, uid))
                case SetCondition(pod, _, reason, message, nominated):
                    self._change_pod(pod, nominated=nominated, condition=("False", reason, message))
                case ClearNomination(pod):
                    self._change_pod(pod, nominated="")
                case SetGroupCondition():
                    self._change_group(action)
                case Evict(pod, uid):
                    leaving = self._objects.pop(("Pod", pod))
                    assert isinstance(leaving, Pod)
                    gone.append(leaving)
                    self._tell(EvictAnswered(pod, uid))
        changed = [name for name, obj in self._objects.items() if before[name] is not obj]
        for name in sorted(changed, key=lambda name: (name[0] != "Pod", name[1] not in bound, name[1])):
            self._tell(ObjectChanged(before[name], self._objects[name]))
        for victim in sorted(gone, key=object_key):
            self._tell(ObjectRemoved(victim))

    def _change_pod(
        self,
        key: str,
        *,
        node: str | None = None,
        nominated: str | None = None,
        condition: tuple[str, str, str] | None = None,
    ) -> None:
        pod = self._objects["Pod", key]
        assert isinstance(pod, Pod)
        status, spec = pod.status, pod.spec
        if node is not None:
            spec = replace(spec, node_name=node)
        if nominated is not None:
            status = replace(status, nominated_node_name=nominated)
        if condition is not None:
            value, reason, message = condition
            written = Condition(type=POD_SCHEDULED, status=value, reason=reason, message=message)
            status = replace(status, conditions=with_condition(status.conditions, written, ""))
        if spec is not pod.spec or status != pod.status:
            self._objects["Pod", key] = replace(pod, spec=spec, status=status)

    def _change_group(self, action: SetGroupCondition) -> None:
        group = self._objects["PodGroup", action.group]
        assert isinstance(group, PodGroup)
        self._objects["PodGroup", action.group] = with_group_condition(group, action, "")

    def _tell(self, event: Event) -> None:
        self._now += 1
        self._scheduler.observe(event, self._now)

    def _state(self) -> Plain:
        pods = {key: obj for (_, key), obj in self._objects.items() if isinstance(obj, Pod)}
        groups = {key: obj for (_, key), obj in self._objects.items() if isinstance(obj, PodGroup)}
        queue = self._scheduler.queue
        return {
            "placed": {key: pod.spec.node_name for key, pod in pods.items() if pod.spec.node_name},
            "queues": {key: queued.state.value for key, queued in queue.resting.items()},
            "conditions": {key: plain_condition(condition_of(group)) for key, group in groups.items()},
            "left": queue.active_count,
        }
