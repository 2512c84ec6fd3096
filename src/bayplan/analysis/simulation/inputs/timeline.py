"""A timeline: what users do to a cluster, and when. Takes a YAML file, returns plans; faults have file and line.

The file is a list of steps. Each says when (`at`, a duration since the start such as `90s`, `10m` or `1h30m`) and one
action:

    - at: 10m
      apply: app.yaml                   # a file or folder beside this one; or a list of them; or objects, written out
    - {at: 30m, delete: shop/job/report}
    - {at: 1h, fail: [node-1, node-2]}

`verbs` lists the commands. Steps need not be in order; those of the same time keep the order of the file.
The whole file, and every file it names, is read and checked before anything is done. Whether a name exists is known
only at its time, and reported then.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from bayplan.analysis.simulation.inputs.commands import Command, PlannedCommand
from bayplan.analysis.simulation.inputs.simkube import read_simkube
from bayplan.analysis.simulation.inputs.verbs import BadStep, read_command, read_duration
from bayplan.model.errors import Fault, InvalidObject
from bayplan.model.yaml_documents import YamlError, parse_yaml

_SIMKUBE = "simkube:"


def load_timeline(path: str | Path) -> list[PlannedCommand]:
    """The plans of a file, or of a recording `simkube:FILE`, in order of time. Raises InvalidObject with all faults."""
    source = str(path)
    if source.startswith(_SIMKUBE):
        return read_simkube(Path(source.removeprefix(_SIMKUBE)))
    steps, lines = _parsed(source)
    faults: list[Fault] = []
    plans: list[PlannedCommand] = []
    for step, marks in zip(steps, lines, strict=True):
        try:
            at, command = _read_step(step, Path(path).parent)
        except BadStep as wrong:
            line = marks.get(wrong.field, marks[""])
            faults.append(Fault(f"{source}:{line}", "", wrong.field, wrong.message))
        except InvalidObject as error:
            where = f"{source}:{marks.get('apply', marks[''])}"
            faults += [Fault(where, _inside(fault), fault.field, fault.message) for fault in error.faults]
        else:
            plans.append(PlannedCommand(at, command, f"{source}:{marks['']}"))
    if faults:
        raise InvalidObject(faults)
    return sorted(plans, key=lambda plan: plan.at)


def _inside(fault: Fault) -> str:
    """Which file and object a step's fault is in; inline objects need no file."""
    source = "" if fault.source == "apply" else fault.source
    return ": ".join(part for part in (source, fault.object) if part)


def _parsed(source: str) -> tuple[list[Any], list[dict[str, int]]]:
    """The steps, and for each the lines of its keys; the line of the step itself has the key ""."""
    try:
        data = Path(source).read_bytes()
    except OSError as error:
        raise _bad_file(source, error.strerror or "cannot be read") from error
    try:
        documents = [document for document in parse_yaml(data) if document is not None]
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
        raise BadStep("", "expected a step with `at` and one action")
    command = read_command(step, folder, beside=("at",))
    if "at" not in step:
        raise BadStep("", "`at` is missing: when should this happen?")
    return read_duration(step, "at"), command
