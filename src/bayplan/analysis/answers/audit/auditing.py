"""A cluster in, findings out: all families of rules, the worst first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from bayplan.analysis.answers.asking import Asking
from bayplan.analysis.answers.audit.audited import Audited
from bayplan.analysis.answers.audit.budget_rules import budget_findings
from bayplan.analysis.answers.audit.eviction_rules import eviction_findings
from bayplan.analysis.answers.audit.group_rules import group_findings
from bayplan.analysis.answers.audit.impossible import impossible_findings
from bayplan.analysis.answers.audit.node_failures import node_failure_findings
from bayplan.analysis.answers.audit.priority_rules import priority_findings
from bayplan.analysis.answers.audit.request_rules import request_findings
from bayplan.analysis.answers.audit.rules import RULES, Finding, Level
from bayplan.analysis.showing import Shown
from bayplan.model.reading import source_of

Family = Callable[[Audited], Iterator[Finding]]
_FAMILIES: tuple[Family, ...] = (
    priority_findings,
    request_findings,
    budget_findings,
    impossible_findings,
    group_findings,
    node_failure_findings,
    eviction_findings,
)


@dataclass(frozen=True, slots=True, repr=False)
class Audit(Shown):
    """All findings, the worst first."""

    findings: tuple[Finding, ...]
    pods: int
    nodes: int

    def count(self, level: Level) -> int:
        return sum(finding.level is level for finding in self.findings)

    def reaches(self, level: Level) -> bool:
        """Whether something is that bad, or worse."""
        return any(finding.level.reaches(level) for finding in self.findings)

    def to_dict(self) -> dict[str, Any]:
        counted = Counter(finding.level.value for finding in self.findings)
        return {
            "findings": [finding.to_dict() for finding in self.findings],
            "counts": {level.value: counted[level.value] for level in Level},
            "pods": self.pods,
            "nodes": self.nodes,
        }


def audit(asking: Asking, *, ignored: Collection[str] = (), processes: int = 1) -> Audit:
    """Raises ValueError for a rule to ignore that does not exist."""
    unknown = sorted(set(ignored) - set(RULES))
    if unknown:
        raise ValueError(f"no rule {unknown[0]!r}; there are: {', '.join(RULES)}")
    audited = Audited(asking, processes=processes)
    found = [finding for family in _FAMILIES for finding in family(audited) if finding.rule not in ignored]
    return Audit(_ordered(_completed(audited, found)), len(audited.pods), len(audited.nodes))


def _completed(audited: Audited, found: Iterable[Finding]) -> Iterator[Finding]:
    """With the file and the priority of each object."""
    sources = audited.cluster.sources
    specs = {template.name: template for template in audited.templates}
    for finding in found:
        complete = replace(finding, source=source_of(finding.object, sources))
        template = specs.get(finding.object)
        if template is not None:
            complete = replace(
                complete, priority=audited.priority_of(template), priority_class=template.spec.priority_class_name
            )
        yield complete


def _ordered(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """The worst level first; in it what is so now before what a failing node causes; then by rule and priority."""
    rules, levels = list(RULES), list(Level)
    return tuple(
        sorted(
            findings,
            key=lambda each: (
                levels.index(each.level),
                RULES[each.rule].if_a_node_fails,
                rules.index(each.rule),
                -(each.priority or 0),
                each.object,
            ),
        )
    )
