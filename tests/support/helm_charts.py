"""Helm charts, rendered: as much of Go's templates and of Helm's functions as the chart uses.

No Helm is needed to see what a chart gives. An action that is not known here is an error, so that the chart cannot use
more than this understands: `if`, `with`, `range`, `define`, pipelines of fields, constants and the functions below.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

_ACTION = re.compile(r"(?P<left>\s*(?=\{\{-))?\{\{-?\s*(?P<body>.*?)\s*(?:-\}\}\s*|\}\})", re.DOTALL)
_TOKEN = re.compile(r'\s*("(?:\\.|[^"])*"|\(|\)|\||[^\s()|]+)')

Values = Mapping[str, Any]


@dataclass
class Block:
    """A piece of a template: text, or an action with what is inside of it."""

    kind: str  # text, print, if, with, range, define
    text: str
    body: list[Block] = field(default_factory=list)
    otherwise: list[Block] = field(default_factory=list)


def render_chart(chart: Path, values: Values, *, name: str, namespace: str, service: str = "Helm") -> dict[str, str]:
    """The text of each template that gives any, by its file's name."""
    about = yaml.safe_load((chart / "Chart.yaml").read_text())
    given = yaml.safe_load((chart / "values.yaml").read_text())
    scope = {
        "Values": _merged(given, values),
        "Release": {"Name": name, "Namespace": namespace, "Service": service},
        "Chart": {"Name": about["name"], "AppVersion": about["appVersion"]},
    }
    files = sorted((chart / "templates").iterdir())
    parsed = {file.name: parse(file.read_text()) for file in files}
    named = {block.text: block.body for blocks in parsed.values() for block in blocks if block.kind == "define"}
    rendered = {file: _Renderer(named, scope).render(blocks, scope) for file, blocks in parsed.items()}
    return {file: text for file, text in rendered.items() if text.strip() and not file.startswith("_")}


def chart_documents(chart: Path, values: Values, *, name: str, namespace: str, service: str = "Helm") -> list[Any]:
    """The objects of a chart."""
    texts = render_chart(chart, values, name=name, namespace=namespace, service=service)
    manifests = (text for file, text in texts.items() if file.endswith(".yaml"))
    return [document for text in manifests for document in yaml.safe_load_all(text) if document]


def _merged(given: Any, values: Any) -> Any:
    if not isinstance(given, dict) or not isinstance(values, Mapping) or not given:
        return values
    return {**given, **{key: _merged(given.get(key), value) for key, value in values.items()}}


# ---------------------------------------------------------------- reading


def parse(text: str) -> list[Block]:
    pieces = _pieces(text)
    blocks, ended_by = _parse_until_end(pieces)
    assert ended_by == "", f"{ended_by} without a beginning"
    return blocks


def _pieces(text: str) -> Iterator[tuple[str, str]]:
    at = 0
    for found in _ACTION.finditer(text):
        yield "text", text[at : found.start()]
        yield "action", found["body"]
        at = found.end()
    yield "text", text[at:]


def _parse_until_end(pieces: Iterator[tuple[str, str]]) -> tuple[list[Block], str]:
    blocks: list[Block] = []
    for kind, text in pieces:
        word, _, rest = text.partition(" ")
        if kind == "text":
            blocks.append(Block("text", text))
        elif word in ("end", "else"):
            return blocks, text
        elif word in ("if", "with", "range"):
            blocks.append(_parse_branches(word, rest, pieces))
        elif word == "define":
            body, _ = _parse_until_end(pieces)
            blocks.append(Block("define", json.loads(rest), body))
        else:
            blocks.append(Block("print", text))
    return blocks, ""


def _parse_branches(word: str, condition: str, pieces: Iterator[tuple[str, str]]) -> Block:
    body, ended_by = _parse_until_end(pieces)
    block = Block(word, condition, body)
    if ended_by.startswith("else if "):
        block.otherwise = [_parse_branches("if", ended_by.removeprefix("else if "), pieces)]
    elif ended_by == "else":
        block.otherwise, _ = _parse_until_end(pieces)
    return block


# ---------------------------------------------------------------- rendering


class _Renderer:
    def __init__(self, named: Mapping[str, list[Block]], root: Any) -> None:
        self._named = named
        self._root = root
        self._functions: dict[str, Callable[..., Any]] = {
            "include": self._include,
            "toYaml": lambda value: yaml.safe_dump(value, sort_keys=True, default_flow_style=False).rstrip("\n"),
            "nindent": lambda width, text: "\n" + _indented(width, text),
            "quote": lambda value: json.dumps(str(value)),
            "default": lambda fallback, value: value or fallback,
            "not": lambda value: not value,
            "and": lambda *values: next((value for value in values if not value), values[-1]),
            "or": lambda *values: next((value for value in values if value), values[-1]),
        }

    def render(self, blocks: list[Block], dot: Any) -> str:
        return "".join(self._rendered(block, dot) for block in blocks)

    def _rendered(self, block: Block, dot: Any) -> str:
        if block.kind == "text":
            return block.text
        if block.kind == "define":
            return ""
        value = self._evaluate(block.text, dot)
        if block.kind == "print":
            return _printed(value)
        if not value:
            return self.render(block.otherwise, dot)
        if block.kind == "range":
            return "".join(self.render(block.body, item) for item in value)
        return self.render(block.body, value if block.kind == "with" else dot)

    def _include(self, name: str, dot: Any) -> str:
        return self.render(self._named[name], dot)

    def _evaluate(self, pipeline: str, dot: Any) -> Any:
        tokens = _TOKEN.findall(pipeline)
        value, rest = self._pipeline(tokens, dot)
        assert not rest, f"{pipeline}: {rest} is left"
        return value

    def _pipeline(self, tokens: list[str], dot: Any) -> tuple[Any, list[str]]:
        value, tokens = self._command(tokens, dot, ())
        while tokens[:1] == ["|"]:
            value, tokens = self._command(tokens[1:], dot, (value,))
        return value, tokens

    def _command(self, tokens: list[str], dot: Any, piped: tuple[Any, ...]) -> tuple[Any, list[str]]:
        word, rest = tokens[0], tokens[1:]
        if word not in self._functions:
            assert not piped, f"{word} is no function"
            return self._operand(tokens, dot)
        arguments: list[Any] = []
        while rest and rest[0] not in ("|", ")"):
            argument, rest = self._operand(rest, dot)
            arguments.append(argument)
        return self._functions[word](*arguments, *piped), rest

    def _operand(self, tokens: list[str], dot: Any) -> tuple[Any, list[str]]:
        word, rest = tokens[0], tokens[1:]
        if word == "(":
            value, rest = self._pipeline(rest, dot)
            assert rest[:1] == [")"], "a bracket is open"
            return value, rest[1:]
        if word[0] == '"' or word.isdigit():
            return json.loads(word), rest
        assert word[0] in ".$", f"{word} is not known"
        value = self._root if word[0] == "$" else dot
        for name in filter(None, word.lstrip("$").split(".")):
            value = value.get(name) if value is not None else None
        return value, rest


def _indented(width: int, text: str) -> str:
    return "\n".join(f"{' ' * width}{line}" for line in text.split("\n"))


def _printed(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    assert value is not None, "a field that is not there is printed"
    return str(value)
