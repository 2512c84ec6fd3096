"""What a user calls a pod: `web-1`, `prod/web-1`, `deployment/web`, `prod/deployment/web`.

Takes such text and gives kind, namespace and name; kinds may be written in kubectl's short forms. Whether there is
such an object is not looked at here, but `close_matches` helps where there is none.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import islice

from bayplan.model.errors import Fault, InvalidObject

POD = "Pod"
DEFAULT_NAMESPACE = "default"

_ALIASES: dict[str, tuple[str, ...]] = {
    POD: ("po", "pod", "pods"),
    "Deployment": ("deploy", "deployment", "deployments"),
    "StatefulSet": ("sts", "statefulset", "statefulsets"),
    "ReplicaSet": ("rs", "replicaset", "replicasets"),
    "DaemonSet": ("ds", "daemonset", "daemonsets"),
    "Job": ("job", "jobs"),
    "ReplicationController": ("rc", "replicationcontroller", "replicationcontrollers"),
}
_KINDS = {alias: kind for kind, aliases in _ALIASES.items() for alias in aliases}

#: Comparing a misspelt name with all of half a million would take longer than the answer is worth.
_COMPARED_MAX = 20_000
_SHOWN_MAX = 3


@dataclass(frozen=True, slots=True)
class Reference:
    """An object as the user named it."""

    kind: str
    namespace: str
    name: str

    @property
    def key(self) -> str:
        return f"{self.namespace}/{self.name}"

    def __str__(self) -> str:
        return f"{self.kind} {self.key}"


def parse_reference(text: str, namespace: str = DEFAULT_NAMESPACE) -> Reference:
    """What the text names; `namespace` is for names without one. Raises InvalidObject."""
    parts = text.split("/")
    if not all(parts) or len(parts) > 3:
        raise not_found(text, "expected NAME, NAMESPACE/NAME, KIND/NAME or NAMESPACE/KIND/NAME")
    if len(parts) == 1:
        return Reference(POD, namespace, parts[0])
    if len(parts) == 2:
        kind = _KINDS.get(parts[0].lower())
        return Reference(kind, namespace, parts[1]) if kind else Reference(POD, parts[0], parts[1])
    kind = _KINDS.get(parts[1].lower())
    if kind is None:
        raise not_found(text, f"{parts[1]!r} is no kind that creates pods; there are: {', '.join(kind_names())}")
    return Reference(kind, parts[0], parts[2])


def kind_names() -> list[str]:
    """The kinds as one would write them in a reference."""
    return [kind.lower() for kind in _ALIASES]


def written(kind: str, namespace: str, name: str) -> str:
    """The text that `parse_reference` reads as this object."""
    return f"{namespace}/{name}" if kind == POD else f"{namespace}/{kind.lower()}/{name}"


def not_found(what: str, message: str) -> InvalidObject:
    return InvalidObject([Fault("", what, "", message)])


def close_matches(wanted: Reference, known: Collection[str]) -> list[str]:
    """Of the references known those that the user may have meant, best first."""
    name = wanted.name
    same_name = [reference for reference in known if reference.endswith(f"/{name}")]
    # A workload's pods bear its name and something random behind it.
    longer = (near for near in _in_namespace(known, wanted.namespace) if near.rpartition("/")[2].startswith(f"{name}-"))
    asked = written(wanted.kind, wanted.namespace, name)
    compared = known if len(known) <= _COMPARED_MAX else list(_in_namespace(known, wanted.namespace))[:_COMPARED_MAX]
    similar = get_close_matches(asked, compared, n=_SHOWN_MAX, cutoff=0.75)
    found = dict.fromkeys([*same_name[:_SHOWN_MAX], *_first(longer), *similar])
    return list(found)[:_SHOWN_MAX]


def _in_namespace(known: Iterable[str], namespace: str) -> Iterable[str]:
    return (reference for reference in known if reference.startswith(f"{namespace}/"))


def _first(found: Iterable[str]) -> list[str]:
    return sorted(islice(found, _SHOWN_MAX))
