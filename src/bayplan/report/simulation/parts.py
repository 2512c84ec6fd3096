"""A simulation's summary: pods, waiting times, and preemptions with their victims and reasons.

Takes a run, which may have been read from a file. Long tables are cut, and say so.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from bayplan.analysis.simulation.results.run_format import Chain, Fidelity, GroupWait, RecordedPreemption, Run
from bayplan.report.answers.parts import Cell, Heading, Part, Sentence, Snippet, Table, Tone
from bayplan.report.answers.tables import table_of
from bayplan.report.durations import duration_text
from bayplan.report.words import amount_text, counted, eviction_cause, examples, listed, violations

_PREEMPTIONS = 20
_PREEMPTORS = 10
_CHAINS = 5
_PODS = 4
POOL_COLUMNS = ("pool", "added", "removed", "most at once", "node-hours", "cost")
ENDED_EARLY = "The run ended early; these are the results so far."


def simulation_parts(run: Run) -> Iterator[Part]:
    """The headline comes first: it is the answer."""
    yield Sentence(headline(run))
    if run.partial:
        yield Sentence(ENDED_EARLY, Tone.WARN)
    yield from _fidelity_parts(run)
    yield from _waiting_parts(run)
    yield from _usage_parts(run)
    yield from _pool_parts(run)
    yield from _preemption_parts(run)
    yield from _deadlock_parts(run)
    yield from _cascade_parts(run)
    yield from _pending_parts(run)
    yield from _note_parts(run)


def headline(run: Run) -> str:
    """What became of the pods, in one sentence."""
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
    text += f". Wake-ups: {run.wakeups}."
    if run.spared:
        text += f" They spared pod groups {duration_text(run.spared)} of waiting for their backoff."
    return text


def _fidelity_parts(run: Run) -> Iterator[Part]:
    if run.fidelity is not None:
        yield Heading("Compared with the recording")
        yield Sentence(fidelity_text(run.fidelity))


def fidelity_text(found: Fidelity) -> str:
    """How closely a run followed what was recorded; under another configuration it is not meant to."""
    text = (
        f"{counted(found.placed, 'pod')} got a node while it was recorded; {_share(found.placed_here, found.placed)} "
    )
    text += f"got one here, {_share(found.same_node, found.placed)} the same one, "
    text += f"{_share(found.alike_node, found.placed)} that or one that differs only in its name. "
    if found.started:
        within = _share(found.started_within_second, found.started)
        as_soon = _share(found.started_as_soon, found.started)
        text += f"{counted(found.started, 'pod')} started; {within} did so here within a second of then, {as_soon} "
        text += "as long after they were created, to a second. "
    if found.preempted or found.preempted_here:
        text += f"{counted(found.preempted, 'pod')} were preempted; {found.preempted_here:,} are here, "
        text += f"{found.preempted_both:,} of them the same."
    else:
        text += "No pod was preempted, then or here."
    return text


def _share(part: int, whole: int) -> str:
    return f"{part:,} ({part / whole:.1%})" if whole else f"{part:,}"


def _waiting_parts(run: Run) -> Iterator[Part]:
    if not run.summary.waiting:
        return
    yield Heading("Waiting time by priority class")
    numeric = ["priority", "placed", "p50", "p90", "p99", "longest"]
    rows = [
        (name, f"{run.classes[name]:,}", f"{waits.count:,}", *map(duration_text, waits.quantiles))
        for name, waits in run.summary.waiting.items()
    ]
    yield table_of(["class", *numeric], rows, numeric)


def _usage_parts(run: Run) -> Iterator[Part]:
    summary, used = run.summary, run.series.used
    shares = [f"{name} {share:.1%}" for name, share in summary.utilization.items() if any(used[name])]
    if shares:
        scattered = summary.fragmentation.mean
        yield Heading("Average utilization")
        yield Sentence(
            f"{', '.join(shares)}; {scattered:.1%} of the free capacity is too fragmented for a typical pod."
        )


def _pool_parts(run: Run) -> Iterator[Part]:
    summary = run.summary
    if summary.pools:
        yield Heading("Node pools")
        yield table_of(POOL_COLUMNS, pool_rows(run), POOL_COLUMNS[1:])
        yield Sentence(f"{amount_text(summary.node_hours)} node-hours on all nodes; cost {amount_text(summary.cost)}.")


def pool_rows(run: Run) -> list[tuple[Any, ...]]:
    """In the order of `POOL_COLUMNS`."""
    return [
        (name, pool.added, pool.removed, pool.most, amount_text(pool.node_hours), amount_text(pool.cost))
        for name, pool in run.summary.pools.items()
    ]


def _preemption_parts(run: Run) -> Iterator[Part]:
    summary = run.summary
    if summary.evictions:
        yield Heading("Evictions")
        said = [f"{number:,} by {eviction_cause(cause)}" for cause, number in summary.evictions.items()]
        yield Sentence(f"{listed(said)}; {violations(summary.budgets_broken)}.")
    if summary.evictions_by_preemptor:
        most = list(summary.evictions_by_preemptor.items())[:_PREEMPTORS]
        yield table_of(["preemptor", "evicted"], most, ["evicted"], ["preemptor"])
    preemptions = run.preemptions
    if not preemptions:
        return
    yield Heading(counted(len(preemptions), "preemption"))
    yield _preemption_table(preemptions[:_PREEMPTIONS])
    if len(preemptions) > _PREEMPTIONS:
        yield Sentence(f"and {len(preemptions) - _PREEMPTIONS:,} more; -o json and --report show all.", Tone.FAINT)


def _preemption_table(preemptions: Sequence[RecordedPreemption]) -> Table:
    flexible = ["node", "victims", "budgets violated", "decided by"]
    titles = ["at", "preemptor", "priority", *flexible]
    return table_of(titles, map(_preemption_row, preemptions), ["at", "priority"], ["preemptor", *flexible])


def _preemption_row(preemption: RecordedPreemption) -> list[Cell]:
    broken = preemption.broken_budgets
    texts = (
        duration_text(preemption.t),
        preemption.preemptor,
        f"{preemption.priority:,}",
        preemption.node,
        examples([f"{victim.pod} ({victim.priority:,})" for victim in preemption.victims], 2),
        examples(broken, 2),
        preemption.decided,
    )
    return [Cell(text, Tone.WARN if broken else Tone.PLAIN) for text in texts]


def deadlock_text(wait: GroupWait) -> str:
    """Who waits, and who holds what is needed."""
    who = listed(wait.waiting, _PODS)
    return f"{wait.group} waits with {who}: {wait.waits_for} holds what is needed, with {listed(wait.held_by, _PODS)}."


def _deadlock_parts(run: Run) -> Iterator[Part]:
    for deadlock in run.deadlocks:
        names = listed([each.group for each in deadlock.groups])
        yield Heading(f"Deadlock: {names} wait for each other since {duration_text(deadlock.since)}")
        for each in deadlock.groups:
            yield Sentence(deadlock_text(each), Tone.BAD)


def _cascade_parts(run: Run) -> Iterator[Part]:
    for loop in run.loops:
        yield Heading(f"Loop: {loop.preemptor} evicts {loop.victim} repeatedly")
        named = [f"{pod} (priority {priority:,})" for pod, priority in zip(loop.pods, loop.priorities, strict=True)]
        when = f"from {duration_text(loop.since)} to {duration_text(loop.until)}"
        yield Sentence(f"{loop.times:,} times {when}: {listed(named, _PODS)}.", Tone.BAD)
    chains = run.chains
    if chains:
        yield Heading(counted(len(chains), "preemption chain"))
        numeric = ["at", "depth", "victims", "downtime"]
        yield table_of([*numeric, "pods"], map(_chain_row, chains[:_CHAINS]), numeric, ["pods"])


def _chain_row(chain: Chain) -> tuple[Any, ...]:
    pods = " > ".join(chain.pods[:_PODS]) + (" > …" if len(chain.pods) > _PODS else "")
    return duration_text(chain.t), chain.depth, chain.victims, duration_text(chain.downtime), pods


def _pending_parts(run: Run) -> Iterator[Part]:
    for group in run.waiting:
        yield Heading(f"Pending at the end: {listed(group.pods, _PODS)}")
        yield Snippet(group.message or "Not attempted: gated, or for another scheduler.", "text")


def _note_parts(run: Run) -> Iterator[Part]:
    if run.notes:
        yield Heading("Notes on this run")
        for note in run.notes[:_PREEMPTIONS]:
            yield Sentence(f"{note.source}: at {duration_text(note.t)}: {note.message}", Tone.WARN)
