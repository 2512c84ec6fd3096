"""A plugin asked about one pod in one cluster, as the core would ask it, with every answer checked for its form.

Takes a plugin, objects and a pod; gives answers. An answer that the core could not work with is a `Breach`, the one
exception of these checks. Nothing here knows which rules there are: the modules that compare answers do.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import numpy as np

from bayplan.config.feature_gates import DEFAULT_GATES
from bayplan.config.loading import load_configuration
from bayplan.config.registry import build_profiles
from bayplan.config.releases import DEFAULT_RELEASE
from bayplan.core.cache import Cache
from bayplan.core.columns import ALL_ROWS, IntArray, RowArray, Rows, row_array
from bayplan.core.columns.shapes import PodInfo
from bayplan.core.filtering import WhatIfWorlds, filter_pod
from bayplan.core.framework.contract import (
    AnsweringPlugin,
    AssumedPod,
    Pending,
    PostFiltered,
    PreFiltered,
    PreFlightPlugin,
    Ready,
    Skip,
    Wait,
    WaitingPod,
)
from bayplan.core.framework.profile import Profile
from bayplan.core.framework.verdict import SUCCESS, Code, Status
from bayplan.core.preemption.post_filter import FailedAttempt, PostFilterResult
from bayplan.core.preemption.search import search_by_dry_run
from bayplan.core.snapshot import HOLDING, View
from bayplan.model.fingerprint import fingerprint
from bayplan.model.kinds import KINDS, Object
from bayplan.model.pod import Pod

REJECTING = (Code.UNSCHEDULABLE, Code.UNRESOLVABLE)


class Breach(AssertionError):  # noqa: N818 - what was found, not that something went wrong here
    """A rule that a plugin breaks."""

    def __init__(self, rule: str, message: str) -> None:
        super().__init__(f"{rule}: {message}")
        self.rule = rule
        self.message = message


def require(condition: object, rule: str, message: str) -> None:
    if not condition:
        raise Breach(rule, message)


@dataclass(frozen=True, slots=True)
class Case:
    """A pod that waits, in a cluster."""

    cache: Cache
    info: PodInfo
    view: View
    objects: tuple[Object, ...]  # the cluster was made of them
    pod: Pod

    @property
    def alive_rows(self) -> RowArray:
        return np.flatnonzero(self.view.nodes.alive)

    def row_of(self, node_name: str) -> int:
        return self.view.nodes.rows_by_name[node_name]


def case_of(objects: Iterable[Object], pod: Pod) -> Case:
    cache, objects = Cache(DEFAULT_GATES), tuple(objects)
    for obj in objects:
        cache.add(obj)
    info = cache.info(pod)
    return Case(cache, info, cache.view(), objects, pod)


@cache
def default_profile() -> Profile:
    (profile,) = build_profiles(load_configuration(None, release=DEFAULT_RELEASE)).values()
    return profile


# ---------------------------------------------------------------- filtering


def prepared(plugin: Any, case: Case) -> PreFiltered:
    """What PreFilter says; the pod itself is the state of a plugin without one."""
    if not hasattr(plugin, "pre_filter"):
        return Ready(case.info)
    outcome = plugin.pre_filter(case.info, case.view)
    require(
        isinstance(outcome, Ready | Skip | Status), "form", f"pre_filter returns {outcome!r}, not Ready, SKIP or Status"
    )
    if isinstance(outcome, Status):
        rejects = outcome.code in (*REJECTING, Code.PENDING, Code.ERROR)
        require(rejects, "form", f"pre_filter returns a Status of {outcome.code.value}; use Ready or SKIP to continue")
    return outcome  # type: ignore[no-any-return]


def codes_of(plugin: Any, state: Any, view: View, rows: Rows) -> IntArray:
    """(rows,) failure codes."""
    answer = plugin.filter(state, view, rows)
    _check_array("filter", answer, view.nodes.count if isinstance(rows, slice) else len(rows))
    return answer.copy()  # type: ignore[no-any-return]


def status_on(plugin: Any, outcome: PreFiltered, view: View, row: int) -> Status:
    """The plugin's verdict on one node, in words."""
    if isinstance(outcome, Skip):
        return SUCCESS
    if isinstance(outcome, Status):
        return outcome
    if outcome.nodes is not None and view.nodes.names[row] not in outcome.nodes:
        return Status(Code.UNRESOLVABLE, ("not among the nodes of pre_filter",))
    code = int(codes_of(plugin, outcome.state, view, row_array([row]))[0])
    return explained(plugin, outcome.state, view, code) if code else SUCCESS


def explained(plugin: Any, state: Any, view: View, code: int) -> Status:
    """A failure code in words."""
    said = plugin.explain_failure(state, view, code)
    require(isinstance(said, Status), "reasons", f"explain_failure of code {code} returns {said!r}, not a Status")
    require(
        said.code in REJECTING,
        "reasons",
        f"explain_failure of code {code} says {said.code.value}, not Unschedulable or UnschedulableAndUnresolvable",
    )
    worded = bool(said.reasons) and all(isinstance(reason, str) and reason for reason in said.reasons)
    require(worded, "reasons", f"explain_failure of code {code} has no reasons: {said.reasons!r}")
    return said  # type: ignore[no-any-return]


# ---------------------------------------------------------------- scoring


def score_state(plugin: Any, case: Case, rows: RowArray) -> Any:
    """What PreScore leaves, SKIP included."""
    return plugin.pre_score(case.info, case.view, rows) if hasattr(plugin, "pre_score") else case.info


def raw_scores(plugin: Any, state: Any, view: View, rows: RowArray) -> IntArray:
    answer = plugin.score(state, view, rows)
    _check_array("score", answer, len(rows))
    return answer.copy()  # type: ignore[no-any-return]


def normal_scores(plugin: Any, state: Any, raw: IntArray, rows: RowArray) -> IntArray:
    if not hasattr(plugin, "normalize"):
        return raw
    answer = plugin.normalize(state, raw.copy(), rows)
    _check_array("normalize", answer, len(rows))
    return answer.copy()  # type: ignore[no-any-return]


def _check_array(method: str, answer: Any, length: int) -> None:
    require(isinstance(answer, np.ndarray), "form", f"{method} gives {type(answer).__name__}, not an array")
    require(answer.dtype == np.int64, "form", f"{method} gives {answer.dtype}, not int64")
    require(answer.shape == (length,), "form", f"{method} gives shape {answer.shape} for {length} rows")


# ---------------------------------------------------------------- all answers, and all that must not change


def transcript(plugin: Any, points: Iterable[str], case: Case, score_rows: RowArray) -> list[tuple[str, Any]]:
    """Everything the plugin says of the case, as values that can be compared; scores of the given rows."""
    said = [(point, _TRANSCRIBED[point](plugin, case)) for point in points if point in _TRANSCRIBED]
    return [*said, ("score", _score_words(plugin, case, score_rows))] if "score" in points else said


def _filter_words(plugin: Any, case: Case) -> Any:
    outcome = prepared(plugin, case)
    if not isinstance(outcome, Ready):
        return outcome
    nodes = None if outcome.nodes is None else tuple(sorted(outcome.nodes))
    codes = codes_of(plugin, outcome.state, case.view, ALL_ROWS)
    worlds = WhatIfWorlds([plugin], [outcome.state], case.view)
    pod_rows = np.flatnonzero(case.view.pods.node_rows >= 0)
    worlds.shift(pod_rows, case.view.pods.node_rows[pod_rows].astype(np.intp), -1)
    shifted = worlds.filter(case.alive_rows)
    return nodes, codes.tobytes(), shifted.codes.tobytes()


def _score_words(plugin: Any, case: Case, rows: RowArray) -> Any:
    state = score_state(plugin, case, rows)
    if isinstance(state, Skip) or not len(rows):
        return None
    raw = raw_scores(plugin, state, case.view, rows)
    return raw.tobytes(), normal_scores(plugin, state, raw, rows).tobytes()


def _pre_enqueue_words(plugin: Any, case: Case) -> Any:
    said = plugin.pre_enqueue(case.info)
    require(isinstance(said, Status), "form", f"pre_enqueue returns {said!r}, not a Status")
    require(said.ok or said.reasons, "reasons", "pre_enqueue rejects a pod without a reason")
    return said


def _sort_words(plugin: Any, case: Case) -> Any:
    key = plugin.sort_key(case.info, 1)
    numbers = isinstance(key, tuple) and all(isinstance(part, int) for part in key)
    require(numbers, "form", f"sort_key returns {key!r}, not a tuple of integers")
    return key


def _reserve_words(plugin: Any, case: Case) -> Any:
    said = [fingerprint(obj) for row in _first_row(case) for obj in plugin.reserve(case.info, case.view, row)]
    skipped = isinstance(prepared(plugin, case), Skip)
    require(not (said and skipped), "form", "reserve returns something for a pod that pre_filter skips")
    return said


def _permit_words(plugin: Any, case: Case) -> Any:
    said: list[Any] = [plugin.permit(case.info, case.view, row) for row in _first_row(case)]
    proper = all(isinstance(answer, Status | Wait) for answer in said)
    require(proper, "form", f"permit returns {said!r}, neither a Status nor a Wait")
    if isinstance(plugin, AnsweringPlugin):
        said += [_waiting_answers(plugin, case, row) for row in _first_row(case)]
    return said


def _waiting_answers(plugin: AnsweringPlugin, case: Case, row: int) -> Any:
    answers = plugin.answer_waiting([WaitingPod(case.info, row)], case.view)
    proper = all(key == case.info.key and isinstance(answer, Status) for key, answer in answers.items())
    require(proper, "form", f"answer_waiting returns {answers!r}, not a Status for each key of a pod that waits")
    return sorted(answers.items())


def _pre_bind_words(plugin: Any, case: Case) -> Any:
    if isinstance(plugin, PreFlightPlugin) and not plugin.pre_bind_pre_flight(case.info):
        return None
    return [_pre_bind_answer(plugin, case, row, times_asked) for row in _first_row(case) for times_asked in (0, 1)]


def _pre_bind_answer(plugin: Any, case: Case, row: int, times_asked: int) -> Any:
    placement = _placement(case, row, times_asked)
    said = plugin.pre_bind(case.info, case.view, placement)
    require(isinstance(said, Status | Pending), "form", f"pre_bind returns {said!r}, neither a Status nor a Pending")
    if isinstance(said, Pending):
        require(said.until > placement.now, "form", "pre_bind waits until a time that is over")
        is_prompt = said.look_at is None or said.look_at > placement.now or not times_asked
        require(is_prompt, "form", "pre_bind wants to be asked again at once, for the second time")
        can_end = bool(said.kinds) or said.look_at is not None
        require(can_end, "form", "pre_bind waits for nothing: its Pending has neither kinds nor look_at")
        unknown = sorted(said.kinds - KINDS.keys())
        require(not unknown, "form", f"pre_bind waits for kinds that are not known: {', '.join(unknown)}")
    return said


def _placement(case: Case, row: int, times_asked: int) -> AssumedPod:
    return AssumedPod(row, case.view.nodes.names[row], (), reserved_at=1, asked_at=1, times_asked=times_asked, now=2)


def _bind_words(plugin: Any, case: Case) -> Any:
    return [plugin.bind_target(case.info, case.view.nodes.names[row]) for row in _first_row(case)]


def _post_bind_words(plugin: Any, case: Case) -> Any:
    return [tuple(plugin.post_bind(case.info, case.view.nodes.names[row])) for row in _first_row(case)]


def _post_filter_words(plugin: Any, case: Case) -> Any:
    """For a pod that fits nowhere."""
    profile = default_profile()
    filtered = filter_pod(profile, case.info, case.view) if len(case.alive_rows) else None
    if filtered is None or len(filtered.feasible_rows):
        return None
    search = partial(search_by_dry_run, None)
    failure = FailedAttempt(profile, case.info, case.view, filtered, search, PostFilterResult())
    said = plugin.post_filter(case.info, case.view, failure)
    require(isinstance(said, PostFiltered), "form", f"post_filter returns {said!r}, not PostFiltered")
    rows = [] if said.found is None else said.found.tied_rows.tolist()
    victims = {row: said.found.victims_on(row).tolist() for row in rows}
    for row, leaving in victims.items():
        require(row in case.alive_rows, "form", f"post_filter proposes a node that is not there: row {row}")
        strays = [victim for victim in leaving if case.view.pods.node_rows[victim] != row]
        require(not strays, "form", f"post_filter proposes victims that are not on the node: pod rows {strays}")
    return said.status, victims, said.actions


def _first_row(case: Case) -> list[int]:
    return [int(row) for row in case.alive_rows[:1]]


_TRANSCRIBED = {
    "preEnqueue": _pre_enqueue_words,
    "queueSort": _sort_words,
    "filter": _filter_words,
    "reserve": _reserve_words,
    "permit": _permit_words,
    "preBind": _pre_bind_words,
    "bind": _bind_words,
    "postBind": _post_bind_words,
    "postFilter": _post_filter_words,
}


def freeze(cache: Cache) -> None:
    """Make the columns read-only: a plugin that writes into one is stopped there."""
    for table in (cache.nodes, cache.pods):
        for array in table.arrays().values():
            array.flags.writeable = False


def digest(case: Case) -> dict[str, Any]:
    """All of the snapshot that a plugin can see, by part."""
    nodes, pods, objects = case.view.nodes, case.view.pods, case.view.objects
    parts: dict[str, Any] = {f"nodes.{name}": column.tobytes() for name, column in nodes.arrays().items()} | {
        f"pods.{name}": column.tobytes() for name, column in pods.arrays().items()
    }
    return parts | {
        "nodes.names": list(nodes.names),
        "nodes.labels": [dict(nodes.labels[row]) for row in range(nodes.count)],
        "nodes.pod_rows": [list(rows) for rows in nodes.pod_rows],
        "pods.keys": list(pods.keys),
        "nominated": {name: list(rows) for name, rows in case.view.nominated.items()},
        "objects": {kind: [fingerprint(obj) for obj in getattr(objects, kind).values()] for kind in HOLDING},
        "the pod": (fingerprint(case.info.spec), dict(case.info.shape.labels), case.info.nominated_node_name),
    }
