"""Candidates as extenders see them: each extender gets those that are left, and gives back those that it accepts.

An answer replaces what was found: nodes may be missing from it, and victims may be others than those of the dry run, as
long as they are on the node. It counts as it is, the number of budgets that would be broken included.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from bayplan.core.columns import row_array
from bayplan.core.columns.shapes import PodInfo
from bayplan.core.framework.extender import ChosenVictims, Extender, ExtenderVictim, Victims
from bayplan.core.framework.verdict import CycleError
from bayplan.core.preemption.candidates import Candidates, expected_a_victim
from bayplan.core.preemption.search import Searched
from bayplan.core.preemption.select import select
from bayplan.core.snapshot import View


class _OnNode(NamedTuple):
    """The victims on one node."""

    pod_rows: tuple[int, ...]
    violations: int


def ask_extenders(extenders: Iterable[Extender], pod: PodInfo, view: View, searched: Searched) -> Searched:
    """What is left of the candidates, and the choice among them. Raises CycleError."""
    asked = [extender for extender in extenders if extender.preempts and extender.is_interested(pod)]
    if not asked:
        return searched
    found = _by_row(searched.candidates)
    for extender in asked:
        try:
            chosen = _accepted(extender, view, extender.ask_victims(pod, _as_victims(found, view)))
        except CycleError:
            if not extender.ignorable:
                raise
            continue
        found = _with_victims_only(extender, view, chosen)
        if not found:
            break
    return _left(found, searched, view)


def without_candidates(searched: Searched, view: View) -> Searched:
    """All of them refused."""
    return _left({}, searched, view)


def _left(found: Mapping[int, _OnNode], searched: Searched, view: View) -> Searched:
    candidates = _as_candidates(found)
    return replace(searched, candidates=candidates, selection=select(candidates, view))


def _by_row(candidates: Candidates) -> dict[int, _OnNode]:
    return {
        row: _OnNode(tuple(candidates.victims_of(position).tolist()), int(candidates.violations[position]))
        for position, row in enumerate(candidates.rows.tolist())
    }


def _as_victims(found: Mapping[int, _OnNode], view: View) -> dict[str, Victims]:
    pods = view.pods
    return {
        view.nodes.names[row]: Victims(
            tuple(ExtenderVictim(pods.keys[pod], pods.uids[pod]) for pod in on_node.pod_rows), on_node.violations
        )
        for row, on_node in found.items()
    }


def _accepted(extender: Extender, view: View, answer: Mapping[str, ChosenVictims]) -> dict[int, _OnNode]:
    """The answer by row. Raises CycleError for nodes and pods that nobody knows, and for pods that must be spared."""
    accepted: dict[int, _OnNode] = {}
    for name, victims in sorted(answer.items()):
        row = view.nodes.rows_by_name.get(name)
        if row is None or not view.nodes.alive[row]:
            raise CycleError("", f'nodeinfo not found for node name "{name}"')
        rows_by_uid = {view.pods.uids[pod]: pod for pod in view.nodes.pod_rows[row]}
        for uid in victims.uids:
            # The braces are upstream's, who prints a struct here.
            claim = f"extender: {extender.name} claims to preempt pod (UID: &{{{uid}}}) on node: {name}"
            if uid not in rows_by_uid:
                raise CycleError("", f"{claim}, but the pod is not found on that node")
            if view.pods.foreign[rows_by_uid[uid]]:
                raise CycleError("", f"{claim}, but the pod is another scheduler's")
        accepted[row] = _OnNode(tuple(rows_by_uid[uid] for uid in victims.uids), victims.violations)
    return accepted


def _with_victims_only(extender: Extender, view: View, accepted: Mapping[int, _OnNode]) -> dict[int, _OnNode]:
    """Raises CycleError for a node without victims, unless the extender is ignorable: then the node is dropped."""
    for row, on_node in accepted.items():
        if not on_node.pod_rows and not extender.ignorable:
            raise CycleError("", expected_a_victim(view, row).message)
    return {row: on_node for row, on_node in accepted.items() if on_node.pod_rows}


def _as_candidates(found: Mapping[int, _OnNode]) -> Candidates:
    rows = sorted(found)
    counts = [len(found[row].pod_rows) for row in rows]
    return Candidates(
        rows=row_array(rows),
        victim_rows=row_array([pod for row in rows for pod in found[row].pod_rows]),
        bounds=np.concatenate((row_array([0]), np.cumsum(row_array(counts)))),
        violations=np.array([found[row].violations for row in rows], dtype=np.int64),
    )
