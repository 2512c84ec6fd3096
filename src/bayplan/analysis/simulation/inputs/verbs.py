"""The verbs of a timeline: what users do to a cluster.

Takes a step as a map, `{cordon: node-3}` or `{scale: shop/deployment/web, replicas: 5}`; gives a `Command`. Whether an
object of that name exists is known only when the command runs.

    apply: app.yaml              a file or folder, or a list of them; or objects, written out
    delete: shop/job/report      [[NAMESPACE/]KIND/]NAME, or a list of them; `grace: 0s` for pods
    scale: shop/deployment/web   `replicas: 5`
    cordon: node-3               also uncordon, drain, fail (the machine stops) and recover; one node or a list
    taint: node-2                `with: gpu=yes:NoSchedule`; `gpu:NoSchedule-` or `gpu-` removes it
    label: node-2                `with: {zone: b, old: null}`; null removes it. `pod/web`: a pod
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from bayplan.analysis.references import ObjectNameError, Reference, parse_object_name
from bayplan.analysis.simulation.inputs.commands import (
    Apply,
    Command,
    Cordon,
    DeleteObject,
    Drain,
    LabelObjects,
    NodesFail,
    NodesRecover,
    ScaleWorkload,
    SetLabels,
    SetTaints,
)
from bayplan.model.durations import parse_span
from bayplan.model.kinds import ALL_KINDS, Object
from bayplan.model.meta import INT32_MAX
from bayplan.model.node import Taint
from bayplan.model.reading import from_dicts, read
from bayplan.model.time_units import SECOND
from bayplan.model.well_known import TAINT_EFFECTS

_SCALED = ("Deployment", "ReplicaSet", "ReplicationController", "StatefulSet", "Job")

Step = Mapping[str, Any]


class BadStep(Exception):  # noqa: N818 - the reader of a file turns it into a fault with its line
    """What is wrong with one field of a step."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(f"{field}: {message}" if field else message)
        self.field = field
        self.message = message


class Verb(NamedTuple):
    """How a command is read; `companion` is the field that may accompany the verb."""

    read: Callable[[Step, Path], Command]
    companion: str = ""


def read_command(step: Step, folder: Path, beside: tuple[str, ...] = ()) -> Command:
    """The command of a step. Files are looked for in `folder`; `beside` are fields that others read."""
    verbs = [key for key in step if key in VERBS]
    known = (*beside, *verbs, *(VERBS[verb].companion for verb in verbs if VERBS[verb].companion))
    others = [str(key) for key in step if key not in known]
    if len(verbs) != 1:
        found = f"both {verbs[0]} and {verbs[1]}" if verbs else "unknown" if others else "no action"
        raise BadStep(next(iter(verbs[1:] or others), ""), f"{found}; a step has exactly one of {', '.join(VERBS)}")
    if others:
        raise BadStep(others[0], f"not allowed with {verbs[0]}; allowed: {', '.join(known)}")
    return VERBS[verbs[0]].read(step, folder)


def read_duration(step: Step, field: str) -> int:
    """Nanoseconds, not negative."""
    text = step[field]
    try:
        found = parse_span(str(text))
    except ValueError as error:
        raise BadStep(field, f"{error}; expected one such as 90s, 10m or 1h30m") from error
    if found < 0:
        raise BadStep(field, f"{text} is before the start")
    return int(found)


def _apply(step: Step, folder: Path) -> Command:
    wanted = step["apply"]
    items = wanted if isinstance(wanted, list) else [wanted]
    paths = [folder / item for item in items if isinstance(item, str)]
    inline = [item for item in items if isinstance(item, dict)]
    if not items or len(paths) + len(inline) != len(items):
        raise BadStep("apply", "expected a file, an object, or a list of them")
    objects: list[Object] = []
    if paths:
        objects += read(paths).objects
    if inline:
        found = from_dicts(inline, "apply")
        if found.skipped:
            raise BadStep("apply", f"these kinds do not affect scheduling: {', '.join(sorted(found.skipped))}")
        objects += found.objects
    unknown = sorted({type(obj).__name__ for obj in objects} - ALL_KINDS.keys())
    if unknown:
        raise BadStep("apply", f"these kinds are not simulated: {', '.join(unknown)}")
    return Apply(tuple(objects))


def _texts(step: Step, field: str, expected: str) -> list[str]:
    given = step.get(field)
    texts: list[Any] = given if isinstance(given, list) else [given]
    if not texts or not all(isinstance(text, str) and text for text in texts):
        raise BadStep(field, f"expected {expected}")
    return texts


def _nodes(step: Step, verb: str) -> tuple[str, ...]:
    return tuple(name.removeprefix("node/") for name in _texts(step, verb, "a name or a list of names"))


def _references(step: Step, verb: str) -> tuple[Reference, ...]:
    names = _texts(step, verb, "[NAMESPACE/]KIND/NAME or a list of them")
    try:
        return tuple(parse_object_name(name, ALL_KINDS) for name in names)
    except ObjectNameError as error:
        raise BadStep(verb, str(error)) from error


def _delete(step: Step, _: Path) -> Command:
    grace = read_duration(step, "grace") // SECOND if "grace" in step else None
    return DeleteObject(_references(step, "delete"), grace)


def _scale(step: Step, _: Path) -> Command:
    targets, replicas = _references(step, "scale"), step.get("replicas")
    if type(replicas) is not int or replicas < 0:
        raise BadStep("replicas", "expected a whole number of at least 0")
    if replicas > INT32_MAX:
        raise BadStep("replicas", f"{replicas} is more than {INT32_MAX}")
    for target in targets:
        if target.kind not in _SCALED:
            raise BadStep("scale", f"{target.kind} cannot be scaled; scalable kinds: {', '.join(_SCALED)}")
    return ScaleWorkload(targets, replicas)


def taint_parts(text: str) -> tuple[str, str, str]:
    """Key, value and effect of `key=value:Effect` or `key:Effect`; "" for what is missing."""
    start, _, effect = text.partition(":")
    key, _, value = start.partition("=")
    return key, value, effect


def _taint(step: Step, _folder: Path) -> Command:
    add: list[Taint] = []
    remove: list[tuple[str, str]] = []
    for text in _texts(step, "with", "a taint such as key=value:NoSchedule, or a list of them"):
        key, value, effect = taint_parts(text.removesuffix("-"))
        removes = text.endswith("-")
        if not key or (effect not in TAINT_EFFECTS and not (removes and not effect)):
            raise BadStep("with", f"{text!r} is not a taint; expected key=value:EFFECT with {', '.join(TAINT_EFFECTS)}")
        if removes:
            remove.append((key, effect))
        else:
            add.append(Taint(key=key, value=value, effect=effect))
    return SetTaints(_nodes(step, "taint"), tuple(add), tuple(remove))


def _label(step: Step, _: Path) -> Command:
    labels = step.get("with")
    if not isinstance(labels, dict) or not all(isinstance(value, str | None) for value in labels.values()):
        raise BadStep("with", "expected labels as a map of strings; null removes one")
    names = _nodes(step, "label")
    if any("/" in name for name in names):
        return LabelObjects(_references(step, "label"), labels)
    return SetLabels(names, labels)


def _of_nodes(verb: str, make: Callable[[tuple[str, ...]], Command]) -> Verb:
    return Verb(lambda step, _: make(_nodes(step, verb)))


VERBS: Mapping[str, Verb] = {
    "apply": Verb(_apply),
    "delete": Verb(_delete, "grace"),
    "scale": Verb(_scale, "replicas"),
    "cordon": _of_nodes("cordon", Cordon),
    "uncordon": _of_nodes("uncordon", lambda nodes: Cordon(nodes, unschedulable=False)),
    "drain": _of_nodes("drain", Drain),
    "fail": _of_nodes("fail", NodesFail),
    "recover": _of_nodes("recover", NodesRecover),
    "taint": Verb(_taint, "with"),
    "label": Verb(_label, "with"),
}
