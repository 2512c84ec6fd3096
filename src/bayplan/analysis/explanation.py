"""The answer to "why": one attempt to place one pod, with who asked and what else is known of the pod.

`to_dict` gives plain data in the shape of the conformance cases; everything is computed when it is asked for. The
cluster must not have changed in between.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from bayplan.analysis.all_reasons import all_obstacles
from bayplan.analysis.device_report import claims_report
from bayplan.core.explain import Explanation
from bayplan.core.framework.profile import Profile
from bayplan.core.framework.verdict import Status


@dataclass(frozen=True, slots=True)
class Subject:
    """The pod in question."""

    key: str  # namespace/name
    priority: int
    preemption_policy: str
    runs_on: str = ""  # its node, if it has one already: the answer is as if it had none
    phase: str = ""
    workload: str = ""  # `Deployment prod/web` when the pod is only planned


@dataclass(frozen=True, slots=True)
class PodExplanation:
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

    def all_reasons(self) -> dict[str, list[dict[str, Any]]]:
        """Node -> all that stands in the way there; nodes without any obstacle are left out."""
        view = self.explanation.view
        obstacles = all_obstacles(self.profile, self.explanation.attempt.pod, view)
        return {view.nodes.names[row]: [_plain(status) for status in found] for row, found in obstacles.items()}


def _plain(status: Status) -> dict[str, Any]:
    return {"code": status.code.value, "plugin": status.plugin, "reasons": list(status.reasons)}
