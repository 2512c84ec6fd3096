"""How an audit reads."""

from __future__ import annotations

from bayplan.analysis.answers.audit.auditing import Audit
from bayplan.analysis.answers.audit.rules import RULES, Finding
from bayplan.report.answers.audit import audit_parts
from bayplan.report.answers.parts import Details, Heading, Next, Part, Sentence, Table, Tone, cell
from bayplan.report.answers.terminal import terminal_parts
from bayplan.report.terminal import rendered


def shown(*findings: Finding, pods: int = 3, nodes: int = 2) -> list[Part]:
    return list(audit_parts(Audit(findings, pods=pods, nodes=nodes)))


def details(parts: list[Part]) -> list[Part]:
    assert isinstance(parts[-1], Details)
    return list(parts[-1].parts)


def rows(parts: list[Part]) -> list[list[str]]:
    (table,) = (part for part in parts if isinstance(part, Table))
    return [[cell(each).text for each in row] for row in table.rows]


def test_many_objects_of_a_rule_are_one_line_until_details_are_wanted() -> None:
    parts = shown(*(Finding("no-requests", f"Deployment default/web-{n}", "none") for n in range(12)))
    assert parts[0] == Sentence("12 warnings in 3 pods on 2 nodes.", Tone.WARN)
    assert parts[1] == Sentence(
        "warning: Containers request no cpu or no memory: Deployment default/web-0 and 11 more.", Tone.WARN
    )
    ((objects, why),) = rows(details(parts))
    assert objects.splitlines() == [f"Deployment default/web-{n}" for n in range(12)]
    assert why == "none"
    assert details(parts)[-1] == Sentence(f"→ {RULES['no-requests'].fix}")


def test_nodes_that_may_fail_are_counted_once_for_all_objects_of_a_cause() -> None:
    findings = [
        Finding("node-failure-strands", f"Deployment a/{name}", "if n1 or n2 fails, x", ("n1", "n2"), effect="x")
        for name in "pq"
    ]
    single = Finding("node-failure-strands", "Deployment a/z", "if n1 fails, y", ("n1",), effect="y")
    parts = shown(*findings, single, nodes=9)
    assert parts[0] == Sentence("3 errors (only if a node fails) in 3 pods on 9 nodes.", Tone.BAD)
    assert rows(details(parts)) == [
        ["Deployment a/p\nDeployment a/q", "2 of 9 nodes\n2 of 9 nodes", "x"],
        ["Deployment a/z", "n1", "y"],
    ]
    assert Next("bayplan drain n1") in parts


def test_what_never_fits_is_explained_next() -> None:
    assert Next("bayplan explain shop/deployment/web") in shown(Finding("never-fits", "Deployment shop/web", "no"))
    assert Next("bayplan explain shop/web") in shown(Finding("never-fits", "Pod shop/web", "no"))


def test_files_are_shown_where_there_are_several() -> None:
    findings = [Finding("never-fits", f"Pod default/{name}", f"no {name}", source=f"{name}.yaml") for name in "ab"]
    assert [row[-1] for row in rows(details(shown(*findings)))] == ["a.yaml", "b.yaml"]


def test_the_worst_level_sets_the_tone() -> None:
    findings = (Finding("never-fits", "Pod default/x", "no"), Finding("unused-class", "PriorityClass c", "nobody"))
    first, *rest = shown(*findings, pods=1, nodes=0)
    assert first == Sentence("1 error and 1 note in 1 pod on 0 nodes.", Tone.BAD)
    assert rest[0] == Sentence("There are no nodes in the input, so nothing could be tried.", Tone.WARN)
    assert [part.text for part in details(rest) if isinstance(part, Heading)] == [
        f"{RULES['never-fits'].title} (error, never-fits)",
        f"{RULES['unused-class'].title} (note, unused-class)",
    ]


def test_every_rule_broken_a_thousand_times_fits_one_screen() -> None:
    long = "Deployment a-namespace-with-a-name/a-deployment-with-quite-a-long-name"
    findings = [
        Finding(rule, f"{long}-{n}", "why " * 50, ("n1",), priority_class="business-critical")
        for rule in RULES
        for n in range(1_000)
    ]
    lines = rendered(terminal_parts(shown(*findings), details=False), width=80).splitlines()
    assert max(map(len, lines)) <= 80
    assert len(lines) <= 24, "\n".join(lines)
