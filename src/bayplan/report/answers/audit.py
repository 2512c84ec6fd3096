"""Findings of an audit, as parts of an answer: the five worst problems in a line each, then everything."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from os.path import commonpath, dirname, isabs, relpath

from bayplan.analysis.answers.audit.auditing import Audit
from bayplan.analysis.answers.audit.rules import RULES, Finding, Level
from bayplan.report.answers.parts import REASONS_MAX, Cell, Details, Heading, Next, Part, Sentence, Table, Tone
from bayplan.report.words import counted, listed

_TONES = {Level.ERROR: Tone.BAD, Level.WARNING: Tone.WARN, Level.NOTE: Tone.FAINT}
_OTHERS_NAMED = 3
#: What `explain` can say more about.
_EXPLAINED = ("never-fits", "too-many-replicas", "affinity-to-nobody")


def audit_parts(answer: Audit) -> Iterator[Part]:
    """The worst first."""
    yield _answer(answer)
    if not answer.nodes:
        yield Sentence("There are no nodes in the input, so nothing could be tried.", Tone.WARN)
    if not answer.findings:
        return
    broken = {rule: _of_rule(answer, rule) for rule in dict.fromkeys(each.rule for each in answer.findings)}
    for found in list(broken.values())[:REASONS_MAX]:
        yield _in_short(found)
    if len(broken) > REASONS_MAX:
        rest = list(broken.items())[REASONS_MAX:]
        others = listed([f"{rule} ({len(found):,})" for rule, found in rest], _OTHERS_NAMED)
        yield Sentence(f"Also: {others}.", Tone.FAINT)
    yield from _what_next(answer.findings[0])
    files = _short_names({finding.source for finding in answer.findings if finding.source})
    yield Details([part for rule, found in broken.items() for part in _broken(rule, found, files, answer.nodes)])


def _of_rule(answer: Audit, rule: str) -> list[Finding]:
    return [each for each in answer.findings if each.rule == rule]


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
    counts = [_counted(answer, level) for level in Level if answer.count(level)]
    tone = next(tone for level, tone in _TONES.items() if answer.count(level))
    return Sentence(f"{listed(counts)} in {seen}.", tone if tone is not Tone.FAINT else Tone.PLAIN)


def _counted(answer: Audit, level: Level) -> str:
    """`24 errors`, `24 errors (19 only if a node fails)`."""
    number = counted(answer.count(level), level.value)
    if level is not Level.ERROR:
        return number
    later = sum(RULES[each.rule].if_a_node_fails for each in answer.findings if each.level is level)
    if not later:
        return number
    return f"{number} ({'' if later == answer.count(level) else f'{later:,} '}only if a node fails)"


def _in_short(found: Sequence[Finding]) -> Sentence:
    """What is wrong, and the object for which that matters most."""
    first = found[0]
    more = f" and {len(found) - 1:,} more" if len(found) > 1 else ""
    problem = RULES[first.rule].title.removesuffix(".")
    return Sentence(f"{first.level.value}: {problem}: {first.object}{_class(first)}{more}.", _TONES[first.level])


def _class(finding: Finding) -> str:
    return f" (class {finding.priority_class})" if finding.priority_class else ""


def _what_next(worst: Finding) -> Iterator[Part]:
    yield Sentence(f"→ {RULES[worst.rule].fix}")
    kind, _, name = worst.object.partition(" ")
    if worst.rule in _EXPLAINED:
        namespace, _, bare = name.partition("/")
        yield Next(f"bayplan explain {name if kind == 'Pod' else f'{namespace}/{kind.lower()}/{bare}'}")
    elif worst.nodes:
        yield Next(f"bayplan drain {worst.nodes[0]}")


def _broken(rule: str, findings: Sequence[Finding], files: dict[str, str], nodes: int) -> Iterator[Part]:
    yield Heading(f"{RULES[rule].title} ({RULES[rule].level}, {rule})")
    tone = _TONES[RULES[rule].level]
    rows = [
        (
            Cell("\n".join(each.object for each in same), tone),
            same[0].priority_class,
            "\n".join(_failing(each, nodes) for each in same).strip(),
            same[0].effect or same[0].why,
            "\n".join(dict.fromkeys(files.get(each.source, each.source) for each in same)) if files else "",
        )
        for same in _by_cause(findings)
    ]
    columns = ("Object", "Class", "If any of", "Why", "File")
    used = [at for at in range(len(columns)) if any(isinstance(row[at], Cell) or row[at] for row in rows)]
    yield Table(
        tuple(columns[at] for at in used),
        [[row[at] for at in used] for row in rows],
        flexible=frozenset({"Why", "File"}),
    )
    yield Sentence(f"→ {RULES[rule].fix}")


def _failing(finding: Finding, nodes: int) -> str:
    """`219 of 300 nodes`, where it is said of nodes that fail."""
    if not RULES[finding.rule].if_a_node_fails:
        return ""
    if len(finding.nodes) == 1:
        return finding.nodes[0]
    return f"{len(finding.nodes):,} of {nodes:,} nodes"


def _by_cause(findings: Sequence[Finding]) -> list[list[Finding]]:
    """Findings that say the same of several objects, together."""
    groups: dict[tuple[object, ...], list[Finding]] = {}
    for each in findings:
        cause = each.effect or each.why
        groups.setdefault((each.priority_class, cause), []).append(each)
    return list(groups.values())
