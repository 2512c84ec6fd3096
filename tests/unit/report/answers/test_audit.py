"""How an audit reads."""

from __future__ import annotations

from bayplan.analysis.answers.audit.auditing import Audit
from bayplan.analysis.answers.audit.rules import RULES, Finding
from bayplan.report.answers.audit import audit_parts
from bayplan.report.answers.parts import Heading, Sentence, Table, Tone


def test_many_objects_of_a_rule_are_summed_up() -> None:
    findings = tuple(Finding("no-requests", f"Deployment default/web-{n}", "none") for n in range(12))
    parts = list(audit_parts(Audit(findings, pods=3, nodes=2)))
    assert parts[0] == Sentence("12 warnings in 3 pods on 2 nodes.", Tone.WARN)
    (table,) = (part for part in parts if isinstance(part, Table))
    assert (table.columns, len(table.rows)) == (("Object", "Why"), 10)
    assert parts[-2:] == [
        Sentence("and 2 others (-o json lists them all)", Tone.FAINT),
        Sentence(f"→ {RULES['no-requests'].fix}"),
    ]


def test_files_are_shown_where_there_are_several() -> None:
    findings = tuple(Finding("never-fits", f"Pod default/{name}", "no", source=f"{name}.yaml") for name in "ab")
    (table,) = (part for part in audit_parts(Audit(findings, pods=3, nodes=2)) if isinstance(part, Table))
    assert [row[2] for row in table.rows] == ["a.yaml", "b.yaml"]


def test_the_worst_level_sets_the_tone() -> None:
    findings = (Finding("never-fits", "Pod default/x", "no"), Finding("unused-class", "PriorityClass c", "nobody"))
    first, *rest = audit_parts(Audit(findings, pods=1, nodes=0))
    assert first == Sentence("1 error and 1 note in 1 pod on 0 nodes.", Tone.BAD)
    assert rest[0] == Sentence("There are no nodes in the input, so nothing could be tried.", Tone.WARN)
    assert [part.text for part in rest if isinstance(part, Heading)] == [
        f"{RULES['never-fits'].title} (error, never-fits)",
        f"{RULES['unused-class'].title} (note, unused-class)",
    ]
