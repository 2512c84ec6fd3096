"""Findings of an audit as SARIF 2.1.0, which code hosts show beside the files of a change.

A finding about an object whose file is known points at the line on which the object begins there; any other has only
the object's name.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

from bayplan import __version__
from bayplan.analysis.answers.audit.auditing import Audit
from bayplan.analysis.answers.audit.rules import RULES, Finding, Rule
from bayplan.model.object_lines import ObjectName
from bayplan.model.reading import STDIN_NAME, parsed_name

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
VERSION = "2.1.0"


def sarif(answer: Audit, lines: Mapping[str, Mapping[ObjectName, int]]) -> dict[str, Any]:
    """The whole log, with all rules and one result for each finding; `lines` are those of objects, by file."""
    driver = {"name": "bayplan", "version": __version__, "rules": [_rule(name, rule) for name, rule in RULES.items()]}
    results = [_result(finding, lines) for finding in answer.findings]
    return {"$schema": SCHEMA, "version": VERSION, "runs": [{"tool": {"driver": driver}, "results": results}]}


def _rule(name: str, rule: Rule) -> dict[str, Any]:
    return {
        "id": name,
        "shortDescription": {"text": rule.title},
        "help": {"text": rule.fix},
        "defaultConfiguration": {"level": rule.level.value},
    }


def _result(finding: Finding, lines: Mapping[str, Mapping[ObjectName, int]]) -> dict[str, Any]:
    return {
        "ruleId": finding.rule,
        "ruleIndex": list(RULES).index(finding.rule),
        "level": finding.level.value,
        "message": {"text": f"{finding.object}: {finding.why}. {finding.fix}"},
        "locations": [_location(finding, lines.get(finding.source, {}).get(parsed_name(finding.object), 1))],
        # The same finding in the next run, though other objects may have moved it within its file.
        "partialFingerprints": {"objectAndRule/v1": f"{finding.rule}:{finding.object}"},
    }


def _location(finding: Finding, line: int) -> dict[str, Any]:
    logical = {"logicalLocations": [{"fullyQualifiedName": finding.object, "kind": "object"}]}
    if not finding.source or finding.source == STDIN_NAME:
        return logical
    return {
        "physicalLocation": {"artifactLocation": {"uri": _uri(finding.source)}, "region": {"startLine": line}},
        **logical,
    }


def _uri(source: str) -> str:
    """Relative to where the command ran, as code hosts expect; an absolute path as a file."""
    path = Path(source)
    return path.as_uri() if path.is_absolute() else quote(path.as_posix())
