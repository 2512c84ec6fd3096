"""A scheduler whose parts are timed: plugins, hints, gates, and the reuse of what is known.

A timed plugin is a copy whose methods, one for each extension point, ask the original and note what that took. It is
of the same class, so whatever else the core wants to know of a plugin it finds there. What a plugin calls itself is
not timed again. A plugin that takes no attributes besides its own (`__slots__`) stays as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from copy import copy
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, Protocol, TypeVar

import numpy as np

from bayplan.core.columns.shapes import PodInfo
from bayplan.core.deciding import Decider, LookedUp
from bayplan.core.framework.args import DEFAULT_PREEMPTION
from bayplan.core.framework.contract import (
    SKIP,
    Failure,
    Pending,
    PostFiltered,
    PostFilterPlugin,
    Wait,
)
from bayplan.core.framework.group_observer import GroupObserver
from bayplan.core.framework.profile import Profile
from bayplan.core.framework.requeue import ClusterEvent, Hint
from bayplan.core.framework.verdict import Code, Status
from bayplan.core.instruments import Instruments
from bayplan.core.queue.hints import QueueProfile
from bayplan.core.queue.pre_enqueue import run_pre_enqueue
from bayplan.core.snapshot import View
from bayplan.serving.metrics.group_timings import GroupTimings
from bayplan.serving.metrics.stopwatch import POST_FILTER, PRE_ENQUEUE, StatusOf, Stopwatch, TimedStep


class _Named(Protocol):
    name: ClassVar[str]


Plugin = TypeVar("Plugin", bound=_Named)


def timed_profile(profile: Profile, stopwatch: Stopwatch) -> Profile:
    """A profile whose plugins note how long each call takes."""
    timed: dict[int, Any] = {}  # by identity: a plugin that stands in several lists is one plugin in all of them

    def each(plugins: Iterable[Plugin]) -> tuple[Plugin, ...]:
        return tuple(
            timed.setdefault(id(plugin), _timed_plugin(plugin, profile.scheduler_name, stopwatch)) for plugin in plugins
        )

    return replace(
        profile,
        pre_enqueue=each(profile.pre_enqueue),
        pre_filter=each(profile.pre_filter),
        filter=each(profile.filter),
        pre_score=each(profile.pre_score),
        score=each(profile.score),
        post_filter=each(profile.post_filter),
        reserve=each(profile.reserve),
        permit=each(profile.permit),
        pre_bind=each(profile.pre_bind),
        post_bind=each(profile.post_bind),
    )


@dataclass(frozen=True, slots=True)
class TimedQueueProfile(QueueProfile):
    """Notes what all gates together take."""

    stopwatch: Stopwatch | None = None
    scheduler_name: str = ""

    def admit(self, pod: PodInfo, asked_first: str) -> Status:
        if self.stopwatch is None or not self.stopwatch.observing:
            return run_pre_enqueue(self.pre_enqueue, pod, asked_first)
        step = self.stopwatch.step(self.scheduler_name, "", PRE_ENQUEUE)
        status: Status = self.stopwatch.measure_at_once(
            step, lambda status, _: status.code, run_pre_enqueue, self.pre_enqueue, pod, asked_first
        )
        return status


class TimedDecider(Decider):
    """Notes how long it takes to look up what is known of such pods."""

    def __init__(self, profiles: Mapping[str, Profile], stopwatch: Stopwatch) -> None:
        super().__init__(profiles)
        self._stopwatch = stopwatch

    def look_up(self, profile: Profile, pod: PodInfo, view: View) -> LookedUp:
        stopwatch = self._stopwatch
        if not stopwatch.running:
            return super().look_up(profile, pod, view)
        made_before = self.boards_made
        started = stopwatch.clock()
        known = super().look_up(profile, pod, view)
        took_ns = stopwatch.clock() - started
        reusable = known is not None
        reused = reusable and self.boards_made == made_before
        stopwatch.recorder.looked_up(profile.scheduler_name, reused=reused, reusable=reusable, took_ns=took_ns)
        return known


class TimingInstruments(Instruments):
    """Puts a stopwatch around all parts of a scheduler."""

    def __init__(self, stopwatch: Stopwatch, groups: GroupTimings) -> None:
        self._stopwatch = stopwatch
        self._groups = groups

    def profile(self, profile: Profile) -> Profile:
        timed = timed_profile(profile, self._stopwatch)
        return replace(timed, post_filter=tuple(self._evaluating(plugin) for plugin in timed.post_filter))

    def queue_profile(self, scheduler_name: str, profile: QueueProfile) -> QueueProfile:
        """Gates of the scheduler's own stand in no list of the profile; those that do are timed already."""
        stopwatch = self._stopwatch
        gates = [
            gate if "pre_enqueue" in vars(gate) else _timed_plugin(gate, scheduler_name, stopwatch)
            for gate in profile.pre_enqueue
        ]
        reactions = profile.reactions.with_hints(self._hint)
        return TimedQueueProfile(tuple(gates), reactions, profile.gates_gangs, stopwatch, scheduler_name)

    def decider(self, profiles: Mapping[str, Profile]) -> Decider:
        return TimedDecider(profiles, self._stopwatch)

    def groups(self) -> GroupObserver:
        return self._groups

    def _evaluating(self, plugin: PostFilterPlugin) -> PostFilterPlugin:
        """Of preemption every call is timed, as it is of groups."""
        if plugin.name != DEFAULT_PREEMPTION or "post_filter" not in vars(plugin):
            return plugin
        object.__setattr__(plugin, "post_filter", partial(self._evaluate, plugin.post_filter))
        return plugin

    def _evaluate(self, ask: Callable[..., PostFiltered], pod: PodInfo, view: View, failure: Failure) -> PostFiltered:
        if pod.group and view.objects.gates.generic_workload:
            return ask(pod, view, failure)  # not to preempt: a search for nodes goes this way where it finds none
        clock, code = self._stopwatch.clock, Code.ERROR
        started = clock()
        try:
            said = ask(pod, view, failure)
            code = said.status.code
        finally:
            self._groups.evaluated_for_pod(code, clock() - started)
        return said

    def _hint(self, plugin: str, cluster_event: ClusterEvent, hint: Hint) -> Hint:
        return timed_hint(hint, plugin, cluster_event.label, self._stopwatch)


def timed_hint(hint: Hint, plugin: str, cluster_event: str, stopwatch: Stopwatch) -> Hint:
    """The hint, which notes what it takes while events are timed."""

    def ask(pod: Any, old: Any, new: Any) -> bool:
        if not stopwatch.observing:
            return hint(pod, old, new)
        started = stopwatch.clock()
        helps = hint(pod, old, new)
        stopwatch.recorder.hinted(plugin, cluster_event, helps=helps, took_ns=stopwatch.clock() - started)
        return helps

    return ask


def _timed_plugin(plugin: Plugin, profile_name: str, stopwatch: Stopwatch) -> Plugin:
    if not hasattr(plugin, "__dict__"):
        return plugin
    timed = copy(plugin)
    for method, (point, wrap, status_of) in _METHODS.items():
        if hasattr(plugin, method):
            step = stopwatch.step(profile_name, plugin.name, point)
            bound = partial(status_of, plugin) if status_of is _of_codes else status_of
            # A frozen dataclass is as good a plugin as any.
            object.__setattr__(timed, method, wrap(stopwatch, step, bound, getattr(plugin, method)))
    return timed


def _deciding(
    stopwatch: Stopwatch, step: TimedStep, status_of: StatusOf, ask: Callable[..., Any]
) -> Callable[..., Any]:
    """Takes three arguments, by name and not as `*arguments`: it is called several times in every decision."""

    def call(first: Any, second: Any, third: Any) -> Any:
        if stopwatch.running:
            return stopwatch.measure(step, status_of, ask, first, second, third)
        return ask(first, second, third)

    return call


def _preparing(
    stopwatch: Stopwatch, step: TimedStep, status_of: StatusOf, ask: Callable[..., Any]
) -> Callable[..., Any]:
    """Takes two arguments."""

    def call(first: Any, second: Any) -> Any:
        return stopwatch.measure(step, status_of, ask, first, second) if stopwatch.running else ask(first, second)

    return call


def _post_filtering(
    stopwatch: Stopwatch, step: TimedStep, status_of: StatusOf, ask: Callable[..., Any]
) -> Callable[..., Any]:
    """Runs filters in its turn."""

    def call(*arguments: Any) -> Any:
        if stopwatch.running:
            return stopwatch.measure_post_filter(step, status_of, partial(ask, *arguments))
        return ask(*arguments)

    return call


def _outside(stopwatch: Stopwatch, step: TimedStep, status_of: StatusOf, ask: Callable[..., Any]) -> Callable[..., Any]:
    """While an event is observed."""

    def call(*arguments: Any) -> Any:
        if stopwatch.observing:
            return stopwatch.measure_at_once(step, status_of, ask, *arguments)
        return ask(*arguments)

    return call


_SUCCESS, _SKIPPED = Code.SUCCESS, Code.SKIP


def _of_answer(answer: Any, _: tuple[Any, ...]) -> Code:
    if isinstance(answer, Status):
        return answer.code
    if isinstance(answer, PostFiltered):
        return answer.status.code
    if isinstance(answer, Wait | Pending):
        return Code.WAIT
    return _SKIPPED if answer is SKIP else _SUCCESS


def _of_codes(plugin: Any, answer: Any, arguments: tuple[Any, ...]) -> Code:
    """Success if any node passes; else what the plugin says of the first."""
    if np.count_nonzero(answer) < len(answer) or not len(answer):
        return _SUCCESS
    state, view, _ = arguments
    status: Status = plugin.explain_failure(state, view, answer.item(0))
    return status.code


#: Method -> extension point, how it is called, what its answer means.
_METHODS: dict[str, tuple[str, Callable[..., Callable[..., Any]], Callable[..., Code]]] = {
    "pre_enqueue": (PRE_ENQUEUE, _outside, _of_answer),
    "pre_filter": ("PreFilter", _preparing, _of_answer),
    "filter": ("Filter", _deciding, _of_codes),
    "post_filter": (POST_FILTER, _post_filtering, _of_answer),
    "pre_score": ("PreScore", _deciding, _of_answer),
    "score": ("Score", _deciding, _of_answer),
    "normalize": ("ScoreExtensionNormalize", _deciding, _of_answer),
    "reserve": ("Reserve", _deciding, _of_answer),
    "permit": ("Permit", _deciding, _of_answer),
    "pre_bind": ("PreBind", _deciding, _of_answer),
    "post_bind": ("PostBind", _outside, _of_answer),
}
