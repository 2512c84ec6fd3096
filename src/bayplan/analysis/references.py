"""How users name a pod: `web-1`, `prod/web-1`, `deployment/web`, `prod/deployment/web`.

Takes such text and returns kind, namespace and name; kinds can be kubectl's short names. Does not check whether the
object exists, but `close_matches` suggests names if it does not.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from itertools import islice

from bayplan.model.errors import Fault, InvalidObject
from bayplan.model.groups import PodGroup
from bayplan.model.kinds import ALL_KINDS
from bayplan.model.near_matches import near
from bayplan.model.well_known import DEFAULT_NAMESPACE

POD = "Pod"

#: Kinds whose pods can be asked about.
_POD_KINDS = (POD, "Deployment", "StatefulSet", "ReplicaSet", "DaemonSet", "Job", "CronJob", "ReplicationController")
#: As kubectl abbreviates them.
_SHORT_NAMES = {
    "po": "Pod",
    "no": "Node",
    "ns": "Namespace",
    "pc": "PriorityClass",
    "svc": "Service",
    "pdb": "PodDisruptionBudget",
    "rc": "ReplicationController",
    "rs": "ReplicaSet",
    "sts": "StatefulSet",
    "deploy": "Deployment",
    "ds": "DaemonSet",
    "cj": "CronJob",
    "pv": "PersistentVolume",
    "pvc": "PersistentVolumeClaim",
    "sc": "StorageClass",
}
_KINDS = _SHORT_NAMES | {name: kind for kind, info in ALL_KINDS.items() for name in (kind.lower(), info.plural)}

#: Comparing a misspelled name with all of half a million would take longer than the answer is worth.
_COMPARED_MAX = 20_000
_SHOWN_MAX = 3


@dataclass(frozen=True, slots=True)
class Reference:
    """An object as the user named it; the namespace is "" for kinds that have none."""

    kind: str
    namespace: str
    name: str

    @property
    def key(self) -> str:
        return f"{self.namespace}/{self.name}"

    def __str__(self) -> str:
        """`Deployment shop/web`, `Node node-1`."""
        return f"{self.kind} {self.key}" if self.namespace else f"{self.kind} {self.name}"


def parse_reference(text: str, namespace: str = DEFAULT_NAMESPACE) -> Reference:
    """The pod, or the workload that creates pods, that the text names. Raises InvalidObject."""
    try:
        return parse_object_name(text, _POD_KINDS, namespace)
    except UnknownKindError as error:
        kinds = ", ".join(kind.lower() for kind in _POD_KINDS)
        raise not_found(text, f"{error.kind!r} is not a kind that creates pods; expected one of: {kinds}") from error
    except ObjectNameError as error:
        raise not_found(text, error.problem) from error


def group_named(text: str, namespace: str = DEFAULT_NAMESPACE) -> str:
    """namespace/name of the PodGroup that `[NAMESPACE/]podgroup/NAME` names, "" if the text names something else."""
    *before, kind, name = ("", *text.split("/"))
    if _KINDS.get(kind.lower()) != PodGroup.__name__ or not name:
        return ""
    return f"{before[-1] if before and before[-1] else namespace}/{name}"


def workload_named(text: str, namespace: str = DEFAULT_NAMESPACE) -> str:
    """namespace/name of the Workload that `[NAMESPACE/]workload/NAME` names, "" if the text names something else."""
    *before, kind, name = ("", *text.split("/"))
    if kind.lower() not in ("workload", "workloads") or not name:
        return ""
    return f"{before[-1] if before and before[-1] else namespace}/{name}"


def misread_kind(reference: Reference) -> str:
    """What to add where `node/x` was taken for a pod x in a namespace of that name."""
    kind = _KINDS.get(reference.namespace.lower())
    if reference.kind != POD or kind is None or kind in _POD_KINDS:
        return ""
    return f" ({kind} is not a kind whose pods can be asked about: {', '.join(each.lower() for each in _POD_KINDS)})"


class ObjectNameError(ValueError):
    """The text names no object, and why."""

    def __init__(self, text: str, problem: str) -> None:
        super().__init__(f"{text!r}: {problem}")
        self.problem = problem


class UnknownKindError(ObjectNameError):
    def __init__(self, text: str, kind: str) -> None:
        super().__init__(text, f"unknown kind {kind!r}")
        self.kind = kind


def parse_object_name(text: str, kinds: Collection[str], namespace: str = DEFAULT_NAMESPACE) -> Reference:
    """What the text names, among `kinds`; `namespace` is for names without one. Raises ObjectNameError."""
    parts = text.split("/")
    if not all(parts) or len(parts) > 3:
        raise ObjectNameError(text, "expected NAME, NAMESPACE/NAME, KIND/NAME or NAMESPACE/KIND/NAME")
    if len(parts) == 1:
        return Reference(POD, namespace, text)
    *before, written_kind, name = parts
    kind = _KINDS.get(written_kind.lower())
    if kind is None or kind not in kinds:
        if before:
            raise UnknownKindError(text, written_kind)
        return Reference(POD, written_kind, name)
    return Reference(kind, (before or [namespace])[0] if ALL_KINDS[kind].namespaced else "", name)


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
    found = dict.fromkeys([*same_name[:_SHOWN_MAX], *_first(longer), *near(asked, compared)])
    return list(found)[:_SHOWN_MAX]


def _in_namespace(known: Iterable[str], namespace: str) -> Iterable[str]:
    return (reference for reference in known if reference.startswith(f"{namespace}/"))


def _first(found: Iterable[str]) -> list[str]:
    return sorted(islice(found, _SHOWN_MAX))
