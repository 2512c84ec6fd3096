"""The public names of `bayplan`, with signatures and docstrings, and the classes that the answers consist of."""

from __future__ import annotations

import ast
import inspect
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from importlib import import_module
from types import ModuleType
from typing import Any

import msgspec

import bayplan
from bayplan.analysis import cluster
from website.reference.markdown import code, docstring, table

_HIDDEN = "__version__"
_LINE_MAX = 90
#: Modules with names for those who write plugins and tests.
FACES = ("bayplan.plugin", "bayplan.testing")


def page() -> str:
    return "\n".join(_lines())


def _lines() -> Iterator[str]:
    yield from ("# Python", "")
    yield "What `import bayplan` offers. [The guide](../guide/python.md) shows how to use it. Other modules are"
    yield "internal and may change with any release."
    yield ""
    for name in sorted(set(bayplan.__all__) - {_HIDDEN}):
        yield from _member(name, getattr(bayplan, name))
    yield from ("## Answers", "")
    yield "What the methods of `Cluster` return. `to_dict()` gives what [`-o json`](documents.md) prints."
    yield ""
    for answer in answers():
        yield from _class(answer, "###")
    for face in FACES:
        yield from _face(face)


def answers() -> list[type]:
    """The classes that methods of Cluster return, and those these consist of, in the order of their first mention."""
    names = _imported(cluster)
    found: list[type] = []
    for _, method in methods(bayplan.Cluster):
        returned = names.get(str(inspect.signature(method).return_annotation))
        if isinstance(returned, type) and returned is not bayplan.Cluster:
            _collect(returned, found)
    return found


def _collect(answer: type, found: list[type]) -> None:
    """The class, and the classes of the package that its fields name."""
    if answer in found or not _fields(answer):
        return
    found.append(answer)
    names = _imported(sys.modules[answer.__module__])
    for _, annotation in _fields(answer):
        for word in _words(annotation):
            part = names.get(word)
            if isinstance(part, type) and part.__module__.startswith("bayplan.analysis"):
                _collect(part, found)


def _words(annotation: str) -> list[str]:
    return [node.id for node in ast.walk(ast.parse(annotation, mode="eval")) if isinstance(node, ast.Name)]


def _imported(module: ModuleType) -> Mapping[str, Any]:
    """What a module's annotations may name, those imported for type checking included."""
    tree = ast.parse(inspect.getsource(module))
    found = dict(vars(module))
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("bayplan."):
            source = import_module(node.module)
            found |= {alias.name: getattr(source, alias.name) for alias in node.names if hasattr(source, alias.name)}
    return found


def methods(owner: type) -> list[tuple[str, Any]]:
    """Public ones that the class itself has, in the order of the source."""
    plain = {name: getattr(value, "__func__", value) for name, value in vars(owner).items() if name[0] != "_"}
    return [(name, value) for name, value in plain.items() if inspect.isfunction(value)]


def _properties(owner: type) -> list[tuple[str, property]]:
    return [(name, value) for name, value in vars(owner).items() if isinstance(value, property) and name[0] != "_"]


def _member(name: str, value: Any) -> Iterator[str]:
    if inspect.isclass(value):
        yield from _class(value, "##")
    else:
        yield from (f"## {name}", "")
        yield from _callable(f"bayplan.{name}", value)


def _class(owner: type, level: str) -> Iterator[str]:
    yield from (f"{level} {owner.__name__}", "")
    yield from docstring(owner)
    rows = [(code(name), code(annotation)) for name, annotation in _fields(owner)]
    rows += [(code(name), _said(value)) for name, value in _properties(owner)]
    if rows:
        yield from table(("Attribute", "Type, or what it is"), rows)
    for name, value in methods(owner):
        if name == "to_dict" and not (inspect.getdoc(value) or ""):
            continue
        yield from (f"{level}# {owner.__name__}.{name}", "")
        yield from _callable(name, value)


def _fields(owner: type) -> list[tuple[str, str]]:
    if is_dataclass(owner):
        return [(field.name, _written(field.type)) for field in fields(owner) if not field.name.startswith("_")]
    if issubclass(owner, msgspec.Struct):
        annotations = {
            name: text for base in reversed(owner.__mro__) for name, text in inspect.get_annotations(base).items()
        }
        return [(name, _written(annotations[name])) for name in owner.__struct_fields__]
    return []


def _written(annotation: Any) -> str:
    return annotation if isinstance(annotation, str) else str(getattr(annotation, "__name__", annotation))


def _said(value: property) -> str:
    lines = (inspect.getdoc(value) or "").splitlines()
    return lines[0] if lines else code(inspect.signature(value.fget).return_annotation) if value.fget else ""


def _callable(name: str, value: Any) -> Iterator[str]:
    yield from ("```python", *_signature(name, value), "```", "")
    yield from docstring(value)


def _signature(name: str, value: Any) -> Iterator[str]:
    """On one line if it fits, else an argument on each line."""
    signature = inspect.signature(value)
    taken = [parameter for parameter in signature.parameters.values() if parameter.name not in ("self", "cls")]
    arguments = list(_arguments(taken))
    line = f"{name}({', '.join(arguments)}) -> {_written(signature.return_annotation)}"
    if len(line) <= _LINE_MAX:
        yield line
    else:
        yield from (f"{name}(", *(f"    {text}," for text in arguments))
        yield f") -> {_written(signature.return_annotation)}"


def _arguments(parameters: Iterable[inspect.Parameter]) -> Iterator[str]:
    """As in the source: a star precedes those that have to be named."""
    is_starred = False
    for parameter in parameters:
        if parameter.kind is parameter.KEYWORD_ONLY and not is_starred:
            yield "*"
        stars = "*" if parameter.kind is parameter.VAR_POSITIONAL else ""
        is_starred |= parameter.kind in (parameter.KEYWORD_ONLY, parameter.VAR_POSITIONAL)
        default = "" if parameter.default is parameter.empty else f" = {parameter.default!r}"
        yield f"{stars}{parameter.name}: {_written(parameter.annotation)}{default}"


def _face(name: str) -> Iterator[str]:
    module = import_module(name)
    yield from (f"## {name}", "")
    yield from docstring(module)
    names = getattr(module, "__all__", None) or [each for each in vars(module) if not each.startswith("_")]
    rows = ((code(each), _first_line(getattr(module, each))) for each in sorted(names, key=str.lower))
    yield from table(("Name", ""), rows)


def _first_line(value: Any) -> str:
    if not (inspect.isclass(value) or inspect.isfunction(value) or inspect.ismodule(value)):
        return ""
    return next(iter((inspect.getdoc(value) or "").splitlines()), "")
