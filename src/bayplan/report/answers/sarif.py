"""Findings as SARIF 2.1.0, which code hosts show beside the files of a change: those of an audit, or of any answer.

A finding about an object whose file is known points at the line on which the object begins there; any other has only
the object's name.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from bayplan import __version__
from bayplan.analysis.answers.audit.auditing import Audit
from bayplan.analysis.answers.audit.rules import RULES
from bayplan.model.object_lines import ObjectName
from bayplan.model.reading import STDIN_NAME, parsed_name

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
VERSION = "2.1.0"
#: The output format, as -o names it.
FORMAT = "sarif"

#: File -> the lines on which its objects begin.
Lines = Mapping[str, Mapping[ObjectName, int]]


@dataclass(frozen=True, slots=True)
class SarifRule:
    """What a kind of finding means."""

    title: str
    help: str
    level: str  # "error", "warning" or "note"


@dataclass(frozen=True, slots=True)
class SarifResult:
    """A finding."""

    rule: str
    level: str
    object: str  # as in a fault: `Pod shop/web`
    text: str
    source: str = ""  # the file that it is about
    line: int = 1


def sarif(answer: Audit, lines: Lines) -> dict[str, Any]:
    """An audit: all rules, and one result for each finding."""
    rules = {name: SarifRule(rule.title, rule.fix, rule.level.value) for name, rule in RULES.items()}
    results = [
        SarifResult(
            finding.rule,
            finding.level.value,
            finding.object,
            f"{finding.object}: {finding.why}. {finding.fix}",
            finding.source,
            line_of(finding.object, finding.source, lines),
        )
        for finding in answer.findings
    ]
    return sarif_log(rules, results)


def line_of(name: str, source: str, lines: Lines) -> int:
    """The line on which the object of that name begins in the file; the first one if that is not known."""
    return lines.get(source, {}).get(parsed_name(name), 1)


def sarif_log(rules: Mapping[str, SarifRule], results: Iterable[SarifResult]) -> dict[str, Any]:
    """The whole log."""
    numbers = {name: number for number, name in enumerate(rules)}
    driver = {"name": "bayplan", "version": __version__, "rules": [_rule(name, rule) for name, rule in rules.items()]}
    run = {"tool": {"driver": driver}, "results": [_result(result, numbers[result.rule]) for result in results]}
    return {"$schema": SCHEMA, "version": VERSION, "runs": [run]}


def _rule(name: str, rule: SarifRule) -> dict[str, Any]:
    return {
        "id": name,
        "shortDescription": {"text": rule.title},
        "help": {"text": rule.help},
        "defaultConfiguration": {"level": rule.level},
    }


def _result(result: SarifResult, rule_number: int) -> dict[str, Any]:
    return {
        "ruleId": result.rule,
        "ruleIndex": rule_number,
        "level": result.level,
        "message": {"text": result.text},
        "locations": [_location(result)],
        # The same finding in the next run, though other objects may have moved it within its file.
        "partialFingerprints": {"objectAndRule/v1": f"{result.rule}:{result.object}"},
    }


def _location(result: SarifResult) -> dict[str, Any]:
    logical = {"logicalLocations": [{"fullyQualifiedName": result.object, "kind": "object"}]}
    if not result.source or result.source == STDIN_NAME:
        return logical
    return {
        "physicalLocation": {
            "artifactLocation": {"uri": _uri(result.source)},
            "region": {"startLine": result.line},
        },
        **logical,
    }


def _uri(source: str) -> str:
    """Relative to where the command ran, as code hosts expect; an absolute path as a file."""
    path = Path(source)
    return path.as_uri() if path.is_absolute() else quote(path.as_posix())
