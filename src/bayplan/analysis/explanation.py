"""The answer to "why": one attempt to place one pod, with who asked and what else is known of the pod.

`to_dict` gives plain data in the shape of the conformance cases; `document` adds all else that a report shows, so that
a program reads in it whatever a person reads in the table. Everything is computed when it is asked for. The cluster
must not have changed in between.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from bayplan.analysis.all_reasons import all_obstacles
from bayplan.analysis.causes import causes_of
from bayplan.analysis.device_report import claims_report
from bayplan.analysis.occupancy import Occupancy, occupancies
from bayplan.analysis.shortage import shortages
from bayplan.analysis.showing import Shown
from bayplan.core.explain import Explanation, plain_status
from bayplan.core.framework.profile import Profile


@dataclass(frozen=True, slots=True)
class Siblings:
    """How many pods of a workload there should be, and how many of them are pending."""

    pending: int
    wanted: int


@dataclass(frozen=True, slots=True)
class Subject:
    """The pod in question."""

    key: str  # namespace/name
    priority: int
    preemption_policy: str
    runs_on: str = ""  # its node, if it has one already: the answer is as if it had none
    phase: str = ""
    workload: str = ""  # `Deployment prod/web` when the pod is only planned
    siblings: Siblings | None = None  # when it was named by its workload, and is one of those that are pending

    def to_dict(self) -> dict[str, Any]:
        return {
            "key": self.key,
            "priority": self.priority,
            "preemptionPolicy": self.preemption_policy,
            "node": self.runs_on or None,
            "phase": self.phase,
            "workload": self.workload or None,
            **({"pending": self.siblings.pending, "wanted": self.siblings.wanted} if self.siblings else {}),
        }


@dataclass(frozen=True, slots=True, repr=False)
class PodExplanation(Shown):
    """Where a pod could go, why not elsewhere, and who would have to make room."""

    subject: Subject
    explanation: Explanation
    profile: Profile

    @property
    def fits(self) -> bool:
        """Whether some node is feasible now, without evicting anybody."""
        return self.explanation.attempt.scored is not None

    def to_dict(self, *, all_reasons: bool = False) -> dict[str, Any]:
        """Everything as plain data; `allReasons`, every obstacle on every node, only when asked for."""
        plain = self.explanation.to_dict()
        claims = claims_report(self.explanation.attempt.pod, self.explanation.view)
        if claims:
            plain["claims"] = claims
        if all_reasons:
            plain["allReasons"] = self.all_reasons()
        return plain

    def document(self, *, all_reasons: bool = False) -> dict[str, Any]:
        """`to_dict` with the pod in question, the causes by name, what nodes lack, and where nobody can be evicted."""
        plain = self.to_dict(all_reasons=all_reasons)
        if plain["preemption"] is not None:
            plain["preemption"]["withoutVictims"] = self.explanation.without_victims()
        requests = self.explanation.attempt.pod.shape.requests.asked
        return {
            "pod": self.subject.to_dict() | {"requests": dict(requests)},
            **plain,
            "causes": [cause.to_dict() for cause in causes_of(self.explanation)],
            "shortages": [shortage.to_dict() for shortage in shortages(self.explanation)],
        }

    def __reduce__(self) -> tuple[Any, ...]:
        """What it says, without the cluster that it was computed from."""
        return RecordedExplanation, (self.subject, self.fits, self.to_dict(), self.document(), self.all_reasons())

    def occupancies(self, nodes: Iterable[str], resources: Sequence[str]) -> list[Occupancy]:
        """Who takes how much of the resources on these nodes; a running pod in question is not among them."""
        return occupancies(self.explanation.view, nodes, resources)

    def all_reasons(self) -> dict[str, list[dict[str, Any]]]:
        """Node -> all that stands in the way there; nodes without any obstacle are left out."""
        view = self.explanation.view
        obstacles = all_obstacles(self.profile, self.explanation.attempt.pod, view)
        return {view.nodes.names[row]: [plain_status(status) for status in found] for row, found in obstacles.items()}


@dataclass(frozen=True, slots=True, repr=False)
class RecordedExplanation(Shown):
    """An explanation that was pickled: all that it says, as plain data."""

    subject: Subject
    fits: bool
    _plain: dict[str, Any]
    _document: dict[str, Any]
    _all_reasons: dict[str, list[dict[str, Any]]]

    def to_dict(self, *, all_reasons: bool = False) -> dict[str, Any]:
        """As of the explanation."""
        return {**self._plain, **self._reasons(all_reasons)}

    def document(self, *, all_reasons: bool = False) -> dict[str, Any]:
        """As of the explanation."""
        return {**self._document, **self._reasons(all_reasons)}

    def all_reasons(self) -> dict[str, list[dict[str, Any]]]:
        """As of the explanation."""
        return self._all_reasons

    def _reasons(self, wanted: bool) -> dict[str, Any]:
        return {"allReasons": self._all_reasons} if wanted else {}
