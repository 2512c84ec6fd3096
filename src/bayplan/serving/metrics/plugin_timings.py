"""What plugins, extension points, hints and event handling took.

Filled by the stopwatch around a scheduler's parts. A plugin's duration is all that it took in one attempt, for all
nodes together; an extension point's is the sum over its plugins. Where results for an identical pod are reused, a
plugin is asked only about what has changed since, and that is what is measured: often a microsecond. An extension point
that an attempt went through without asking any plugin counts with 0.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence

from bayplan.config.releases import NEWEST_RELEASE
from bayplan.core.decision import Outcome
from bayplan.core.events import Event
from bayplan.core.framework.verdict import Code
from bayplan.serving.metrics import families
from bayplan.serving.metrics.event_labels import EventNames, labels_of
from bayplan.serving.metrics.stopwatch import POST_FILTER, Stopwatch, TimedStep
from bayplan.serving.metrics.tallies import Counts, Durations, Labels, Reading, Tally

PRE_BIND = "PreBind"
_EVALUATED = ("PreFilter", "Filter", "PreScore", "Score")
_FOUND_A_NODE = ("PreFilter", "Filter", "PreScore", "Score", "Reserve", "Permit")
_FOUND_NONE = ("PreFilter", "Filter", POST_FILTER)
#: Only a pod that has a node gets to these.
_BEHIND_SCORE = ("Reserve", "Permit", PRE_BIND)
#: To upstream normalizing is a part of Score.
_PART_OF = {"ScoreExtensionNormalize": "Score"}
#: What these say of a pod or a node is no news of the extension point, which has done its work.
_ONLY_ERRORS_COUNT = ("Filter", "PreScore", "Score")


class PluginTimings:
    """A `Recorder` of the stopwatch."""

    def __init__(self) -> None:
        self.plugins = Durations(families.PLUGINS)
        self.points = Durations(families.EXTENSION_POINTS)
        self._hints = Durations(families.HINTS)
        self._events = Durations(families.EVENT_HANDLING)
        self._reuse = Counts(families.BATCH_ATTEMPTS)
        self._flushed = Counts(families.BATCH_FLUSHED)
        self._look_up = Durations(families.NODE_HINT_DURATION)
        self._building = Durations(families.STORE_RESULTS_DURATION)
        self.scheduler_names: Container[str] = ()
        self.event_names = EventNames(NEWEST_RELEASE)

    def tallies(self, stopwatch: Stopwatch) -> tuple[Tally, ...]:
        evaluations = Reading(families.PLUGIN_EVALUATIONS, lambda: _evaluations(list(stopwatch.steps.values())))
        return (
            self.plugins,
            self.points,
            self._hints,
            self._events,
            self._reuse,
            self._flushed,
            self._look_up,
            self._building,
            evaluations,
        )

    def attempted(self, steps: Sequence[TimedStep], outcome: Outcome, profile: str) -> int:
        """One timed attempt. Gives what PreBind took so far, if it is not over: the pod may wait there."""
        reached = _reached(steps, outcome)
        points: dict[str, tuple[int, Code]] = dict.fromkeys(reached, (0, Code.SUCCESS))
        for step in steps:
            status = step.status or Code.SUCCESS
            self.plugins.add(step.took_ns, (step.plugin, step.point, status.value))
            point = _PART_OF.get(step.point, step.point)
            if reached is _FOUND_NONE and point not in reached:
                continue  # scores that were worked out for pods to come
            took_ns, worst = points.get(point, (0, Code.SUCCESS))
            points[point] = (took_ns + step.alone_ns, _worse(point, worst, status))
        if POST_FILTER in points:
            succeeds = outcome is Outcome.NOMINATED
            points[POST_FILTER] = (points[POST_FILTER][0], Code.SUCCESS if succeeds else Code.UNSCHEDULABLE)
        pre_bind_ns, _ = points.pop(PRE_BIND, (0, None)) if outcome is Outcome.ASSUMED else (0, None)
        for point, (took_ns, status) in points.items():
            self.points.add(took_ns, (point, status.value, profile))
        return pre_bind_ns

    # ------------------------------------------------------------------ outside attempts

    def called(self, step: TimedStep, status: Code, took_ns: int) -> None:
        if step.plugin:
            self.plugins.add(took_ns, (step.plugin, step.point, status.value))
        else:
            self.points.add(took_ns, (step.point, status.value, step.profile))

    def hinted(self, plugin: str, cluster_event: str, *, helps: bool, took_ns: int) -> None:
        self._hints.add(took_ns, (plugin, self.event_names.of(cluster_event), "Queue" if helps else "QueueSkip"))

    def handled(self, event: Event, took_ns: int) -> None:
        for label in labels_of(event, self.scheduler_names):
            self._events.add(took_ns, (self.event_names.of(label),))

    def looked_up(self, profile: str, *, reused: bool, reusable: bool, took_ns: int) -> None:
        result = "hint_used" if reused else "no_hint"
        self._reuse.add((profile, result))
        self._look_up.add(took_ns, (result, profile))
        if not reused:
            self._flushed.add((profile, "expired" if reusable else "pod_not_batchable"))
            self._building.add(took_ns, (profile,))


def _reached(steps: Iterable[TimedStep], outcome: Outcome) -> tuple[str, ...]:
    """The extension points that the attempt has gone through, as far as its outcome tells."""
    if outcome is Outcome.ERROR:
        return ()
    if outcome in (Outcome.ASSUMED, Outcome.WAITING) or any(step.point in _BEHIND_SCORE for step in steps):
        return _FOUND_A_NODE
    return _FOUND_NONE


def _worse(point: str, known: Code, status: Code) -> Code:
    if status in (Code.SUCCESS, Code.SKIP) or known is Code.ERROR:
        return known
    return known if point in _ONLY_ERRORS_COUNT and status is not Code.ERROR else status


def _evaluations(steps: Iterable[TimedStep]) -> Mapping[Labels, float]:
    return {(s.plugin, s.point, s.profile): s.calls for s in steps if s.calls and s.point in _EVALUATED}
