"""What a test can wait for in a live cluster: a state of an object, named in a few words, or a function of its own."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, Protocol

from bayplan.testing.live_objects import Refusal

_GONE, _EXISTS, _READY = "gone", "exists", "ready"
#: How many pods of a workload are ready, and how many are to be.
_READY_FIELDS: Final = (("readyReplicas", "replicas"), ("numberReady", "desiredNumberScheduled"))


class Readable(Protocol):
    """A cluster, as far as looking at an object needs it."""

    def get(self, kind: str, name: str, namespace: str) -> dict[str, Any]: ...


class WaitCondition(Protocol):
    """Something to wait for."""

    @property
    def says(self) -> str: ...

    def look(self, cluster: Any) -> tuple[bool, Any]:
        """Whether it holds, and what was seen."""
        ...

    def described(self, seen: Any) -> str:
        """What was seen last, for the message of a timeout."""
        ...


def condition_of(condition: str | Callable[[Any], Any], namespace: str) -> WaitCondition:
    """The condition that a test names; raises ValueError for text that names none."""
    if not isinstance(condition, str):
        return _OwnFunction(condition)
    what, _, state = condition.partition(" ")
    kind, slash, name = what.partition("/")
    if not (kind and slash and name and state.strip()):
        raise ValueError(f"{condition!r}: expected KIND/NAME STATE, such as 'deployment/web available'")
    return _StateOfObject(kind, name, namespace, state.strip().lower(), condition)


class _OwnFunction:
    def __init__(self, function: Callable[[Any], Any]) -> None:
        self._function = function
        self.says = getattr(function, "__name__", "the condition").replace("<lambda>", "the condition")

    def look(self, cluster: Any) -> tuple[bool, Any]:
        seen = self._function(cluster)
        return bool(seen), seen

    def described(self, seen: Any) -> str:
        if isinstance(seen, Exception):
            return f"it raised last: {type(seen).__name__}: {seen}"
        return f"it returned last: {seen!r}"


class _StateOfObject:
    def __init__(self, kind: str, name: str, namespace: str, state: str, says: str) -> None:
        self._kind, self._name, self._namespace = kind, name, namespace
        self._state = state
        self.says = repr(says)

    def look(self, cluster: Readable) -> tuple[bool, Any]:
        try:
            document = cluster.get(self._kind, self._name, self._namespace)
        except Refusal as error:
            if error.code != 404:
                raise
            return self._state == _GONE, None if self._state == _GONE else error
        return self._state in states_of(document), document

    def described(self, seen: Any) -> str:
        if isinstance(seen, Exception):
            return str(seen)
        return f"seen last: {summary(seen)}"


def states_of(document: Mapping[str, Any]) -> set[str]:
    """The states that an object is in: its phase and those of its conditions that are true, in lower case."""
    status = document.get("status") or {}
    states = {_EXISTS, str(status.get("phase", "")).lower()}
    states |= {str(found["type"]).lower() for found in _conditions(status) if found.get("status") == "True"}
    ready = _ready(document, status)
    if ready is not None and ready[0] >= ready[1]:
        states.add(_READY)
    return states


def summary(document: Mapping[str, Any]) -> str:
    """The state of an object in one line."""
    status = document.get("status") or {}
    parts = [f"phase {status['phase']}"] if status.get("phase") else []
    ready = _ready(document, status)
    if ready is not None:
        parts.append("{} of {} ready".format(*ready))
    for found in _conditions(status):
        why = ": ".join(found[part] for part in ("reason", "message") if found.get(part))
        parts.append(f"{found['type']}={found.get('status')}" + (f" ({why})" if why else ""))
    return ", ".join(parts) or "an object without a status"


def _conditions(status: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [found for found in status.get("conditions") or [] if "type" in found]


def _ready(document: Mapping[str, Any], status: Mapping[str, Any]) -> tuple[int, int] | None:
    """How many pods of a workload are ready, and how many are to be; None for what has no replicas."""
    wanted = (document.get("spec") or {}).get("replicas")
    for ready, total in _READY_FIELDS:
        if total in status or (wanted is not None and total == "replicas"):
            return status.get(ready, 0), wanted if wanted is not None else status[total]
    return None
