"""The last decisions, each explained as it was when it was made: `/debug/decisions`.

Looks on as each choice is made (`chose`) and as it becomes a decision. An explanation looks at every node and costs far
more than a decision, so that it is made only while all explanations together take at most a fiftieth of the time: in a
cluster that is not busy every decision has one, and in a busy one some have. All others still have their outcome, the
scheduler's message and what was written.
"""

from __future__ import annotations

import time
import zlib
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

import msgspec

from bayplan.analysis.explanation import PodExplanation, Subject
from bayplan.core.actions import Action, Emit, SetGroupCondition
from bayplan.core.columns.shapes import PodInfo
from bayplan.core.cycle import attempt
from bayplan.core.decision import Choice, Decision, Fits
from bayplan.core.events import Event
from bayplan.core.explain import Explanation
from bayplan.core.framework.profile import Profile
from bayplan.core.framework.verdict import CycleError
from bayplan.core.queue.pre_enqueue import run_pre_enqueue
from bayplan.core.snapshot import View
from bayplan.model.structs import replace
from bayplan.model.time_units import MICROSECOND, SECOND
from bayplan.model.timestamps import format_micro_time
from bayplan.report.answers.terminal import terminal_parts
from bayplan.report.explain.explanation import answer, explanation_parts
from bayplan.report.terminal import rendered

KEPT: Final = 100
_EXPLAINED_SHARE: Final = 0.02
_NOT_EXPLAINED: Final = "Not explained: decisions were made too fast."
_WITH_ITS_GROUP: Final = "Decided with its pod group"
_Chosen: TypeAlias = tuple[str, int | None, int, bytes]
_NOT_CHOSEN: Final[_Chosen] = ("", None, 0, b"")

Plain = dict[str, Any]


@dataclass(slots=True)
class DecisionRecord:
    """One decision."""

    decision: Decision
    now: int
    took_ns: int
    total: int | None
    tied: int
    packed: bytes  # the explanation; kept small, as it has an entry for every node
    leaves_out: str  # what the explanation does not take into account
    writes: list[Plain] = field(default_factory=list)

    def plain(self) -> Plain:
        decision = self.decision
        return {
            "time": format_micro_time(self.now),
            "pod": decision.pod,
            **({"podGroup": decision.group} if decision.group else {}),
            "outcome": decision.outcome.value,
            "node": decision.node,
            "message": decision.message,
            "victims": list(decision.victims),
            "score": self.total,
            "nodesWithThatScore": self.tied,
            "tookMicroseconds": self.took_ns // MICROSECOND,
            "writes": self.writes,
            "explanation": self.explanation(),
            "explanationLeavesOut": self.leaves_out,
        }

    def explanation(self) -> Plain | None:
        return msgspec.json.decode(zlib.decompress(self.packed)) if self.packed else None


class DecisionRecorder:
    """Keeps the last decisions.

    Args:
        profiles: of the scheduler whose choices are recorded.
        clock: nanoseconds that pass evenly; what explanations cost is measured with it.
        leaves_out: what an explanation does not take into account, such as extenders: they are not asked twice.
    """

    def __init__(
        self,
        profiles: Mapping[str, Profile],
        clock: Callable[[], int] = time.perf_counter_ns,
        *,
        leaves_out: str = "",
    ) -> None:
        self._profiles = profiles
        self._leaves_out = leaves_out
        self._clock = clock
        self._started_at = clock()
        self._spent_ns = 0
        self._records: deque[DecisionRecord] = deque(maxlen=KEPT)
        self._latest: dict[str, DecisionRecord] = {}
        self._chosen: _Chosen = _NOT_CHOSEN

    # ------------------------------------------------------------------ looking on

    def chose(self, info: PodInfo, view: View, choice: Choice | CycleError) -> None:
        """To be given to the scheduler as `on_choice`: what was chosen, while the cache is still as it was."""
        now = self._clock()
        # A second is given in advance, so that the first decisions are explained.
        affordable = self._spent_ns <= (now - self._started_at + SECOND) * _EXPLAINED_SHARE
        packed = b""
        if affordable:
            packed = self._explained(info, view)
            self._spent_ns += self._clock() - now
        total = choice.total if isinstance(choice, Fits) else None
        tied = len(choice.tied_rows) if isinstance(choice, Fits) and affordable else 0
        self._chosen = (info.key, total, tied, packed)

    def _explained(self, info: PodInfo, view: View) -> bytes:
        profile = self._profiles[info.scheduler_name]
        explanation = Explanation(attempt(profile, info, view), view, run_pre_enqueue(profile.pre_enqueue, info))
        subject = Subject(info.key, info.priority, info.preemption_policy)
        document = PodExplanation(subject, explanation, profile).document()
        return zlib.compress(msgspec.json.encode(document), level=1)

    def observed(self, event: Event, now: int) -> None:
        """What happens in the cluster is no decision."""

    def decided(self, decision: Decision, now: int, took_ns: int) -> None:
        if decision.pod:
            chosen = self._chosen if self._chosen[0] == decision.pod else _NOT_CHOSEN
            self._record(DecisionRecord(decision, now, took_ns, *chosen[1:], leaves_out=self._leaves_out))
        for member in decision.members:
            told = replace(member, group=decision.group)
            self._record(DecisionRecord(told, now, took_ns, *_NOT_CHOSEN[1:], leaves_out=self._leaves_out))

    def _record(self, record: DecisionRecord) -> None:
        if len(self._records) == KEPT:
            oldest = self._records[0]
            if self._latest.get(oldest.decision.pod) is oldest:
                del self._latest[oldest.decision.pod]
        self._records.append(record)
        self._latest[record.decision.pod] = record

    def wrote(self, action: Action, took_ns: int, error: str) -> None:
        if isinstance(action, Emit | SetGroupCondition):
            return
        record = self._latest.get(action.pod)
        if record is not None:
            took = {"action": type(action).__name__, "tookMicroseconds": took_ns // MICROSECOND}
            record.writes.append({**took, "error": error} if error else took)

    # ------------------------------------------------------------------ asked by others

    def records(self, pod: str = "") -> list[DecisionRecord]:
        """All that is kept, or what is kept of one pod, the latest first."""
        return [record for record in reversed(self._records) if pod in ("", record.decision.pod)]


def decisions_document(records: Iterable[DecisionRecord]) -> Plain:
    """Everything, for programs."""
    return {"decisions": [record.plain() for record in records]}


def decisions_text(records: Iterable[DecisionRecord], *, whole: bool) -> str:
    """A few lines for each decision, or with its whole explanation."""
    return "\n".join(_page(record.plain(), whole=whole) for record in records)


def _page(plain: Plain, *, whole: bool) -> str:
    went = f"{plain['outcome']} {plain['node']}".strip()
    lines = [f"{plain['time']}  {plain['pod']}  {went}, in {plain['tookMicroseconds']} µs"]
    if plain["victims"]:
        lines.append(f"  evicts {', '.join(plain['victims'])}")
    if plain["message"]:
        lines.append(f"  {plain['message']}")
    lines += [_written(write) for write in plain["writes"]]
    explanation = plain["explanation"]
    if "podGroup" in plain:
        lines.append(f"  {_WITH_ITS_GROUP} {plain['podGroup']}.")
    elif explanation is None:
        lines.append(f"  {_NOT_EXPLAINED}")
    elif whole:
        lines.append(rendered(terminal_parts(explanation_parts(explanation))))
    else:
        lines.append(f"  {answer(explanation).text}")
    if explanation is not None and plain["explanationLeavesOut"]:
        lines.append(f"  This does not take {plain['explanationLeavesOut']} into account.")
    return "".join(f"{line}\n" for line in lines)


def _written(write: Plain) -> str:
    failed = f": {write['error']}" if "error" in write else ""
    return f"  {write['action']} answered after {write['tookMicroseconds']} µs{failed}"
