"""A timeline: what users do to a cluster, and when. Takes a YAML file, gives plans; all faults with file and line.

The file is a list of steps. Each says when (`at`, a duration since the start such as `90s`, `10m` or `1h30m`) and one
thing to do:

    - at: 10m
      apply: app.yaml                   # a file or folder beside this one; or a list of them; or objects, written out
    - at: 20m
      scale: shop/deployment/web        # [NAMESPACE/]KIND/NAME
      replicas: 5
    - at: 30m
      delete: shop/job/report           # any kind; several as a list; `grace: 0s` for pods
    - {at: 40m, cordon: node-3}         # also uncordon, drain; one node or a list
    - {at: 1h, fail: [node-1, node-2]}  # the machines stop
    - {at: 2h, recover: node-1}
    - {at: 2h, taint: node-2, with: "gpu=yes:NoSchedule"}   # `gpu:NoSchedule-` or `gpu-` takes it away
    - {at: 3h, label: node-2, with: {zone: b, old: null}}   # null takes it away

Steps need not be in order; those of the same time are done as they stand. The whole file, and every file it names, is
read and checked before anything is done. Whether a name exists is known only when its time comes, and told then.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import yaml

from bayplan.analysis.simulation.inputs.commands import (
    Apply,
    Command,
    Cordon,
    Delete,
    Drain,
    NodesFail,
    NodesRecover,
    Plan,
    Scale,
    SetLabels,
    SetTaints,
    Target,
)
from bayplan.analysis.simulation.inputs.simkube import read_simkube
from bayplan.analysis.simulation.inputs.targets import parse_target
from bayplan.config.durations import parse_duration
from bayplan.model.errors import Fault, InvalidObject
from bayplan.model.kinds import Object
from bayplan.model.node import Taint
from bayplan.model.reading import from_dicts, read
from bayplan.model.yaml_documents import YamlError, parse_yaml

_SECOND = 1_000_000_000
_SIMKUBE = "simkube:"
_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_SCALED = ("Deployment", "ReplicaSet", "ReplicationController", "StatefulSet", "Job")

_REPLICAS_MAX = 2**31 - 1  # as in any workload

#: What each verb may have beside `at` and itself.
_COMPANIONS: Mapping[str, tuple[str, ...]] = {
    "apply": (),
    "delete": ("grace",),
    "scale": ("replicas",),
    "cordon": (),
    "uncordon": (),
    "drain": (),
    "fail": (),
    "recover": (),
    "taint": ("with",),
    "label": ("with",),
}


class _Wrong(Exception):  # noqa: N818 - caught in this module, never seen outside
    """What is the matter with one field of a step."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(message)
        self.field = field
        self.message = message


def load_timeline(path: str | Path) -> list[Plan]:
    """The plans of a file, or of a recording `simkube:FILE`, in order of time. Raises InvalidObject with all faults."""
    source = str(path)
    if source.startswith(_SIMKUBE):
        return read_simkube(Path(source.removeprefix(_SIMKUBE)))
    steps, lines = _parsed(source)
    faults: list[Fault] = []
    plans: list[Plan] = []
    for step, marks in zip(steps, lines, strict=True):
        try:
            at, command = _read_step(step, Path(path).parent)
        except _Wrong as wrong:
            line = marks.get(wrong.field, marks[""])
            faults.append(Fault(f"{source}:{line}", "", wrong.field, wrong.message))
        except InvalidObject as error:
            where = f"{source}:{marks.get('apply', marks[''])}"
            faults += [Fault(where, _inside(one), one.field, one.message) for one in error.faults]
        else:
            plans.append(Plan(at, command, f"{source}:{marks['']}"))
    if faults:
        raise InvalidObject(faults)
    return sorted(plans, key=lambda plan: plan.at)


def _inside(fault: Fault) -> str:
    """Which file and object a step's fault is in; inline objects need no file."""
    source = "" if fault.source == "apply" else fault.source
    return ": ".join(part for part in (source, fault.object) if part)


def _parsed(source: str) -> tuple[list[Any], list[dict[str, int]]]:
    """The steps, and for each the lines of its keys; the line of the step itself stands under ""."""
    try:
        data = Path(source).read_bytes()
    except OSError as error:
        raise _bad_file(source, error.strerror or "cannot be read") from error
    try:
        documents = [one for one in parse_yaml(data) if one is not None]
    except YamlError as error:
        raise _bad_file(source, str(error)) from error
    if len(documents) != 1 or not isinstance(documents[0], list):
        raise _bad_file(source, "expected one list of steps, such as `- {at: 10m, cordon: node-1}`")
    steps: list[Any] = documents[0]
    return steps, _lines(data)


def _lines(data: bytes) -> list[dict[str, int]]:
    """Lines of the steps and of their keys, from 1."""
    roots = (node for node in yaml.compose_all(data, Loader=yaml.CSafeLoader) if isinstance(node, yaml.SequenceNode))
    root = next(roots)
    return [{"": node.start_mark.line + 1, **_key_lines(node)} for node in root.value]


def _key_lines(node: Any) -> dict[str, int]:
    if not isinstance(node, yaml.MappingNode):
        return {}
    return {str(key.value): key.start_mark.line + 1 for key, _ in node.value}


def _bad_file(source: str, message: str) -> InvalidObject:
    return InvalidObject([Fault(source, "", "", message)])


def _read_step(step: Any, folder: Path) -> tuple[int, Command]:
    if not isinstance(step, dict):
        raise _Wrong("", "expected a step with `at` and one thing to do")
    verbs = [key for key in step if key in _COMPANIONS]
    known = ("at", *verbs, *(name for verb in verbs for name in _COMPANIONS[verb]))
    others = [str(key) for key in step if key not in known]
    if len(verbs) != 1:
        expected = ", ".join(_COMPANIONS)
        said = f"both {verbs[0]} and {verbs[1]}" if verbs else "unknown" if others else "nothing to do"
        raise _Wrong(next(iter(verbs[1:] or others), ""), f"{said}; a step has exactly one of {expected}")
    if others:
        raise _Wrong(others[0], f"unknown beside {verbs[0]}; there may be {', '.join(known)}")
    return _time(step), _READERS[verbs[0]](step, folder)


def _time(step: dict[str, Any]) -> int:
    if "at" not in step:
        raise _Wrong("", "`at` is missing: when is this to be done?")
    return _duration(step, "at")


def _duration(step: dict[str, Any], field: str) -> int:
    text = step[field]
    try:
        found = parse_duration(str(text))
    except ValueError as error:
        raise _Wrong(field, f"{error}; expected one such as 90s, 10m or 1h30m") from error
    if found < 0:
        raise _Wrong(field, f"{text} lies before the start")
    return int(found)


def _apply(step: dict[str, Any], folder: Path) -> Command:
    wanted = step["apply"]
    items = wanted if isinstance(wanted, list) else [wanted]
    paths = [folder / one for one in items if isinstance(one, str)]
    inline = [one for one in items if isinstance(one, dict)]
    if not items or len(paths) + len(inline) != len(items):
        raise _Wrong("apply", "expected a file, an object, or a list of them")
    objects: list[Object] = []
    if paths:
        objects += read(paths).objects
    if inline:
        found = from_dicts(inline, "apply")
        if found.skipped:
            raise _Wrong("apply", f"scheduling does not look at {', '.join(sorted(found.skipped))}")
        objects += found.objects
    return Apply(tuple(objects))


def _names(step: dict[str, Any], verb: str) -> tuple[str, ...]:
    given = step[verb]
    names = given if isinstance(given, list) else [given]
    if not names or not all(isinstance(one, str) and one for one in names):
        raise _Wrong(verb, "expected a name or a list of names")
    return tuple(str(one).removeprefix("node/") for one in names)


def _targets(step: dict[str, Any], verb: str) -> tuple[Target, ...]:
    given = step[verb]
    names = given if isinstance(given, list) else [given]
    if not names or not all(isinstance(one, str) for one in names):
        raise _Wrong(verb, "expected [NAMESPACE/]KIND/NAME or a list of them")
    try:
        return tuple(parse_target(one) for one in names)
    except ValueError as error:
        raise _Wrong(verb, str(error)) from error


def _delete(step: dict[str, Any], folder: Path) -> Command:  # noqa: ARG001
    grace = _duration(step, "grace") // _SECOND if "grace" in step else None
    return Delete(_targets(step, "delete"), grace)


def _scale(step: dict[str, Any], folder: Path) -> Command:  # noqa: ARG001
    targets, replicas = _targets(step, "scale"), step.get("replicas")
    if type(replicas) is not int or replicas < 0:
        raise _Wrong("replicas", "expected a whole number of at least 0")
    if replicas > _REPLICAS_MAX:
        raise _Wrong("replicas", f"{replicas} is more than {_REPLICAS_MAX}")
    for one in targets:
        if one.kind not in _SCALED:
            raise _Wrong("scale", f"{one.kind} cannot be scaled; these can: {', '.join(_SCALED)}")
    return Scale(targets, replicas)


def _taint(step: dict[str, Any], folder: Path) -> Command:  # noqa: ARG001
    given = step.get("with")
    texts = given if isinstance(given, list) else [given]
    if not all(isinstance(one, str) and one for one in texts):
        raise _Wrong("with", "expected a taint such as key=value:NoSchedule, or a list of them")
    add: list[Taint] = []
    remove: list[tuple[str, str]] = []
    for text in texts:
        rest, _, effect = str(text).removesuffix("-").partition(":")
        key, _, value = rest.partition("=")
        goes = str(text).endswith("-")
        if not key or (effect not in _EFFECTS and not (goes and not effect)):
            raise _Wrong("with", f"{text!r} is no taint; expected key=value:EFFECT with {', '.join(_EFFECTS)}")
        if goes:
            remove.append((key, effect))
        else:
            add.append(Taint(key=key, value=value, effect=effect))
    return SetTaints(_names(step, "taint"), tuple(add), tuple(remove))


def _label(step: dict[str, Any], folder: Path) -> Command:  # noqa: ARG001
    labels = step.get("with")
    if not isinstance(labels, dict) or not all(isinstance(one, str | None) for one in labels.values()):
        raise _Wrong("with", "expected labels as a map of texts; null takes one away")
    return SetLabels(_names(step, "label"), labels)


def _of_nodes(verb: str, make: Callable[[tuple[str, ...]], Command]) -> Callable[[dict[str, Any], Path], Command]:
    return lambda step, _: make(_names(step, verb))


_READERS: Mapping[str, Callable[[dict[str, Any], Path], Command]] = {
    "apply": _apply,
    "delete": _delete,
    "scale": _scale,
    "cordon": _of_nodes("cordon", Cordon),
    "uncordon": _of_nodes("uncordon", lambda nodes: Cordon(nodes, unschedulable=False)),
    "drain": _of_nodes("drain", Drain),
    "fail": _of_nodes("fail", NodesFail),
    "recover": _of_nodes("recover", NodesRecover),
    "taint": _taint,
    "label": _label,
}
