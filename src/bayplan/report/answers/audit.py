"""Findings of an audit, as parts of an answer."""

from __future__ import annotations

from collections.abc import Iterator
from os.path import commonpath, dirname, isabs, relpath

from bayplan.analysis.answers.audit.auditing import Audit
from bayplan.analysis.answers.audit.rules import RULES, Finding, Level
from bayplan.report.answers.parts import Cell, Heading, Part, Sentence, Table, Tone
from bayplan.report.words import counted, listed

_SHOWN_OF_A_RULE = 10
_TONES = {Level.ERROR: Tone.BAD, Level.WARNING: Tone.WARN, Level.NOTE: Tone.FAINT}


def audit_parts(answer: Audit) -> Iterator[Part]:
    """The worst first; of a rule that many objects break only some."""
    yield _answer(answer)
    if not answer.nodes:
        yield Sentence("There are no nodes in the input, so nothing could be tried.", Tone.WARN)
    files = _short_names({finding.source for finding in answer.findings if finding.source})
    for rule in dict.fromkeys(finding.rule for finding in answer.findings):
        yield from _broken(rule, [each for each in answer.findings if each.rule == rule], files)


def _short_names(files: set[str]) -> dict[str, str]:
    """Files without the folder that all of them are in; nothing if there is only one."""
    if len(files) < 2:
        return {}
    folder = commonpath([dirname(file) for file in files]) if len({isabs(file) for file in files}) == 1 else ""
    return {file: relpath(file, folder) if folder else file for file in files}


def _answer(answer: Audit) -> Sentence:
    seen = f"{counted(answer.pods, 'pod')} on {counted(answer.nodes, 'node')}"
    if not answer.findings:
        return Sentence(f"No problems found in {seen} ({len(RULES)} rules checked).", Tone.GOOD)
    counts = [counted(answer.count(level), level.value) for level in Level if answer.count(level)]
    tone = next(tone for level, tone in _TONES.items() if answer.count(level))
    return Sentence(f"{listed(counts)} in {seen}.", tone if tone is not Tone.FAINT else Tone.PLAIN)


def _broken(rule: str, findings: list[Finding], files: dict[str, str]) -> Iterator[Part]:
    yield Heading(f"{RULES[rule].title} ({RULES[rule].level}, {rule})")
    shown = findings[:_SHOWN_OF_A_RULE]
    tone = _TONES[RULES[rule].level]
    rows = [
        (Cell(each.object, tone), each.why, *((files.get(each.source, each.source),) if files else ()))
        for each in shown
    ]
    columns = ("Object", "Why", *(("File",) if files else ()))
    yield Table(columns, rows, flexible=frozenset({"Why", "File"}))
    if len(findings) > len(shown):
        yield Sentence(f"and {counted(len(findings) - len(shown), 'other')} (-o json lists them all)", Tone.FAINT)
    yield Sentence(f"→ {RULES[rule].fix}")
