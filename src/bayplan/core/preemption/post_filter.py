"""The PostFilter chain: what is tried when a pod fits nowhere, and what is said about it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Protocol, TypeAlias

import numpy as np

from bayplan.core.columns import RowArray
from bayplan.core.columns.shapes import PodInfo
from bayplan.core.diagnosis import histogram, nodes_available_message
from bayplan.core.filtering import Filtered
from bayplan.core.framework.profile import Profile
from bayplan.core.framework.timing import POST_FILTER, Stopwatch
from bayplan.core.framework.verdict import SUCCESS, Code, CycleError, Status, unschedulable
from bayplan.core.plugins.dynamic_resources import DYNAMIC_RESOURCES, DeviceState
from bayplan.core.plugins.dynamic_resources.post_filter import Deallocation, deallocate, nothing_to_deallocate
from bayplan.core.preemption.eligible import ineligible_reason
from bayplan.core.preemption.extending import ask_extenders, without_candidates
from bayplan.core.preemption.search import Searched, search_by_dry_run
from bayplan.core.release import Release
from bayplan.core.snapshot import View

DEFAULT_PREEMPTION = "DefaultPreemption"
NOT_HELPFUL = "Preemption is not helpful for scheduling"
#: Extenders have refused all of them.
NO_CANDIDATE = "no candidate node for preemption"
#: What DynamicResources says when its PreFilter was never reached: its state cannot be found.
STATE_NOT_FOUND = "not found"


class Found(Protocol):
    """What a search for candidates found."""

    @property
    def tied_rows(self) -> RowArray:
        """The nodes that the criteria leave; none when there is no candidate."""

    def victims_on(self, node_row: int) -> RowArray:
        """The pods that would have to go from a candidate, most important first."""

    def failures(self) -> Iterable[tuple[Status, int]]:
        """Why trying a node did not help, with the number of nodes it did not help on."""


#: Looks for candidates on all nodes where removing pods could help.
Search: TypeAlias = Callable[[PodInfo, View, Filtered], Found]


@dataclass(slots=True)
class PostFilterResult:
    """The chain's verdict, and preemption's part in it."""

    status: Status = SUCCESS
    ineligible_reason: str = ""  # why preemption must not look
    found: Found | None = None  # None when preemption was never reached, or must not look
    deallocation: Deallocation | None = None  # of the pod's own resource claims
    refused_by_extenders: bool = False  # they left no candidate

    @property
    def message(self) -> str:
        return self.status.message

    def reported(self, view: View) -> Status:
        """The status, with what a preemption that found victims says of itself."""
        if self.found is None or not self.status.ok or not view.objects.gates.release.reports_preemption:
            return self.status
        row = first_by_name(self.found.tied_rows, view)
        placement = f"found a potential placement for pod on node {view.nodes.names[row]}"
        return Status(Code.SUCCESS, (f"preemption: {placement}, preempting {len(self.found.victims_on(row))} victims",))

    @property
    def keeps_nomination(self) -> bool:
        """Where nobody looked for candidates, or had no say, nothing is known against an earlier nomination."""
        return self.found is None or self.status.code is Code.ERROR or self.refused_by_extenders


def first_by_name(rows: RowArray, view: View) -> int:
    """Nodes that no criterion tells apart are taken by their names."""
    return int(rows[np.argmin(view.nodes.name_ranks()[rows])])


def run_post_filters(
    profile: Profile, pod: PodInfo, view: View, filtered: Filtered, search: Search | None = None
) -> PostFilterResult:
    """Ask the PostFilter plugins in order until one succeeds or fails for good."""
    search = search or partial(search_by_dry_run, profile.preemption)
    result = PostFilterResult()
    reasons: list[str] = []
    for name in profile.post_filter:
        if name == DYNAMIC_RESOURCES:
            ask = partial(_dynamic_resources, pod, view, filtered, result)
        elif name == DEFAULT_PREEMPTION:
            ask = partial(_preempt, profile, pod, view, filtered, search, result)
        else:
            continue
        status = ask() if profile.stopwatch is None else _timed(profile.stopwatch, profile, name, ask)
        if status.code is not Code.UNSCHEDULABLE:
            result.status = status
            return result
        reasons += status.reasons
    result.status = unschedulable(*reasons)
    return result


def _timed(stopwatch: Stopwatch, profile: Profile, plugin: str, ask: Callable[[], Status]) -> Status:
    if not stopwatch.running:
        return ask()
    step = stopwatch.step(profile.scheduler_name, plugin, POST_FILTER)
    status: Status = stopwatch.measure_post_filter(step, lambda status, _: status.code, ask)
    return status


def _dynamic_resources(pod: PodInfo, view: View, filtered: Filtered, into: PostFilterResult) -> Status:
    into.deallocation = _deallocation(pod, view.objects.gates.release, filtered)
    return into.deallocation.status


def _deallocation(pod: PodInfo, release: Release, filtered: Filtered) -> Deallocation:
    if DYNAMIC_RESOURCES not in filtered.pre.ran:
        return Deallocation(Status(Code.ERROR, (STATE_NOT_FOUND,), DYNAMIC_RESOURCES))
    state = filtered.pre.states.get(DYNAMIC_RESOURCES)
    if not isinstance(state, DeviceState):
        return nothing_to_deallocate(release)
    own = [position for position, plugin in enumerate(filtered.plugins) if plugin.name == DYNAMIC_RESOURCES]
    rejected = np.isin(filtered.verdicts.rejected_by, own)
    return deallocate(pod, state, filtered.verdicts.codes[rejected], release)


def _preempt(
    profile: Profile, pod: PodInfo, view: View, filtered: Filtered, search: Search, into: PostFilterResult
) -> Status:
    """Fill `into` with what was found; the status is that of DefaultPreemption's PostFilter."""
    into.ineligible_reason = ineligible_reason(pod, view, filtered)
    if into.ineligible_reason:
        return unschedulable(f"preemption: {into.ineligible_reason}")
    into.found = search(pod, view, filtered)
    if not len(into.found.tied_rows):
        return _no_candidate(tuple(into.found.failures()), view.nodes.alive_count)
    return _ask_extenders(profile, pod, view, into) if profile.extenders else SUCCESS


def _ask_extenders(profile: Profile, pod: PodInfo, view: View, into: PostFilterResult) -> Status:
    """The candidates that extenders leave. None of those who keep candidates has an extender that is interested."""
    if not isinstance(into.found, Searched):
        return SUCCESS
    try:
        into.found = ask_extenders(profile.extenders, pod, view, into.found)
    except CycleError as error:
        into.found = without_candidates(into.found, view)
        return Status(Code.ERROR, (f"preemption: {error.message}",), DEFAULT_PREEMPTION)
    into.refused_by_extenders = not len(into.found.tied_rows)
    return unschedulable(f"preemption: {NO_CANDIDATE}") if into.refused_by_extenders else SUCCESS


@lru_cache(maxsize=1024)
def _no_candidate(failures: tuple[tuple[Status, int], ...], node_count: int) -> Status:
    """The same failures come again and again, for waiting pods that are tried in vain."""
    reasons: Counter[str] = Counter()
    errors: set[str] = set()
    untried = node_count
    for status, count in failures:
        untried -= count
        if status.code is Code.ERROR:
            errors.update(status.reasons)
        for reason in status.reasons:
            reasons[reason] += count
    if errors:
        text = min(errors) if len(errors) == 1 else f"[{', '.join(sorted(errors))}]"
        return Status(Code.ERROR, (f"preemption: {text}",), DEFAULT_PREEMPTION)
    if untried:
        reasons[NOT_HELPFUL] += untried
    detail = histogram(reasons)
    return unschedulable(f"preemption: {nodes_available_message(node_count, detail)}")
