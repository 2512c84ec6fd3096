"""What extenders answered, for journals: they are asked while a decision is made, so that their answers are part of it.

`JournaledExtender` asks and notes each answer before the decision that follows from it is written. `ReplayedExtender`
asks nobody, and gives the answers that a journal has, in their order. Bindings are not here: they are actions, and
their answers events.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeAlias, TypeVar

import msgspec

from bayplan.client.extender_documents import Documents
from bayplan.client.extenders import HttpExtender
from bayplan.client.posting import Poster
from bayplan.config.schema import Extender
from bayplan.core.columns.shapes import PodInfo
from bayplan.core.framework.extender import ChosenVictims, FilterAnswer, ScoresToCome, Victims
from bayplan.core.framework.verdict import CycleError
from bayplan.core.scheduler import Scheduler

T = TypeVar("T")

#: Is given an answer as a line of a journal has it.
AnswerNoted: TypeAlias = Callable[[dict[str, Any]], None]


class JournaledExtender(HttpExtender):
    """Asks, and notes the answer."""

    def __init__(
        self,
        configuration: Extender,
        documents: Documents,
        note: AnswerNoted,
        on_trouble: Callable[[str], None] | None = None,
    ) -> None:
        super().__init__(configuration, documents, on_trouble=on_trouble)
        self._note = note

    def ask_filter(self, pod: PodInfo, nodes: Sequence[str]) -> FilterAnswer:
        return self._noted("filter", lambda: super(JournaledExtender, self).ask_filter(pod, nodes))

    def begin_scores(self, pod: PodInfo, nodes: Sequence[str]) -> ScoresToCome:
        # Noted when they are waited for: then it is one extender after another, as a replay asks them.
        wait = super().begin_scores(pod, nodes)
        return lambda: self._noted("prioritize", wait)

    def ask_victims(self, pod: PodInfo, victims: Mapping[str, Victims]) -> dict[str, ChosenVictims]:
        return self._noted("preempt", lambda: super(JournaledExtender, self).ask_victims(pod, victims))

    def _noted(self, verb: str, ask: Callable[[], T]) -> T:
        asked = {"name": self.name, "verb": verb}
        try:
            answer = ask()
        except CycleError as error:
            self._note({**asked, "error": error.message})
            raise
        self._note({**asked, "answer": msgspec.to_builtins(answer)})
        return answer


class ReplayedExtender(HttpExtender):
    """Gives the next answer; what was not asked for then is an error, which the decision will show."""

    def __init__(self, configuration: Extender, answers: deque[dict[str, Any]]) -> None:
        super().__init__(configuration, _nothing, Poster(configuration.url_prefix, timeout_s=0))
        self.answers = answers

    def ask_filter(self, pod: PodInfo, nodes: Sequence[str]) -> FilterAnswer:  # noqa: ARG002
        return msgspec.convert(self._next("filter"), FilterAnswer)

    def begin_scores(self, pod: PodInfo, nodes: Sequence[str]) -> ScoresToCome:  # noqa: ARG002
        return lambda: msgspec.convert(self._next("prioritize"), list[tuple[str, int]])

    def ask_victims(self, pod: PodInfo, victims: Mapping[str, Victims]) -> dict[str, ChosenVictims]:  # noqa: ARG002
        return msgspec.convert(self._next("preempt"), dict[str, ChosenVictims])

    def _next(self, verb: str) -> Any:
        entry = self.answers.popleft() if self.answers else {}
        if (entry.get("name"), entry.get("verb")) != (self.name, verb):
            raise CycleError("", f"the journal has no answer of extender {self.name} to {verb} here")
        if "error" in entry:
            raise CycleError("", entry["error"])
        return entry["answer"]


def replayed_extenders(configurations: Iterable[Extender]) -> tuple[ReplayedExtender, ...]:
    """Those of one scheduler, which give their answers in the order in which they gave them."""
    answers: deque[dict[str, Any]] = deque()
    return tuple(ReplayedExtender(configuration, answers) for configuration in configurations)


def answers_for(scheduler: Scheduler) -> deque[dict[str, Any]]:
    """Where the extenders of the scheduler look for answers; nobody looks where it has none."""
    extenders = (extender for profile in scheduler.profiles.values() for extender in profile.extenders)
    return next((extender.answers for extender in extenders if isinstance(extender, ReplayedExtender)), deque())


def _nothing(kind: str, namespace: str, name: str) -> bytes | None:  # noqa: ARG001
    return None
