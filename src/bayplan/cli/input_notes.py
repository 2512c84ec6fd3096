"""Notes on what was read: kinds that are of no use, kinds that are missing, and what was assumed instead."""

from __future__ import annotations

from collections.abc import Sequence

from bayplan.analysis.cluster import Cluster
from bayplan.analysis.default_storage_class import EXPLANATION
from bayplan.analysis.input_gaps import Gap, dump_command
from bayplan.cli.options import note, note_skipped
from bayplan.report.words import counted


def note_input(cluster: Cluster) -> None:
    """All that a reader of an answer should know about the input."""
    note_skipped(cluster.skipped)
    note_gaps(cluster.gaps)
    if cluster.assumed_class is not None:
        note(EXPLANATION)


def note_gaps(gaps: Sequence[Gap]) -> None:
    """Which kinds are missing, which answers they affect, and how to get them, in one line."""
    if gaps:
        kinds = ", ".join(map(_named, gaps))
        affected = "; ".join(dict.fromkeys(gap.affects for gap in gaps))
        note(f"the input has no {kinds}. Affected: {affected}. Complete input: {dump_command(gaps)}")


def _named(gap: Gap) -> str:
    plural = _plural(gap.kind.__name__)
    return f"{plural} ({counted(gap.references, 'reference')})" if gap.references else plural


def _plural(kind: str) -> str:
    return f"{kind}es" if kind.endswith("s") else f"{kind}s"
