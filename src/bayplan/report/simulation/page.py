"""A simulation's result as one HTML file that works offline: the answer first, then plots, chains and records.

Takes a run; the page's own policy forbids it to load anything. The same run gives the same bytes. Nothing is computed
again that the summary has.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from bayplan.analysis.simulation.results.run_format import End, PodRow, Run
from bayplan.report.answers.html import html_table
from bayplan.report.durations import duration_text
from bayplan.report.html_page import document
from bayplan.report.markup import NOTHING, joined, tag
from bayplan.report.simulation.chain_drawing import draw_chains
from bayplan.report.simulation.group_figures import GROUPS_MAX, courses, group_rows, groups_over_time
from bayplan.report.simulation.node_figures import NODES_MAX, PODS_MAX, is_aggregated, nodes_over_time, shortened
from bayplan.report.simulation.parts import ENDED_EARLY, POOL_COLUMNS, deadlock_text, fidelity_text, headline, pool_rows
from bayplan.report.simulation.preemption_list import (
    and_more,
    html_legend,
    more_records,
    preemption_records,
)
from bayplan.report.simulation.time_figures import over_time, waiting, who_evicted
from bayplan.report.simulation.view import SimulationView
from bayplan.report.words import amount_text, counted, eviction_cause

_CHAINS_MAX = 25
_CHAIN_LENGTH_MAX = 8
_WORKLOADS_MAX = 20
_LOOPS_MAX = 20
_NOTES_MAX = 100
_SINGLE = "standalone pods of class"


def run_page(run: Run) -> str:
    """The page as text."""
    view = SimulationView(run)
    records = preemption_records(run.preemptions)
    header = tag(
        "header",
        tag("h1", "What happened in this cluster"),
        _answer(run),
        tag("div", _tiles(view), class_="tiles"),
        tag("p", "Compared with the recording: ", fidelity_text(run.fidelity)) if run.fidelity is not None else None,
        _class_table(view),
        html_table(POOL_COLUMNS, pool_rows(run), POOL_COLUMNS[1:]) if run.summary.pools else None,
        _deadlocks(view),
        _loops(view),
        _notes(view),
    )
    sections = [
        ("Utilization and queue over time", [_time_text(view), over_time(view)]),
        ("Waiting time by priority class", [waiting(view)]),
        *([("Pod groups", [_groups(view)])] if run.groups else []),
        ("Nodes over time", [tag("p", _nodes_text(view)), nodes_over_time(view, len(records))]),
        ("Preemptors and victims", [who_evicted(view) if run.preemptions else None, _chains(view)]),
        ("Worst-hit workloads", [_workloads(view)]),
        ("Evictions and packing", [_evictions(view)]),
    ]
    body = joined(
        header,
        (tag("section", tag("h2", title), elements) for title, elements in sections),
        _records(view, records),
    )
    title = f"Simulation of {duration_text(view.seconds)}, seed {run.seed}"
    return document(title, body, style="plots.css", script="page.js")


def _records(view: SimulationView, records: list[Markup]) -> Markup:
    count = len(view.run.preemptions)
    field = tag("input", id="filter", type="search", placeholder="pod, node or budget")
    search = tag("p", tag("label", "Show only preemptions that mention ", field)) if count else None
    more = more_records(len(records), count)
    return tag("section", tag("h2", counted(count, "preemption")), search, records, more, id="preemptions")


# ---------------------------------------------------------------- the answer


def _answer(run: Run) -> Markup:
    partial = tag("p", ENDED_EARLY, class_="partial") if run.partial else None
    facts = f"configuration {run.configs}, seed {run.seed}"
    return joined(partial, tag("p", headline(run), class_="answer"), tag("p", facts, class_="facts"))


def _tiles(view: SimulationView) -> list[Markup]:
    run, summary, pods = view.run, view.run.summary, view.run.summary.pods
    depth = max((chain.depth for chain in run.chains), default=0)
    tiles = [
        ("placed", f"{pods.placed:,}", f"of {pods.needing_node:,} that needed a node", False),
        ("pending", f"{pods.pending:,}", "at the end", pods.pending > 0),
        ("preempted", f"{pods.preempted:,}", f"in {counted(len(run.preemptions), 'preemption')}", False),
        ("budget violations", f"{summary.budgets_broken:,}", "by preemption", summary.budgets_broken > 0),
        ("loops", f"{len(run.loops):,}", "preempt–recreate", bool(run.loops)),
        ("deepest chain", f"{depth:,}", f"of {counted(len(run.chains), 'chain')}", False),
    ]
    if summary.pools:
        tiles.append(("cost", amount_text(summary.cost), f"{amount_text(summary.node_hours)} node-hours", False))
    tiles += [
        (f"{resource.rpartition('/')[2]} utilization", f"{100 * share:.0f} %", "on average", False)
        for resource, share in summary.utilization.items()
        if any(run.series.used[resource])  # nodes may offer what no pod asks for
    ]
    return [
        tag("div", tag("span", name), tag("b", value), tag("span", note), class_="tile alarm" if alarm else "tile")
        for name, value, note, alarm in tiles
    ]


def _class_table(view: SimulationView) -> Markup:
    ends = Counter((pod.class_name, pod.end) for pod in view.run.pods)
    rows = []
    for name, priority in view.run.classes.items():
        waits = view.run.summary.waiting.get(name)
        quantiles = map(duration_text, waits.quantiles if waits else (None,) * 4)
        evicted, pending = ends[name, End.PREEMPTED], ends[name, End.PENDING]
        if waits or pending or evicted:
            rows.append((name, priority, waits.count if waits else 0, *quantiles, evicted, pending))
    titles = ["class", "priority", "placed", "median wait", "p90", "p99", "longest", "preempted", "pending"]
    return html_table(titles, rows, titles[1:])


def _time_text(view: SimulationView) -> Markup:
    if not view.shown_from:
        return NOTHING
    pods = view.run.pods
    before = sum(pod.created < view.shown_from for pod in pods)
    return tag(
        "p",
        f"In the first {duration_text(view.shown_from)} only {before:,} of {counted(len(pods), 'pod')} arrived, "
        "so the time axes start there. Double-click a plot to see the whole run.",
    )


def _nodes_text(view: SimulationView) -> str:
    if not is_aggregated(view):
        return (
            "Each bar is a pod on its node, colored by priority class; gray is free capacity. A dot marks a "
            "pod that was preempted: click it for the record. Drag to zoom, double-click to see all."
        )
    return (
        f"Each row is a node; the stronger the color, the fuller it is. Where there is none, the node did not exist. "
        f"(Above {NODES_MAX} nodes or {PODS_MAX:,} pods, individual pods are not drawn.) "
        "Use the buttons to show another resource or the evictions. Drag to zoom, double-click to see all."
    )


# ---------------------------------------------------------------- chains, loops, workloads


def _chains(view: SimulationView) -> Markup:
    chains = sorted(view.run.chains, key=lambda chain: (-chain.depth, -chain.downtime, chain.pods))
    if not chains:
        return tag("p", "No victim preempted another pod.")
    shown = [chain.pods[:_CHAIN_LENGTH_MAX] for chain in chains[:_CHAINS_MAX]]
    keys = {key for pods in shown for key in pods}
    looks = {key: view.looks[view.class_by_key[key]] for key in keys}
    text = f"The deepest {len(shown):,} of {counted(len(chains), 'chain')}. " if len(chains) > len(shown) else ""
    longest = max(chain.downtime for chain in chains)
    said = (
        f"{text}Each arrow points to a victim or to the pod that replaces it; colors are priority classes. "
        f"The longest downtime in one chain is {duration_text(longest)}."
    )
    drawn = draw_chains(shown, looks, {key: shortened(key, 27) for key in keys})
    legend = html_legend((look, name) for name, look in view.looks.items())
    return joined(tag("p", said), legend, tag("div", drawn, class_="scroll"))


def _groups(view: SimulationView) -> Markup:
    found = courses(view)
    if not found:
        return tag("p", "No pod belongs to one.")
    drawn = found[:GROUPS_MAX]
    said = (
        "Each row is a group: gray while too few of its pods exist, amber while enough do and too few of them have a "
        "node, green once its quorum has. A dot marks pods that were placed or preempted at once."
    )
    titles = ("group", "pods", "minCount", "on nodes at the end", "waited", "preempted", "within", "at the end")
    table = html_table(titles, group_rows(view, drawn), titles[1:6])
    more = and_more(len(found) - GROUPS_MAX, "group")
    return joined(tag("p", said), groups_over_time(view, drawn), table, more)


def _deadlocks(view: SimulationView) -> Markup:
    found = view.run.deadlocks
    if not found:
        return NOTHING
    said = [tag("li", deadlock_text(each)) for deadlock in found for each in deadlock.groups]
    return joined(tag("h3", "Groups that wait for each other", class_="alarm"), tag("ul", said, class_="loops"))


def _loops(view: SimulationView) -> Markup:
    loops = sorted(view.run.loops, key=lambda loop: (-loop.times, loop.pods))
    said = []
    for loop in loops[:_LOOPS_MAX]:
        steps = Markup(" → ").join(
            joined(tag("b", pod), f" ({priority:,})") for pod, priority in zip(loop.pods, loop.priorities, strict=True)
        )
        said.append(tag("li", tag("span", counted(loop.times, "time"), class_="flag"), " ", steps, " → and again"))
    if not said:
        return NOTHING
    title = tag("h3", "Preempt–recreate loops", class_="alarm")
    return joined(title, tag("ul", said, class_="loops"), and_more(len(loops) - _LOOPS_MAX))


def _notes(view: SimulationView) -> Markup:
    """What could not be done, and what was assumed."""
    notes = view.run.notes
    if not notes:
        return NOTHING
    rows = [(duration_text(note.t), note.source, note.message) for note in notes[:_NOTES_MAX]]
    table = html_table(["at", "where", "what"], rows)
    summary = tag("summary", f"{counted(len(notes), 'note')} on this run")
    return tag("details", summary, table, and_more(len(notes) - _NOTES_MAX))


@dataclass
class _Harm:
    """What happened to one workload."""

    pods: int = 0
    preempted: int = 0
    seconds_lost: float = 0.0
    budgets_broken: int = 0
    pending: int = 0
    longest_wait: float = 0.0


def _workloads(view: SimulationView) -> Markup:
    harms: defaultdict[str, _Harm] = defaultdict(_Harm)
    names = _workload_names(view)
    for pod in view.run.pods:
        _add_pod(harms[names[pod.key]], pod, view)
    for preemption in view.run.preemptions:
        for victim in preemption.victims:
            harms[names[victim.pod]].budgets_broken += bool(victim.breaks)
    hit = [(name, harm) for name, harm in harms.items() if harm.preempted or harm.pending]
    hit.sort(key=lambda item: (-item[1].preempted, -item[1].seconds_lost, -item[1].pending, item[0]))
    if not hit:
        return tag("p", "No pod was preempted, and none is pending.")
    rows = [
        (
            name,
            harm.pods,
            harm.preempted,
            duration_text(harm.seconds_lost) if harm.preempted else "–",
            harm.budgets_broken,
            harm.pending,
            duration_text(harm.longest_wait),
        )
        for name, harm in hit[:_WORKLOADS_MAX]
    ]
    titles = ["workload", "pods", "preempted", "work lost", "budget violations", "pending", "longest wait"]
    more = and_more(len(hit) - _WORKLOADS_MAX, "workload")
    if any(name.startswith(_SINGLE) for name, _ in hit):
        more += tag("p", "Standalone pods have no workload: if evicted, they are not recreated.")
    return joined(html_table(titles, rows, titles[1:]), more)


def _workload_names(view: SimulationView) -> dict[str, str]:
    """Pod -> its workload. Many standalone pods, such as those of a trace, are grouped by class."""
    single = [pod for pod in view.run.pods if not pod.owner]
    names = {pod.key: pod.owner or pod.key for pod in view.run.pods}
    if sum(pod.end in (End.PREEMPTED, End.PENDING) for pod in single) > _WORKLOADS_MAX:
        names |= {pod.key: f"{_SINGLE} {pod.class_name}" for pod in single}
    return names


def _add_pod(harm: _Harm, pod: PodRow, view: SimulationView) -> None:
    harm.pods += 1
    harm.pending += pod.end is End.PENDING
    if pod.end is End.PREEMPTED:
        harm.preempted += 1
        if pod.started is not None:
            harm.seconds_lost += view.end_of(pod) - pod.started
    # A pod that never got a node waited as long as it lived.
    until = view.end_of(pod) if pod.bound is None else pod.bound
    harm.longest_wait = max(harm.longest_wait, until - pod.created)


def _evictions(view: SimulationView) -> Markup:
    summary = view.run.summary
    causes = [(eviction_cause(cause), count) for cause, count in summary.evictions.items() if count]
    preemptors = sorted(summary.evictions_by_preemptor.items(), key=lambda item: (-item[1], item[0]))
    packing = [("mean", f"{summary.fragmentation.mean:.3g}"), ("max", f"{summary.fragmentation.max:.3g}")]
    tables: list[tuple[str, tuple[str, str], Sequence[tuple[str, Any]]]] = [
        ("By cause", ("cause", "pods"), causes),
        ("By preemptor", ("preemptor", "pods evicted"), preemptors[:10]),
        ("Fragmentation", ("measure", "value"), packing),
    ]
    return tag(
        "div",
        (tag("div", tag("h3", title), html_table(titles, rows, titles[1:])) for title, titles, rows in tables if rows),
        class_="columns",
    )
