"""Runs side by side: the answer, figures, waits by class, and what differs in placements and preemptions.

Takes a comparison. Long tables are cut, and say so.
"""

from __future__ import annotations

from collections.abc import Iterator

from bayplan.analysis.simulation.results.differences import Comparison
from bayplan.report.answers.parts import Heading, Part, Sentence, Tone
from bayplan.report.comparison import rows
from bayplan.report.durations import duration_text
from bayplan.report.words import counted, listed

_SHOWN = 20


def comparison_parts(comparison: Comparison) -> Iterator[Part]:
    """What differs from the first run comes first: it is the answer."""
    yield from map(Sentence, rows.answers(comparison))
    yield from (Sentence(f"warning: {warning}", Tone.WARN) for warning in comparison.warnings)
    yield Sentence(facts(comparison), Tone.FAINT)
    yield Heading("Side by side")
    yield rows.figures(comparison)
    yield Heading("Pods and waiting time, by priority class")
    yield rows.classes(comparison)
    for section in rows.sections(comparison, _SHOWN):
        yield Heading(section.title)
        yield Sentence(section.sentence)
        if section.table.rows:
            yield section.table
        if section.total > _SHOWN:
            yield Sentence(f"and {section.total - _SHOWN:,} more; -o json shows all.", Tone.FAINT)


def facts(comparison: Comparison) -> str:
    """What all runs have in common."""
    base = comparison.runs[0]
    wakeups = listed(list(dict.fromkeys(run.wakeups for run in comparison.runs)))
    return f"{duration_text(base.seconds)} on {counted(base.nodes, 'node')}, seed {base.seed}, wake-ups {wakeups}."
