"""The PostFilter chain: what is tried when a pod fits nowhere, and what is said about it.

Takes an attempt that failed; asks the PostFilter plugins, which may ask for preemption in turn. Evicts nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import TypeAlias

import numpy as np

from bayplan.core.actions import Action
from bayplan.core.columns import IntArray, RowArray, row_array
from bayplan.core.columns.shapes import PodInfo
from bayplan.core.diagnosis import histogram, nodes_available_message
from bayplan.core.filtering import NOT_LOOKED_AT, Filtered, WhatIfWorlds
from bayplan.core.framework.args import DEFAULT_PREEMPTION
from bayplan.core.framework.contract import (
    SKIP,
    Found,
    PostFiltered,
    Proposal,
    Skip,
    State,
)
from bayplan.core.framework.profile import Profile
from bayplan.core.framework.verdict import SUCCESS, Code, CycleError, Status, unschedulable
from bayplan.core.preemption.eligible import ineligible_reason
from bayplan.core.preemption.extending import ask_extenders, without_candidates
from bayplan.core.preemption.search import Searched, search_by_dry_run
from bayplan.core.scoring import first_by_name
from bayplan.core.snapshot import View

NOT_HELPFUL = "Preemption is not helpful for scheduling"
#: Extenders have refused all of them.
NO_CANDIDATE = "no candidate node for preemption"

#: Looks for candidates on all nodes where removing pods could help.
Search: TypeAlias = Callable[[PodInfo, View, Filtered], Found]


@dataclass(slots=True)
class PostFilterResult:
    """The chain's verdict, and preemption's part in it."""

    status: Status = SUCCESS
    ineligible_reason: str = ""  # why preemption must not look
    found: Found | None = None  # None when no plugin looked for nodes, or none may
    actions: tuple[Action, ...] = ()  # that plugins ask for, whatever becomes of the pod
    refused_by_extenders: bool = False  # they left no candidate
    asked_nobody: bool = False  # the profile has no PostFilter plugins

    @property
    def message(self) -> str:
        return self.status.message

    def reported(self, view: View) -> Status:
        """The status, with what a preemption that found victims says of itself."""
        if self.found is None or isinstance(self.found, Proposal) or not self.status.ok:
            return self.status
        if not view.objects.gates.release.reports_preemption:
            return self.status
        row = first_by_name(self.found.tied_rows, view)
        placement = f"found a potential placement for pod on node {view.nodes.names[row]}"
        return Status(Code.SUCCESS, (f"preemption: {placement}, preempting {len(self.found.victims_on(row))} victims",))

    @property
    def keeps_nomination(self) -> bool:
        """Where nobody of those asked looked for candidates, or had a say, nothing is known against an earlier one."""
        if self.asked_nobody:
            return False
        return self.found is None or self.status.code is Code.ERROR or self.refused_by_extenders


def run_post_filters(
    profile: Profile, pod: PodInfo, view: View, filtered: Filtered, search: Search | None = None
) -> PostFilterResult:
    """Ask the PostFilter plugins in order until one succeeds or fails for good."""
    search = search or partial(search_by_dry_run, profile.preemption)
    result = PostFilterResult(asked_nobody=not profile.post_filter)
    failure = FailedAttempt(profile, pod, view, filtered, search, result)
    reasons: list[str] = []
    for plugin in profile.post_filter:
        said = plugin.post_filter(pod, view, failure)
        if said.found is not None:
            result.found = said.found
        result.actions += said.actions
        status = said.status
        if status.code is not Code.UNSCHEDULABLE:
            result.status = status if status.plugin or status.ok else replace(status, plugin=plugin.name)
            return result
        reasons += status.reasons
    result.status = unschedulable(*reasons)
    return result


def codes_of(filtered: Filtered, plugin: str) -> IntArray:
    """The failure codes of the nodes that the plugin rejected, in no order."""
    own = [position for position, each in enumerate(filtered.plugins) if each.name == plugin]
    codes: IntArray = filtered.verdicts.codes[np.isin(filtered.verdicts.rejected_by, own)]
    return codes


@dataclass(slots=True)
class FailedAttempt:
    """A `Failure`, with what is noted of preemption while plugins are asked."""

    profile: Profile
    pod: PodInfo
    view: View
    filtered: Filtered
    search: Search
    into: PostFilterResult

    def state_of(self, plugin: str) -> State | Skip | None:
        pre = self.filtered.pre
        return pre.states.get(plugin, SKIP) if plugin in pre.ran else None

    def codes_of(self, plugin: str) -> IntArray:
        return codes_of(self.filtered, plugin)

    def fits_without(self, node_row: int, victim_rows: RowArray) -> bool:
        if not self.filtered.pre.status.ok or self.filtered.verdicts.rejected_by[node_row] == NOT_LOOKED_AT:
            return False
        world = WhatIfWorlds(self.filtered.plugins, self.filtered.states, self.view)
        world.shift(victim_rows, row_array([node_row] * len(victim_rows)), -1)
        return bool(world.filter(row_array([node_row])).passed[0])

    def preempt(self) -> PostFiltered:
        return _preempt(self)


def _preempt(failure: FailedAttempt) -> PostFiltered:
    pod, view, into = failure.pod, failure.view, failure.into
    into.ineligible_reason = ineligible_reason(pod, view, failure.filtered)
    if into.ineligible_reason:
        return PostFiltered(unschedulable(f"preemption: {into.ineligible_reason}"))
    found = failure.search(pod, view, failure.filtered)
    if not len(found.tied_rows):
        return PostFiltered(_no_candidate(tuple(found.failures()), view.nodes.alive_count), found)
    if failure.profile.extenders and isinstance(found, Searched):
        return _ask_extenders(failure, found)
    return PostFiltered(SUCCESS, found)


def _ask_extenders(failure: FailedAttempt, searched: Searched) -> PostFiltered:
    """The candidates that extenders leave. None of those who keep candidates has an extender that is interested."""
    try:
        left = ask_extenders(failure.profile.extenders, failure.pod, failure.view, searched)
    except CycleError as error:
        status = Status(Code.ERROR, (f"preemption: {error.message}",), DEFAULT_PREEMPTION)
        return PostFiltered(status, without_candidates(searched, failure.view))
    failure.into.refused_by_extenders = not len(left.tied_rows)
    if failure.into.refused_by_extenders:
        return PostFiltered(unschedulable(f"preemption: {NO_CANDIDATE}"), left)
    return PostFiltered(SUCCESS, left)


@lru_cache(maxsize=1024)
def _no_candidate(failures: tuple[tuple[Status, int], ...], node_count: int) -> Status:
    """The status where no node can be helped. It is kept, as waiting pods fail in the same way again and again."""
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
