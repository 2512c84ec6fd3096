"""What went into the core and what came out, line by line, and the same played back.

A journal is a bug report: a fresh scheduler that observes the same events at the same times must give the same
decisions, byte for byte. Lines are JSON: a head with the configuration, then `in` (an event), `out` (a decision) and
before it `extender` (an answer that it needed), each with its time. Objects are written as they are; what was known of
them before is not, as the player knows it too. A journal may go on in further files; each of them begins with what is
`known`, for those who do not have the others.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, TextIO, cast

import msgspec

from bayplan.config.document import read_document
from bayplan.config.faults import ConfigFaults
from bayplan.config.feature_gates import FeatureGateError
from bayplan.config.loading import Configuration, load_configuration
from bayplan.config.own_settings import with_settings
from bayplan.config.releases import DEFAULT_RELEASE, UnknownReleaseError, release_named
from bayplan.config.scheduling import build_scheduler
from bayplan.core.actions import Action, Evict
from bayplan.core.decision import Decision
from bayplan.core.events import (
    BindAnswered,
    ClaimWriteFailed,
    Event,
    EvictAnswered,
    ObjectAdded,
    ObjectChanged,
    ObjectRemoved,
    VolumesAnswered,
)
from bayplan.core.framework.requeue import Wakeups
from bayplan.core.preemption.safety import UPSTREAM, PreemptionSafety
from bayplan.core.queue import PARKED_MAX_NS
from bayplan.core.scheduler import Scheduler
from bayplan.model.checks import check
from bayplan.model.kinds import ALL_KINDS, Object, object_key
from bayplan.model.well_known import DEFAULT_SCHEDULER_NAME
from bayplan.worlds.extender_journal import answers_for, replayed_extenders
from bayplan.worlds.guarded import GuardedScheduler
from bayplan.worlds.recorded_ties import JournaledTies

FORMAT = "bayplan journal v1"
#: In the head: how equally good nodes were told apart, if not by name. A replay then takes the node of the journal.
TIES = "ties"
AS_RECORDED = "recorded"

_ANSWERS = {kind.__name__: kind for kind in (BindAnswered, EvictAnswered, VolumesAnswered, ClaimWriteFailed)}
_encoder = msgspec.json.Encoder(order="deterministic")


class JournalError(Exception):
    """A journal that cannot be read, with the line that is to blame."""


@dataclass(frozen=True, slots=True)
class Divergence:
    """Where a replay went another way."""

    line: int
    expected: str
    got: str


@dataclass(frozen=True, slots=True)
class Bug:
    """An unexpected exception that the scheduler of the replay has survived."""

    line: int
    about: str
    error: Exception


class JournalWriter:
    """Writes each line at once."""

    def __init__(self, out: TextIO, head: dict[str, Any]) -> None:
        self._out = out
        self.size = 0
        """Characters so far."""
        self._write({"format": FORMAT, **head})

    def known(self, obj: Object, now: int) -> None:
        """An object that is known from before the file."""
        self._write({"t": now, "known": obj})

    def event(self, event: Event, now: int) -> None:
        self._write({"t": now, "in": _event_to_plain(event)})

    def decision(self, decision: Decision, now: int) -> None:
        self._write({"t": now, "out": decision_to_plain(decision)})

    def extender_answer(self, answer: dict[str, Any], now: int) -> None:
        """An answer for the decision that is being made."""
        self._write({"t": now, "extender": answer})

    def _write(self, line: dict[str, Any]) -> None:
        text = _encoder.encode(line).decode() + "\n"
        self.size += len(text)
        self._out.write(text)


def head_of(configuration: Configuration, config: str | None, feature_gates: str) -> dict[str, Any]:
    """The head of a live scheduler's journal, but for `startedAt`; `config` is its configuration file."""
    head: dict[str, Any] = {
        "wakeups": configuration.wakeups.value,
        "safety": asdict(configuration.safety),
        "config": None if config is None else read_document(Path(config), ConfigFaults(config)),
        "podMaxInUnschedulablePodsNs": configuration.parked_max_ns,
        "kubernetesVersion": configuration.gates.release.version,
    }
    if feature_gates:
        head["featureGates"] = feature_gates
    if configuration.extenders:
        head["extenders"] = True
    return head


def read_head(lines: Iterator[str]) -> dict[str, Any]:
    """The first line."""
    try:
        head = msgspec.json.decode(next(lines, ""), type=dict[str, Any])
    except msgspec.DecodeError as error:
        raise JournalError(f"line 1: not a journal: {error}") from error
    if head.get("format") != FORMAT:
        raise JournalError(f"line 1: expected the format {FORMAT!r}, found {head.get('format')!r}")
    return head


def scheduler_for(head: dict[str, Any]) -> Scheduler:
    """A fresh scheduler as the one that wrote the journal was; `extenders` in the head says that they were asked."""
    config, parked_max_ns = head.get("config"), head.get("podMaxInUnschedulablePodsNs", PARKED_MAX_NS)
    if not isinstance(config, dict | None):
        raise JournalError("line 1: config: expected a KubeSchedulerConfiguration, or null")
    if not isinstance(parked_max_ns, int):
        raise JournalError("line 1: podMaxInUnschedulablePodsNs: expected a whole number of nanoseconds")
    try:
        configuration = load_configuration(
            config,
            head.get("featureGates"),
            release=release_named(head.get("kubernetesVersion", DEFAULT_RELEASE.version)),
            parked_max_ns=parked_max_ns,
            with_groups=True,
        )
    except UnknownReleaseError as error:
        raise JournalError(f"line 1: kubernetesVersion: {error}") from error
    except FeatureGateError as error:
        raise JournalError(f"line 1: featureGates: {error}") from error
    if "wakeups" in head:
        configuration = replace(configuration, wakeups=_wakeups(head["wakeups"]))
    if "safety" in head:
        configuration = replace(configuration, safety=_safety(head["safety"]))
    started_at = head.get("startedAt")
    if not isinstance(started_at, int):
        raise JournalError("line 1: startedAt: expected a whole number of nanoseconds")
    extenders = replayed_extenders(configuration.extenders) if head.get("extenders") else ()
    ties = JournaledTies() if head.get(TIES) == AS_RECORDED else None
    return build_scheduler(configuration, started_at=started_at, extenders=extenders, instruments=ties)


def _wakeups(named: Any) -> Wakeups:
    try:
        return Wakeups(named)
    except ValueError:
        raise JournalError(f"line 1: wakeups: expected upstream or complete, found {named!r}") from None


def _safety(settings: Any) -> PreemptionSafety:
    try:
        return with_settings(UPSTREAM, settings)
    except (TypeError, ValueError) as error:
        raise JournalError(f"line 1: safety: {error}") from error


class Player:
    """Plays a journal to a fresh scheduler, file by file; it survives bugs as the one did that wrote the journal."""

    def __init__(self, scheduler: Scheduler) -> None:
        self.scheduler = scheduler
        self.bugs: list[Bug] = []
        self._guarded = GuardedScheduler(scheduler, self._note_bug)
        self._line = 0
        self._known: dict[tuple[str, str, str], Object] = {}
        self._answers = answers_for(scheduler)
        self._ties = scheduler.instruments if isinstance(scheduler.instruments, JournaledTies) else None
        self._is_first = True

    def play(self, lines: Iterable[str]) -> Iterator[Divergence]:
        """The lines of the next file, after its head."""
        is_first, self._is_first = self._is_first, False
        for number, line in enumerate(lines, start=2):
            try:
                entry = msgspec.json.decode(line, type=dict[str, Any])
                now = int(entry["t"])
                event = self._event_of(entry)
                answer = dict(entry["extender"]) if "extender" in entry else None
            except (msgspec.MsgspecError, KeyError, TypeError, ValueError) as error:
                raise JournalError(f"line {number}: {error}") from error
            if "known" in entry and not is_first:
                continue
            self._line = number
            if event is not None:
                self._guarded.observe(event, now)
            elif answer is not None:
                self._answers.append(answer)
            else:
                yield from self._decide(number, now, entry.get("out"))

    def _decide(self, number: int, now: int, out: Any) -> Iterator[Divergence]:
        ended_at = out.get("ended_at", now) if isinstance(out, dict) else now
        if self._ties is not None:
            self._ties.node = str(out.get("node", "")) if isinstance(out, dict) else ""
        decision = self._guarded.decide(now, lambda: ended_at)
        got = _encoder.encode(decision_to_plain(decision) if decision is not None else None).decode()
        expected = _encoder.encode(out).decode()
        if got != expected:
            yield Divergence(number, expected, got)

    def _note_bug(self, where: str, about: str, error: Exception) -> None:
        self.bugs.append(Bug(self._line, f"{where} {about}".rstrip(), error))

    def _event_of(self, entry: dict[str, Any]) -> Event | None:
        if "known" in entry:
            return _plain_to_event({"added": entry["known"]}, self._known)
        return _plain_to_event(entry["in"], self._known) if "in" in entry else None


def _check(obj: Object) -> None:
    """Raises ValueError for what no API server would have stored, and no scheduler was told of."""
    faults = check(obj)
    if faults:
        path, message = faults[0]
        raise ValueError(f"{type(obj).__name__} {object_key(obj).lstrip('/')}: {path}: {message}")


def decision_to_plain(decision: Decision) -> dict[str, Any]:
    plain: dict[str, Any] = msgspec.to_builtins(decision)
    if not decision.ended_at:
        del plain["ended_at"]  # as journals always had it
    if not decision.group:
        del plain["group"], plain["members"]
    plain["actions"] = [{"do": type(action).__name__, **_action_to_plain(action)} for action in decision.actions]
    return plain


def _action_to_plain(action: Action) -> dict[str, Any]:
    plain: dict[str, Any] = msgspec.to_builtins(action)
    if isinstance(action, Evict) and action.scheduler_name == DEFAULT_SCHEDULER_NAME:
        del plain["scheduler_name"]
    return plain


def _event_to_plain(event: Event) -> dict[str, Any]:
    match event:
        case ObjectAdded(new):
            return {"added": new}
        case ObjectChanged(_, new):
            return {"changed": new}
        case ObjectRemoved(old):
            return {"removed": [type(old).__name__, old.metadata.namespace, old.metadata.name]}
    return {type(event).__name__: event}


def _plain_to_event(plain: dict[str, Any], known: dict[tuple[str, str, str], Object]) -> Event:
    ((what, content),) = msgspec.convert(plain, dict[str, Any]).items()
    if what == "removed":
        kind, namespace, name = content
        return ObjectRemoved(known.pop((kind, namespace, name)))
    if what in ("added", "changed"):
        obj = msgspec.convert(content, ALL_KINDS[content["kind"]].struct)
        _check(obj)
        place = (content["kind"], obj.metadata.namespace, obj.metadata.name)
        old = known.get(place)
        known[place] = obj
        return ObjectAdded(obj) if what == "added" or old is None else ObjectChanged(old, obj)
    answer: Any = msgspec.convert(content, _ANSWERS[what])
    return cast(Event, answer)
