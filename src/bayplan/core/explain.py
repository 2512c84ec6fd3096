"""An attempt as plain data: what a person or a program reads."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from bayplan.core.columns import RowArray
from bayplan.core.cycle import Attempt
from bayplan.core.diagnosis import failure_groups
from bayplan.core.filtering import Filtered, PreFilterResult
from bayplan.core.framework.verdict import Status
from bayplan.core.preemption.candidates import Candidates
from bayplan.core.preemption.record import preemption_record
from bayplan.core.preemption.search import Searched
from bayplan.core.preemption.unit_search import UnitsFound
from bayplan.core.snapshot import View

Plain = dict[str, Any]


@dataclass(slots=True)
class Explanation:
    """One attempt, with the view it looked at. The view must not have changed when the data is asked for."""

    attempt: Attempt
    view: View
    pre_enqueue: Status

    def to_dict(self) -> Plain:
        """Everything, in the shape of the conformance cases."""
        attempt, view, filtered = self.attempt, self.view, self.attempt.filtered
        plain: Plain = {
            "prefilter": _prefilter(attempt.pre),
            "filter": _filter(filtered, view) if filtered else {},
            "feasible": self.names(filtered.feasible_rows) if filtered else [],
            **self._scores(),
            "preemption": self._preemption(),
            "message": attempt.message,
        }
        if attempt.pod.nominated_node_name:
            plain["nominated"] = self._nominated()
        if attempt.error is not None:
            plain["error"] = attempt.error.message
        if not self.pre_enqueue.ok:
            plain["preEnqueue"] = plain_status(self.pre_enqueue)
        return plain

    def names(self, rows: RowArray) -> list[str]:
        """Node names of the rows, sorted."""
        return sorted(self.view.nodes.names[row] for row in rows)

    def without_victims(self) -> list[str]:
        """The nodes that preemption tried and where no pod is of lower priority."""
        searched = self._searched()
        return self.names(searched.without_victims) if searched else []

    def _searched(self) -> Searched | UnitsFound | None:
        found = self.attempt.post_filter.found if self.attempt.post_filter else None
        return found if isinstance(found, Searched | UnitsFound) else None

    def _scores(self) -> Plain:
        scored = self.attempt.scored
        if scored is None:
            return {"scores": {}, "totals": {}, "best": []}
        if scored.totals is None:
            return {"scores": {}, "totals": {}, "best": self.names(scored.rows)}
        nodes = [self.view.nodes.names[row] for row in scored.rows]
        columns = {plugin: scores.tolist() for plugin, scores in scored.by_plugin.items()}
        return {
            "scores": {
                node: {plugin: column[place] for plugin, column in columns.items()} for place, node in enumerate(nodes)
            },
            "totals": dict(zip(nodes, scored.totals.tolist(), strict=True)),
            "best": self.names(scored.best_rows()),
        }

    def _nominated(self) -> Plain:
        """Whether the node the pod waits for would take it now."""
        node = self.attempt.pod.nominated_node_name
        row = self.view.nodes.rows_by_name.get(node)
        filtered = self.attempt.filtered
        fits = row is not None and filtered is not None and row in filtered.feasible_rows
        return {"node": node, "fits": fits}

    def _preemption(self) -> Plain | None:
        post_filter, filtered = self.attempt.post_filter, self.attempt.filtered
        if post_filter is None or filtered is None:
            return None
        searched, names = self._searched(), self.view.nodes.names
        reported = post_filter.reported(self.view)
        return {
            "ran": post_filter.found is not None,
            "eligible": not post_filter.ineligible_reason,
            "ineligibleReason": post_filter.ineligible_reason,
            "candidates": _candidates(searched.candidates, self.view) if searched else {},
            "nodeStatuses": {
                names[row]: {"code": status.code.value, "reasons": list(status.reasons)}
                for row, status in (searched.node_statuses if searched else {}).items()
            },
            "selected": self.names(searched.tied_rows) if searched else [],
            "postFilter": {"code": reported.code.value, "reasons": list(reported.reasons)},
            "record": preemption_record(searched, self.view, filtered),
        }


def plain_status(status: Status) -> Plain:
    return {"code": status.code.value, "plugin": status.plugin, "reasons": list(status.reasons)}


def _prefilter(pre: PreFilterResult | None) -> Plain | None:
    return None if pre is None else {**plain_status(pre.status), "nodes": pre.nodes}


def _filter(filtered: Filtered, view: View) -> Plain:
    return {
        view.nodes.names[row]: plain_status(status) for status, rows in failure_groups(filtered, view) for row in rows
    }


def _candidates(candidates: Candidates, view: View) -> Plain:
    return {
        view.nodes.names[row]: {
            "victims": [view.pods.keys[victim] for victim in candidates.victims_of(position)],
            "numPDBViolations": int(candidates.violations[position]),
        }
        for position, row in enumerate(candidates.rows)
    }
