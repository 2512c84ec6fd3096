"""Bodies in YAML: parsed as the server does, with Go's words for what is wrong.

Takes the bytes of a request; gives the value of the first document and the strict fault of keys given twice, of which
the last counts. What is no YAML raises `InvalidYaml`. Whether a repeated key is refused is for the caller to decide.
"""

from typing import Any

import yaml

from bayplan.model.yaml_documents import RepeatedKey, YamlError, parse_yaml


class InvalidYaml(ValueError):  # noqa: N818
    """Says why in Go's words."""


def parse_yaml_body(text: bytes) -> tuple[Any, str]:
    """The value, and what a strict server says about keys given twice; empty if there are none."""
    repeated: list[RepeatedKey] = []
    try:
        value = next(parse_yaml(text, repeated), None)
    except YamlError as error:
        raise InvalidYaml(_words(error)) from error
    lines = [f'  line {one.line}: key "{one.key}" already set in map' for one in repeated]
    return value, "\n".join(["yaml: unmarshal errors:", *lines]) if lines else ""


def _words(error: YamlError) -> str:
    cause = error.__cause__
    if not isinstance(cause, yaml.MarkedYAMLError) or cause.problem_mark is None:
        return f"yaml: {error}"
    # Upstream: goyaml.v2, decode.go. It counts lines from 0 for parser errors, and does not name line 0.
    line = cause.problem_mark.line + (1 if isinstance(cause, yaml.scanner.ScannerError) else 0)
    where = f"line {line}: " if cause.problem_mark.line else ""
    return f"yaml: {where}{cause.problem}"
