"""A simulation's summary in the terminal: what became of the pods, who waited, who was evicted by whom and why.

Takes the plain data of a run, so that it can also show one that was read from a file. Long tables are cut, and say so.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from bayplan.report.durations import duration_text
from bayplan.report.terminal import Part, Verbatim, heading, sentence, table
from bayplan.report.words import counted, examples, listed

Plain = Mapping[str, Any]
_PREEMPTIONS = 20
_PREEMPTORS = 10
_CHAINS = 5
_PODS = 4


def simulation_parts(run: Plain) -> Iterator[Part]:
    """The table view."""
    summary = run["summary"]
    yield sentence(_headline(run), "bold")
    if run["partial"]:
        yield sentence("The run was interrupted: this is what happened until then.", "bold yellow")
    yield from _waiting_parts(run, summary)
    yield from _usage_parts(run, summary)
    yield from _preemption_parts(run, summary)
    yield from _cascade_parts(run)
    yield from _pending_parts(run)
    yield from _note_parts(run)


def _headline(run: Plain) -> str:
    pods = run["summary"]["pods"]
    text = (
        f"{duration_text(run['seconds'])} on {counted(len(run['nodes']), 'node')}: {counted(pods['created'], 'pod')}, "
    )
    text += f"{pods['placed']:,} placed, {pods['finished']:,} finished, {pods['preempted']:,} preempted"
    if pods["pending"]:
        text += f"; {counted(pods['pending'], 'pod')} {'waits' if pods['pending'] == 1 else 'wait'} at the end"
    return f"{text}."


def _waiting_parts(run: Plain, summary: Plain) -> Iterator[Part]:
    if not summary["waiting"]:
        return
    yield heading("Waiting for a node, by priority class")
    numeric = ["priority", "placed", "p50", "p90", "p99", "longest"]
    made = table("class", *numeric, numeric=numeric)
    for name, figures in summary["waiting"].items():
        times = [duration_text(figures[quantile]) for quantile in ("p50", "p90", "p99", "max")]
        made.add_row(name, f"{run['classes'].get(name, 0):,}", f"{figures['count']:,}", *times)
    yield made


def _usage_parts(run: Plain, summary: Plain) -> Iterator[Part]:
    shares = [
        f"{name} {share:.1%}" for name, share in summary["utilisation"].items() if any(run["series"]["used"][name])
    ]
    if shares:
        scattered = summary["fragmentation"]["mean"]
        yield heading("Use of the cluster, on average")
        yield sentence(f"{', '.join(shares)}; of the room left, {scattered:.1%} is too scattered for a typical pod.")


def _preemption_parts(run: Plain, summary: Plain) -> Iterator[Part]:
    causes = summary["evictions"]
    if causes:
        yield heading("Evictions")
        said = [f"{number:,} by {cause}" for cause, number in causes.items()]
        broken = summary["budgetsBroken"]
        budgets = f"{counted(broken, 'time')} a budget was broken" if broken else "no budget was broken"
        yield sentence(f"{listed(said)}; {budgets}.")
    by_preemptor = summary["evictionsByPreemptor"]
    if by_preemptor:
        made = table("preemptor", "evicted", numeric=["evicted"], flexible=["preemptor"])
        for name, number in list(by_preemptor.items())[:_PREEMPTORS]:
            made.add_row(name, f"{number:,}")
        yield made
    preemptions = run["preemptions"]
    if not preemptions:
        return
    yield heading(counted(len(preemptions), "preemption"))
    yield _preemption_table(preemptions[:_PREEMPTIONS])
    if len(preemptions) > _PREEMPTIONS:
        yield sentence(f"and {len(preemptions) - _PREEMPTIONS:,} more; -o json and --report show all.", "dim")


def _preemption_table(preemptions: list[Plain]) -> Part:
    made = table(
        "at",
        "preemptor",
        "priority",
        "node",
        "victims",
        "budgets broken",
        "decided by",
        numeric=["at", "priority"],
        flexible=["preemptor", "node", "victims", "budgets broken", "decided by"],
    )
    for one in preemptions:
        victims = [f"{victim['pod']} ({victim['priority']:,})" for victim in one["victims"]]
        broken = list(dict.fromkeys(budget for victim in one["victims"] for budget in victim["breaks"]))
        made.add_row(
            duration_text(one["t"]),
            one["preemptor"],
            f"{one['priority']:,}",
            one["node"],
            examples(victims, 2),
            examples(broken, 2),
            one["decided"],
            style="yellow" if broken else "",
        )
    return made


def _cascade_parts(run: Plain) -> Iterator[Part]:
    for loop in run["loops"]:
        yield heading(f"A loop: {loop['preemptor']} evicts {loop['victim']} again and again")
        named = [
            f"{pod} (priority {priority:,})" for pod, priority in zip(loop["pods"], loop["priorities"], strict=True)
        ]
        when = f"from {duration_text(loop['from'])} to {duration_text(loop['until'])}"
        yield sentence(f"{loop['times']:,} times {when}: {listed(named, _PODS)}.", "red")
    chains = run["chains"]
    if chains:
        yield heading(f"{counted(len(chains), 'chain')} of preemptions that set off others")
        made = table("at", "depth", "victims", "downtime", "pods", numeric=["at", "depth", "victims", "downtime"])
        for chain in chains[:_CHAINS]:
            pods = " > ".join(chain["pods"][:_PODS]) + (" > …" if len(chain["pods"]) > _PODS else "")
            made.add_row(
                duration_text(chain["t"]),
                str(chain["depth"]),
                f"{chain['victims']:,}",
                duration_text(chain["downtime"]),
                pods,
            )
        yield made


def _pending_parts(run: Plain) -> Iterator[Part]:
    for group in run["waiting"]:
        yield heading(f"Without a node at the end: {listed(group['pods'], _PODS)}")
        yield Verbatim(group["message"] or "The scheduler has not tried: it is gated, or of another scheduler.")


def _note_parts(run: Plain) -> Iterator[Part]:
    if run["notes"]:
        yield heading("Notes on this run")
        for note in run["notes"][:_PREEMPTIONS]:
            yield sentence(f"{note['source']}: at {duration_text(note['t'])}: {note['message']}", "yellow")
