"""A simulation's result as one HTML file that works offline: the answer first, then plots, chains and records.

Takes a run and writes a page that holds its plots' data and plotly.js itself; the page's own policy forbids it to load
anything. The same run gives the same bytes. Nothing is computed again that the summary has.

Needs plotly (the extra `report`) for its JavaScript only; figures are made as plain data.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from html import escape

from bayplan.analysis.simulation.results.run_format import End, PodRow, Run
from bayplan.report.durations import duration_text
from bayplan.report.html_page import filled, framed, page_file, require_plotly
from bayplan.report.simulation.chain_drawing import draw_chains
from bayplan.report.simulation.node_figures import NODES_MAX, PODS_MAX, is_aggregated, nodes_over_time, shortened
from bayplan.report.simulation.preemption_list import and_more, html_legend, html_table, preemption_list
from bayplan.report.simulation.time_figures import over_time, waiting, who_evicted
from bayplan.report.simulation.view import SimulationView
from bayplan.report.words import counted, eviction_cause, violations

_CHAINS_MAX = 25
_CHAIN_LENGTH_MAX = 8
_WORKLOADS_MAX = 20
_LOOPS_MAX = 20
_NOTES_MAX = 100
_SINGLE = "standalone pods of class"


def run_page(run: Run) -> str:
    """The page as text."""
    require_plotly()  # without it all else would be in vain
    view = SimulationView(run)
    figures = {"over-time": over_time(view), "waiting": waiting(view), "nodes": nodes_over_time(view)}
    if run.preemptions:
        figures["who-evicted"] = who_evicted(view)
    body = filled(
        page_file("page.html"),
        {
            "answer": _answer(view),
            "tiles": _tiles(view),
            "classes": _class_table(view),
            "time_text": _time_text(view),
            "nodes_text": _nodes_text(view),
            "who_evicted": '<div class="plot" id="who-evicted"></div>' if run.preemptions else "",
            "chains": _chains(view),
            "loops": _loops(view),
            "notes": _notes(view),
            "workloads": _workloads(view),
            "evictions": _evictions(view),
            "preemptions_title": counted(len(run.preemptions), "preemption"),
            "preemptions": preemption_list(run.preemptions),
        },
    )
    return framed(
        f"Simulation of {duration_text(view.seconds)}, seed {run.seed}",
        body,
        figures,
        "page.js",
    )


# ---------------------------------------------------------------- the answer


def _answer(view: SimulationView) -> str:
    run, pods = view.run, view.run.summary.pods
    said = [
        f"In {duration_text(view.seconds)} on {counted(len(view.nodes), 'node')}, "
        f"<b>{counted(pods.placed, 'pod was', 'pods were')} placed</b>; "
        + (
            f"{counted(pods.pending, 'is still pending', 'are still pending')}." if pods.pending else "none is pending."
        ),
        f"<b>{_pods_were(pods.preempted)} evicted</b> by preemption"
        + (f", with {violations(run.summary.budgets_broken)}." if pods.preempted else "."),
        f'<b class="alarm">{counted(len(run.loops), "preempt–recreate loop")} found.</b>'
        if run.loops
        else "No preempt–recreate loop.",
    ]
    partial = '<p class="partial">The run ended early: this report covers only part of it.</p>'
    facts = f"configuration {escape(run.configs)}, seed {run.seed}, wake-ups {run.wakeups}"
    return f'{partial if run.partial else ""}<p class="answer">{" ".join(said)}</p><p class="facts">{facts}</p>'


def _pods_were(count: int) -> str:
    return counted(count, "pod was", "pods were") if count else "No pod was"


def _tiles(view: SimulationView) -> str:
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
    tiles += [
        (f"{resource.rpartition('/')[2]} utilization", f"{100 * share:.0f} %", "on average", False)
        for resource, share in summary.utilisation.items()
        if any(run.series.used[resource])  # nodes may offer what no pod asks for
    ]
    return "".join(
        f'<div class="tile{" alarm" if alarm else ""}"><span>{escape(name)}</span><b>{value}</b>'
        f"<span>{escape(note)}</span></div>"
        for name, value, note, alarm in tiles
    )


def _class_table(view: SimulationView) -> str:
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


def _time_text(view: SimulationView) -> str:
    if not view.shown_from:
        return ""
    pods = view.run.pods
    before = sum(pod.created < view.shown_from for pod in pods)
    return (
        f"<p>In the first {duration_text(view.shown_from)} only {before:,} of {counted(len(pods), 'pod')} arrived, "
        "so the time axes start there. Double-click a plot to see the whole run.</p>"
    )


def _nodes_text(view: SimulationView) -> str:
    if not is_aggregated(view):
        return (
            "Each bar is a pod on its node, colored by priority class; gray is free capacity. A cross marks a "
            "pod that was preempted: click it for the record. Drag to zoom, double-click to see all."
        )
    return (
        f"Each row is a node; dark is full, gray means that the node did not exist. "
        f"(Above {NODES_MAX} nodes or {PODS_MAX:,} pods, individual pods are not drawn.) "
        "Use the buttons to show another resource or the evictions. Drag to zoom, double-click to see all."
    )


# ---------------------------------------------------------------- chains, loops, workloads


def _chains(view: SimulationView) -> str:
    chains = sorted(view.run.chains, key=lambda chain: (-chain.depth, -chain.downtime, chain.pods))
    if not chains:
        return "<p>No victim preempted another pod.</p>"
    shown = [chain.pods[:_CHAIN_LENGTH_MAX] for chain in chains[:_CHAINS_MAX]]
    keys = {key for pods in shown for key in pods}
    colours = {key: view.colours[view.class_by_key[key]] for key in keys}
    text = f"The deepest {len(shown):,} of {counted(len(chains), 'chain')}. " if len(chains) > len(shown) else ""
    longest = max(chain.downtime for chain in chains)
    return (
        f"<p>{text}Each arrow points to a victim or to the pod that replaces it; colors are priority classes. "
        f"The longest downtime in one chain is {duration_text(longest)}.</p>{_legend(view)}"
        f'<div class="scroll">{draw_chains(shown, colours, {key: shortened(key, 27) for key in keys})}</div>'
    )


def _legend(view: SimulationView) -> str:
    return html_legend((colour, escape(name)) for name, colour in view.colours.items())


def _loops(view: SimulationView) -> str:
    loops = sorted(view.run.loops, key=lambda loop: (-loop.times, loop.pods))
    said = []
    for loop in loops[:_LOOPS_MAX]:
        steps = " → ".join(
            f"<b>{escape(pod)}</b> ({priority:,})" for pod, priority in zip(loop.pods, loop.priorities, strict=True)
        )
        said.append(f'<li><span class="flag">{counted(loop.times, "time")}</span> {steps} → and again</li>')
    if not said:
        return ""
    more = and_more(len(loops) - _LOOPS_MAX)
    return f'<h3 class="alarm">Preempt–recreate loops</h3><ul class="loops">{"".join(said)}</ul>{more}'


def _notes(view: SimulationView) -> str:
    """What could not be done, and what was assumed."""
    notes = view.run.notes
    if not notes:
        return ""
    rows = [(duration_text(note.t), note.source, note.message) for note in notes[:_NOTES_MAX]]
    table = html_table(["at", "where", "what"], rows) + and_more(len(notes) - _NOTES_MAX)
    return f"<details><summary>{counted(len(notes), 'note')} on this run</summary>{table}</details>"


@dataclass
class _Harm:
    """What happened to one workload."""

    pods: int = 0
    preempted: int = 0
    seconds_lost: float = 0.0
    budgets_broken: int = 0
    pending: int = 0
    longest_wait: float = 0.0


def _workloads(view: SimulationView) -> str:
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
        return "<p>No pod was preempted, and none is pending.</p>"
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
        more += "<p>Standalone pods have no workload: if evicted, they are not recreated.</p>"
    return html_table(titles, rows, titles[1:]) + more


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


def _evictions(view: SimulationView) -> str:
    summary = view.run.summary
    causes = [(eviction_cause(cause), count) for cause, count in summary.evictions.items() if count]
    preemptors = sorted(summary.evictions_by_preemptor.items(), key=lambda item: (-item[1], item[0]))
    parts = []
    if causes:
        parts.append(f"<div><h3>By cause</h3>{html_table(['cause', 'pods'], causes, ['pods'])}</div>")
    if preemptors:
        top = html_table(["preemptor", "pods evicted"], preemptors[:10], ["pods evicted"])
        parts.append(f"<div><h3>By preemptor</h3>{top}</div>")
    packing = [("mean", f"{summary.fragmentation.mean:.3g}"), ("max", f"{summary.fragmentation.max:.3g}")]
    parts.append(f"<div><h3>Fragmentation</h3>{html_table(['measure', 'value'], packing, ['value'])}</div>")
    return f'<div class="columns">{"".join(parts)}</div>'
