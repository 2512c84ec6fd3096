"""A simulation's summary in the terminal: pods, waiting times, and preemptions with their victims and reasons.

Takes a run, which may have been read from a file. Long tables are cut, and say so.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from bayplan.analysis.simulation.results.run_format import Preemption, Run
from bayplan.report.durations import duration_text
from bayplan.report.terminal import Part, Verbatim, heading, sentence, table
from bayplan.report.words import counted, eviction_cause, examples, listed, violations

_PREEMPTIONS = 20
_PREEMPTORS = 10
_CHAINS = 5
_PODS = 4


def simulation_parts(run: Run) -> Iterator[Part]:
    """The table view."""
    yield sentence(_headline(run), "bold")
    if run.partial:
        yield sentence("The run ended early; these are the results so far.", "bold yellow")
    yield from _waiting_parts(run)
    yield from _usage_parts(run)
    yield from _preemption_parts(run)
    yield from _cascade_parts(run)
    yield from _pending_parts(run)
    yield from _note_parts(run)


def _headline(run: Run) -> str:
    pods = run.summary.pods
    text = f"{duration_text(run.seconds)} on {counted(len(run.nodes), 'node')}: "
    if pods.bound_before:
        text += f"{counted(pods.bound_before, 'pod')} had a node at the start, {pods.placed:,} of "
        text += f"{counted(pods.needing_node, 'other')} got one; "
    else:
        text += f"{counted(pods.created, 'pod')}, {pods.placed:,} placed, "
    text += f"{pods.finished:,} finished, {pods.preempted:,} preempted"
    if pods.pending:
        text += f"; {counted(pods.pending, 'pod')} pending at the end"
    return f"{text}. Wake-ups: {run.wakeups}."


def _waiting_parts(run: Run) -> Iterator[Part]:
    if not run.summary.waiting:
        return
    yield heading("Waiting time by priority class")
    numeric = ["priority", "placed", "p50", "p90", "p99", "longest"]
    rows = [
        (name, f"{run.classes[name]:,}", f"{waits.count:,}", *map(duration_text, waits.quantiles))
        for name, waits in run.summary.waiting.items()
    ]
    yield table("class", *numeric, rows=rows, numeric=numeric)


def _usage_parts(run: Run) -> Iterator[Part]:
    summary, used = run.summary, run.series.used
    shares = [f"{name} {share:.1%}" for name, share in summary.utilisation.items() if any(used[name])]
    if shares:
        scattered = summary.fragmentation.mean
        yield heading("Average utilization")
        yield sentence(
            f"{', '.join(shares)}; {scattered:.1%} of the free capacity is too fragmented for a typical pod."
        )


def _preemption_parts(run: Run) -> Iterator[Part]:
    summary = run.summary
    if summary.evictions:
        yield heading("Evictions")
        said = [f"{number:,} by {eviction_cause(cause)}" for cause, number in summary.evictions.items()]
        yield sentence(f"{listed(said)}; {violations(summary.budgets_broken)}.")
    if summary.evictions_by_preemptor:
        most = list(summary.evictions_by_preemptor.items())[:_PREEMPTORS]
        rows = [(name, f"{number:,}") for name, number in most]
        yield table("preemptor", "evicted", rows=rows, numeric=["evicted"], flexible=["preemptor"])
    preemptions = run.preemptions
    if not preemptions:
        return
    yield heading(counted(len(preemptions), "preemption"))
    yield _preemption_table(preemptions[:_PREEMPTIONS])
    if len(preemptions) > _PREEMPTIONS:
        yield sentence(f"and {len(preemptions) - _PREEMPTIONS:,} more; -o json and --report show all.", "dim")


def _preemption_table(preemptions: Sequence[Preemption]) -> Part:
    flexible = ["node", "victims", "budgets violated", "decided by"]
    made = table(
        "at", "preemptor", "priority", *flexible, numeric=["at", "priority"], flexible=["preemptor", *flexible]
    )
    for preemption in preemptions:
        broken = preemption.broken_budgets
        made.add_row(
            duration_text(preemption.t),
            preemption.preemptor,
            f"{preemption.priority:,}",
            preemption.node,
            examples([f"{victim.pod} ({victim.priority:,})" for victim in preemption.victims], 2),
            examples(broken, 2),
            preemption.decided,
            style="yellow" if broken else "",
        )
    return made


def _cascade_parts(run: Run) -> Iterator[Part]:
    for loop in run.loops:
        yield heading(f"Loop: {loop.preemptor} evicts {loop.victim} repeatedly")
        named = [f"{pod} (priority {priority:,})" for pod, priority in zip(loop.pods, loop.priorities, strict=True)]
        when = f"from {duration_text(loop.since)} to {duration_text(loop.until)}"
        yield sentence(f"{loop.times:,} times {when}: {listed(named, _PODS)}.", "red")
    chains = run.chains
    if chains:
        yield heading(counted(len(chains), "preemption chain"))
        numeric = ["at", "depth", "victims", "downtime"]
        made = table(*numeric, "pods", numeric=numeric, flexible=["pods"])
        for chain in chains[:_CHAINS]:
            pods = " > ".join(chain.pods[:_PODS]) + (" > …" if len(chain.pods) > _PODS else "")
            counts = str(chain.depth), f"{chain.victims:,}"
            made.add_row(duration_text(chain.t), *counts, duration_text(chain.downtime), pods)
        yield made


def _pending_parts(run: Run) -> Iterator[Part]:
    for group in run.waiting:
        yield heading(f"Pending at the end: {listed(group.pods, _PODS)}")
        yield Verbatim(group.message or "Not attempted: gated, or for another scheduler.")


def _note_parts(run: Run) -> Iterator[Part]:
    if run.notes:
        yield heading("Notes on this run")
        for note in run.notes[:_PREEMPTIONS]:
            yield sentence(f"{note.source}: at {duration_text(note.t)}: {note.message}", "yellow")
