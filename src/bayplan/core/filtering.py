"""Pod + snapshot -> which nodes pass, and what the others fail on.

The first plugin that fails a node decides its verdict, so plugins run in order on the rows that are left. Pods
nominated to a node count as present there for pods of no higher priority: such a node must pass with and without them.
Nothing here makes text: verdicts are plugin positions and failure codes until somebody reads them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from bayplan.core.columns import ALL_ROWS, BoolArray, IntArray, RowArray, Rows, every_row, row_array
from bayplan.core.columns.shapes import PodInfo
from bayplan.core.framework.contract import (
    SKIP,
    FilterPlugin,
    Ready,
    RecountingPlugin,
    State,
    UnpreparedPlugin,
    WhatIfPlugin,
)
from bayplan.core.framework.profile import Profile
from bayplan.core.framework.verdict import SUCCESS, Code, CycleError, Status, unresolvable
from bayplan.core.snapshot import View

#: In `rejected_by`: the node passed every filter.
PASSED = -1
#: In `rejected_by`: not looked at, because PreFilter rejected the pod or narrowed the search to other nodes.
NOT_LOOKED_AT = -2
#: In `rejected_by` of an outlook (`preemption/foresight.py`): it depends on which pods leave; or on nothing but that.
DEPENDS, DEPENDS_ON_ITSELF = -3, -4

#: What verdicts mean in words, by plugin position and failure code.
Explained: TypeAlias = dict[tuple[int, int], Status]


@dataclass(slots=True)
class PreFilterResult:
    """What PreFilter made of the pod, for all nodes together."""

    status: Status
    states: dict[str, State] = field(default_factory=dict)  # by plugin; SKIP where the plugin has nothing to do
    nodes: list[str] | None = None  # the only names worth looking at, sorted; None for all
    narrowing: list[str] = field(default_factory=list)  # the plugins that said so
    ran: set[str] = field(default_factory=set)  # plugins whose PreFilter was reached


@dataclass(slots=True)
class Verdicts:
    """Who rejected which row, and why."""

    rejected_by: NDArray[np.int8]  # (rows,) position of the plugin, or PASSED
    codes: IntArray  # (rows,) that plugin's failure code

    @property
    def passed(self) -> BoolArray:
        passed: BoolArray = self.rejected_by == PASSED
        return passed

    def at(self, rows: RowArray) -> Verdicts:
        return Verdicts(self.rejected_by[rows], self.codes[rows])

    def item(self, row: int) -> tuple[int, int]:
        return self.rejected_by.item(row), self.codes.item(row)


@dataclass(slots=True)
class Filtered:
    """The outcome of filtering one pod."""

    plugins: tuple[FilterPlugin, ...]
    states: list[State]  # of the plugins, in their order
    pre: PreFilterResult
    verdicts: Verdicts  # over all rows of the node table; rows that are not alive mean nothing
    absent: Status  # what holds for nodes that were not looked at
    feasible_rows: RowArray
    explained: Explained = field(default_factory=dict)
    known_rejectors: tuple[str, ...] | None = None  # where verdicts do not show all of them: after extenders
    as_objects: bool = False  # the feasible nodes are objects that an extender returned

    def status_of(self, view: View, row: int) -> Status:
        """The verdict on one node, in words."""
        return self.explain(view, int(self.verdicts.rejected_by[row]), int(self.verdicts.codes[row]))

    def rejectors(self, view: View) -> tuple[str, ...]:
        """The plugins that rejected the pod or some node, sorted; only they can tell when a new attempt is worth it."""
        if self.known_rejectors is not None:
            return self.known_rejectors
        if not self.pre.status.ok:
            return (self.pre.status.plugin,) if self.pre.status.plugin else tuple(sorted(self.pre.narrowing))
        rejecting = self.verdicts.rejected_by[view.nodes.alive & (self.verdicts.rejected_by >= 0)]
        positions = np.bincount(rejecting).nonzero()[0].tolist() if len(rejecting) else ()
        return tuple(sorted({*(self.plugins[position].name for position in positions), *self.pre.narrowing}))

    def explain(self, view: View, position: int, code: int) -> Status:
        """What a verdict says in words, from the values in `verdicts`."""
        if position < 0:
            return SUCCESS if position == PASSED else self.absent
        known = self.explained.get((position, code))
        if known is None:
            plugin = self.plugins[position]
            known = plugin.explain_failure(self.states[position], view, code)
            known = self.explained[position, code] = replace(known, plugin=plugin.name)
        return known


class WhatIfWorlds:
    """Every node in a world of its own, in which pods have come to it or left it.

    Holds a view with shifted usage and forked plugin states; `filter` judges rows in their worlds. An error is raised
    or, where `errors` are given, a verdict that is put into words there.
    """

    def __init__(
        self, plugins: Sequence[FilterPlugin], states: Sequence[State], view: View, errors: Explained | None = None
    ) -> None:
        self.plugins = plugins
        self._errors = errors
        self.view = view.what_if()
        self.states = list(states)
        self._shifting: list[tuple[WhatIfPlugin, State]] = []
        for position, (plugin, state) in enumerate(zip(plugins, states, strict=True)):
            if state is not SKIP and is_what_if(type(plugin)):
                shifting = cast(WhatIfPlugin, plugin)
                self.states[position] = shifting.fork(state, view)
                self._shifting.append((shifting, self.states[position]))

    def fork(self) -> WhatIfWorlds:
        """A copy of these worlds that can be shifted without changing them."""
        return WhatIfWorlds(self.plugins, self.states, self.view, self._errors)

    def shift(self, pod_rows: RowArray, node_rows: RowArray, sign: int) -> None:
        """Pod i comes to (+1) or leaves (-1) node i."""
        self.view.usage.shift(self.view.pods, pod_rows, node_rows, sign)
        for plugin, state in self._shifting:
            plugin.shift(state, self.view, pod_rows, node_rows, sign)

    def filter(self, rows: RowArray) -> Verdicts:
        return run_filters(self.plugins, self.states, self.view, rows, self._errors)


@cache
def is_what_if(plugin_class: type) -> bool:
    """What `isinstance(plugin, WhatIfPlugin)` says; asking a protocol each time would take longer than a dry run."""
    return hasattr(plugin_class, "fork") and hasattr(plugin_class, "shift")


@cache
def _recounts(plugin_class: type) -> bool:
    """What `isinstance(plugin, RecountingPlugin)` says."""
    return hasattr(plugin_class, "recount")


@cache
def _takes_unprepared(plugin_class: type) -> bool:
    """What `isinstance(plugin, UnpreparedPlugin)` says."""
    return hasattr(plugin_class, "unprepared")


def filter_pod(profile: Profile, pod: PodInfo, view: View) -> Filtered:
    """PreFilter, then Filter on every node that PreFilter leaves. Raises CycleError."""
    return filter_nodes(profile, pod, view, run_pre_filters(profile, pod, view))


def filter_nodes(
    profile: Profile,
    pod: PodInfo,
    view: View,
    pre: PreFilterResult,
    start: int = 0,
    *,
    among: BoolArray | None = None,
) -> Filtered:
    """Filter on every node that PreFilter leaves; on those `among` (nodes,) alone where only they are in question.

    Raises CycleError: that of the first node which ends in one, in a search from position `start`.
    """
    count, plugins = view.nodes.count, profile.filter
    verdicts = Verdicts(np.full(count, NOT_LOOKED_AT, dtype=np.int8), np.zeros(count, dtype=np.int64))
    if not pre.status.ok:
        return Filtered(plugins, [SKIP] * len(plugins), pre, verdicts, absent=pre.status, feasible_rows=row_array([]))
    states = filter_states(profile, pod, view, pre.states)
    if pre.nodes is not None and pod.nominated_node_name:
        rejector = _judge_nominated_node(profile, states, pod, view, verdicts, among)
        if rejector:
            pre = replace(pre, narrowing=sorted({*pre.narrowing, rejector}))
    rows = _rows_to_search(pre, view)
    if among is not None:
        rows = rows[among[rows]]
    try:
        found = filter_with_nominated(plugins, states, pod, view, rows)
    except CycleError as error:
        raise _first_error(error, plugins, states, pod, view, rows, start) from error
    verdicts.rejected_by[rows] = found.rejected_by
    verdicts.codes[rows] = found.codes
    # Rows are searched in order, and only those of nodes that are alive.
    return Filtered(plugins, states, pre, verdicts, absent=_outside_status(pre), feasible_rows=rows[found.passed])


def search_order(view: View, start: int) -> RowArray:
    """(alive,) rows in the order in which upstream searches, from position `start` on."""
    return np.roll(row_array([view.nodes.rows_by_name[name] for name in view.nodes.order.names()]), -start)


def _first_error(
    error: CycleError,
    plugins: Sequence[FilterPlugin],
    states: Sequence[State],
    pod: PodInfo,
    view: View,
    rows: RowArray,
    start: int,
) -> CycleError:
    """Some of the rows end in an error, maybe each in another: that of the row that is searched first.

    Halves the rows that it must be among until one is left.
    """
    order = search_order(view, start)
    left = order[np.isin(order, rows)]
    while len(left):
        half = left[: (len(left) + 1) // 2]
        try:
            filter_with_nominated(plugins, states, pod, view, np.sort(half))
            left = left[len(half) :]
        except CycleError as found:
            if len(half) == 1:
                return found
            left = half
    return error


def _judge_nominated_node(
    profile: Profile, states: list[State], pod: PodInfo, view: View, into: Verdicts, among: BoolArray | None
) -> str:
    """The node the pod is nominated to is tried before all others, whether PreFilter left it or not.

    As upstream: its verdict stays, and the plugin that rejects it (returned; "" if none) counts as one that narrowed
    the search.
    """
    row = view.nodes.rows_by_name.get(pod.nominated_node_name)
    if row is None or not view.nodes.alive[row] or (among is not None and not among[row]):
        return ""
    try:
        found = filter_with_nominated(profile.filter, states, pod, view, row_array([row]))
    except CycleError:
        return ""
    position = found.rejected_by.item(0)
    if position == PASSED:
        return ""
    into.rejected_by[row], into.codes[row] = position, found.codes.item(0)
    return profile.filter[position].name


def run_pre_filters(profile: Profile, pod: PodInfo, view: View) -> PreFilterResult:
    """Raises CycleError."""
    result = PreFilterResult(SUCCESS)
    narrowed: set[str] | None = None
    for plugin in profile.pre_filter:
        result.ran.add(plugin.name)
        try:
            outcome = plugin.pre_filter(pod, view)
        except CycleError as error:
            raise error.at(f'running PreFilter plugin "{plugin.name}"') from error
        if isinstance(outcome, Status):
            if _reject(result, plugin.name, outcome):
                return result
            continue
        result.states[plugin.name] = outcome.state if isinstance(outcome, Ready) else SKIP
        if isinstance(outcome, Ready) and outcome.nodes is not None:
            result.narrowing.append(plugin.name)
            narrowed = set(outcome.nodes) if narrowed is None else narrowed & set(outcome.nodes)
            if not narrowed:
                result.status = unresolvable(_nothing_left(result.narrowing))
                return result
    result.nodes = None if narrowed is None else sorted(narrowed)
    return result


def _reject(result: PreFilterResult, plugin: str, status: Status) -> bool:
    """Note a rejection; whether it ends PreFilter at once. A plain Unschedulable lets the others speak first."""
    if status.code not in (Code.UNSCHEDULABLE, Code.UNRESOLVABLE, Code.PENDING):
        raise CycleError(plugin, status.message).at(f'running PreFilter plugin "{plugin}"')
    result.status = Status(status.code, status.reasons, plugin)
    result.states[plugin] = SKIP
    return status.code is Code.UNRESOLVABLE


def _nothing_left(narrowing: list[str]) -> str:
    if len(narrowing) == 1:
        return f"node(s) didn't satisfy plugin {narrowing[0]}"
    return f"node(s) didn't satisfy plugin(s) [{' '.join(sorted(narrowing))}] simultaneously"


def filter_states(profile: Profile, pod: PodInfo, view: View, prepared: Mapping[str, State]) -> list[State]:
    """For each filter plugin what its PreFilter left; for those that have none, the pod or what they make of it."""
    return [
        prepared[plugin.name] if plugin.name in prepared else _unprepared_state(plugin, pod, view)
        for plugin in profile.filter
    ]


def _unprepared_state(plugin: FilterPlugin, pod: PodInfo, view: View) -> State:
    if not _takes_unprepared(type(plugin)):
        return pod
    return cast(UnpreparedPlugin, plugin).unprepared(pod, view)


def with_moves(
    plugins: Sequence[FilterPlugin], states: Sequence[State], view: View, moved: Mapping[int, int], sign: int
) -> list[State]:
    """States made when pods had come (+1) to nodes, or left them (-1), as upstream's that have followed each of them.

    `moved`: pod row -> node row.
    """
    if not moved:
        return list(states)
    pod_rows, node_rows = row_array(list(moved)), row_array(list(moved.values()))
    return [
        cast(RecountingPlugin, plugin).recount(state, view, pod_rows, node_rows, sign)
        if state is not SKIP and _recounts(type(plugin))
        else state
        for plugin, state in zip(plugins, states, strict=True)
    ]


def filter_with_nominated(
    plugins: Sequence[FilterPlugin], states: Sequence[State], pod: PodInfo, view: View, rows: Rows
) -> Verdicts:
    """Filter rows; a node with nominated pods must pass with them and, only if it does, also without."""
    pod_rows, node_rows = nominated_pods(pod, view, rows)
    if not len(pod_rows):
        return run_filters(plugins, states, view, rows)
    full = WhatIfWorlds(plugins, states, view)
    full.shift(pod_rows, node_rows, +1)
    looked_at = every_row(view.nodes.count)[rows]
    found = _all_passed(len(looked_at))
    crowded = np.flatnonzero(np.isin(looked_at, node_rows))
    take_failures(found, crowded, full.filter(looked_at[crowded]))
    left = np.flatnonzero(found.passed)
    take_failures(found, left, run_filters(plugins, states, view, looked_at[left]))
    return found


def _all_passed(count: int) -> Verdicts:
    return Verdicts(np.full(count, PASSED, dtype=np.int8), np.zeros(count, dtype=np.int64))


def take_failures(found: Verdicts, positions: RowArray, stricter: Verdicts) -> None:
    """Where the stricter pass failed its verdict is the one that counts."""
    failed = ~stricter.passed
    found.rejected_by[positions[failed]] = stricter.rejected_by[failed]
    found.codes[positions[failed]] = stricter.codes[failed]


def nominated_pods(pod: PodInfo, view: View, rows: Rows = ALL_ROWS) -> tuple[RowArray, RowArray]:
    """Pods nominated to known nodes that the given pod must make room for, and those nodes; of few rows those alone."""
    pod_rows, node_rows = view.nominated.rows(view.nodes)
    counts = view.pods.priorities[pod_rows] >= pod.priority
    own_row = view.pods.rows_by_key.get(pod.key)
    if own_row is not None:
        counts &= pod_rows != own_row
    if not isinstance(rows, slice):
        counts &= node_rows == rows[0] if len(rows) == 1 else np.isin(node_rows, rows)
    return pod_rows[counts], node_rows[counts]


def run_filters(
    plugins: Sequence[FilterPlugin], states: Sequence[State], view: View, rows: Rows, errors: Explained | None = None
) -> Verdicts:
    """The first failure of each row.

    Raises CycleError when a plugin does; given `errors`, the error is the verdict on the nodes it is about instead.
    """
    count = view.nodes.count if isinstance(rows, slice) else len(rows)
    found = _all_passed(count)
    if not count:
        return found
    left: Rows = ALL_ROWS  # positions in `rows` that passed so far
    for position, (plugin, state) in enumerate(zip(plugins, states, strict=True)):
        if state is SKIP:
            continue
        try:
            codes = plugin.filter(state, view, _compose(rows, left))
        except CycleError as error:
            if errors is None:
                raise error.at(_filtering(plugin)) from error
            codes = _row_by_row(position, plugin, state, view, _compose(rows, left), errors)
        failed = np.flatnonzero(codes)
        if len(failed):
            failed_positions = failed if isinstance(left, slice) else left[failed]
            found.rejected_by[failed_positions] = position
            found.codes[failed_positions] = codes[failed]
            left = np.flatnonzero(found.rejected_by == PASSED)
            if not len(left):
                break
    return found


def _row_by_row(
    position: int, plugin: FilterPlugin, state: State, view: View, rows: Rows, errors: Explained
) -> IntArray:
    """(rows,) failure codes of a plugin that cannot answer for all of the rows at once.

    Each distinct error gets a negative code, under which its status is kept in `errors`.
    """
    codes: list[int] = []
    for row in every_row(view.nodes.count)[rows]:
        try:
            codes.append(plugin.filter(state, view, row_array([row])).item())
        except CycleError as error:
            status = Status(Code.ERROR, (error.at(_filtering(plugin)).message,), plugin.name)
            known = next((code for (at, code), kept in errors.items() if at == position and kept == status), None)
            lowest = min((code for at, code in errors if at == position), default=0)
            code = known if known is not None else min(lowest, 0) - 1
            errors[position, code] = status
            codes.append(code)
    return np.array(codes, dtype=np.int64)


def _filtering(plugin: FilterPlugin) -> str:
    return f'running "{plugin.name}" filter plugin'


def passing(plugins: Sequence[FilterPlugin], states: Sequence[State], view: View, rows: Rows) -> BoolArray | None:
    """(rows,) which rows pass all filters, for those who need no reasons; None when every filter skips.

    Unlike in `run_filters` every plugin is asked about every row: a plugin that raises may do so here for a row that
    another one has rejected.
    """
    passed: BoolArray | None = None
    for plugin, state in zip(plugins, states, strict=True):
        if state is not SKIP:
            fits = plugin.filter(state, view, rows) == 0
            passed = fits if passed is None else passed & fits
    return passed


def _compose(rows: Rows, positions: Rows) -> Rows:
    if isinstance(positions, slice):
        return rows
    return positions if isinstance(rows, slice) else rows[positions]


def _rows_to_search(pre: PreFilterResult, view: View) -> RowArray:
    if pre.nodes is None:
        return np.flatnonzero(view.nodes.alive)
    known = (view.nodes.rows_by_name.get(name) for name in pre.nodes)
    return row_array(sorted(row for row in known if row is not None and view.nodes.alive[row]))


def _outside_status(pre: PreFilterResult) -> Status:
    if pre.nodes is None:
        return unresolvable()
    return unresolvable(f"node(s) didn't satisfy plugin(s) [{' '.join(sorted(pre.narrowing))}]")
