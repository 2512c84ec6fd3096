"""A simulation's result as one HTML file that works offline: the answer first, then plots, chains and records.

Takes the plain data of a result (`SimulationResult.to_dict()`) and writes a page that holds its plots' data and
plotly.js itself; the page's own policy forbids it to load anything. The same result gives the same bytes. Nothing is
computed anew that the summary has already, and nothing is left half written.

Needs plotly (the extra `report`) for its JavaScript only; figures are made as plain data.
"""

from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

from bayplan.report.durations import duration_text
from bayplan.report.html_page import filled, framed, page_file, require_plotly, write_page
from bayplan.report.simulation.chain_drawing import draw_chains
from bayplan.report.simulation.node_figures import NODES_MAX, PODS_MAX, is_aggregated, nodes_over_time, shortened
from bayplan.report.simulation.preemption_list import html_table, preemption_list
from bayplan.report.simulation.time_figures import over_time, waiting, who_evicted
from bayplan.report.simulation.view import NO_CLASS, Plain, SimulationView, class_name, owner_name
from bayplan.report.words import counted

_CHAINS_MAX = 25
_CHAIN_LENGTH_MAX = 8
_WORKLOADS_MAX = 20
_LOOPS_MAX = 20
_NOTES_MAX = 100
_SINGLE = "single pods of"


def write_report(result: Plain, path: Path | str) -> None:
    """One page for one run; PlotlyMissingError without the extra, ValueError for something that is not a result."""
    write_page(report_page(result), path)


def report_page(result: Plain) -> str:
    """The page as text."""
    require_plotly()  # without it all else would be in vain
    view = SimulationView(result)
    figures = {"over-time": over_time(view), "waiting": waiting(view), "nodes": nodes_over_time(view)}
    if view.preemptions:
        figures["who-evicted"] = who_evicted(view)
    body = filled(
        page_file("page.html"),
        {
            "answer": _answer(view),
            "tiles": _tiles(view),
            "classes": _class_table(view),
            "time_text": _time_text(view),
            "nodes_text": _nodes_text(view),
            "who_evicted": '<div class="plot" id="who-evicted"></div>' if view.preemptions else "",
            "chains": _chains(view),
            "loops": _loops(view),
            "notes": _notes(view),
            "workloads": _workloads(view),
            "evictions": _evictions(view),
            "preemptions_title": counted(len(view.preemptions), "preemption"),
            "preemptions": preemption_list(view),
        },
    )
    return framed(f"Simulation of {duration_text(view.seconds)}, seed {result['seed']}", body, figures, "page.js")


# ---------------------------------------------------------------- the answer


def _answer(view: SimulationView) -> str:
    result, summary = view.result, view.result["summary"]
    pods, loops = summary["pods"], result["loops"]
    said = [
        f"In {duration_text(view.seconds)} on {counted(len(view.nodes), 'node')}, "
        f"<b>{counted(pods['placed'], 'pod')}</b> found a place; "
        + (f"{counted(pods['pending'], 'still waits', 'still wait')}." if pods["pending"] else "none waits."),
        f"<b>{_pods_were(pods['preempted'])} evicted</b> by preemption"
        + (f", {_budgets(summary['budgetsBroken'])} broken." if pods["preempted"] else "."),
        f'<b class="alarm">{counted(len(loops), "preempt–recreate loop")} found.</b>'
        if loops
        else "No preempt–recreate loop.",
    ]
    partial = '<p class="partial">Interrupted: this report shows only a part of the run.</p>'
    facts = f"configuration {escape(str(result['configs']))}, seed {escape(str(result['seed']))}"
    return f'{partial if result["partial"] else ""}<p class="answer">{" ".join(said)}</p><p class="facts">{facts}</p>'


def _pods_were(count: int) -> str:
    return counted(count, "pod was", "pods were") if count else "No pod was"


def _budgets(count: int) -> str:
    return counted(count, "budget") if count else "no budget"


def _tiles(view: SimulationView) -> str:
    summary = view.result["summary"]
    pods = summary["pods"]
    depth = max((chain["depth"] for chain in view.result["chains"]), default=0)
    tiles = [
        ("placed", f"{pods['placed']:,}", f"of {counted(pods['created'], 'pod')}", False),
        ("still waiting", f"{pods['pending']:,}", "at the end", pods["pending"] > 0),
        ("preempted", f"{pods['preempted']:,}", f"in {counted(len(view.preemptions), 'preemption')}", False),
        ("budgets broken", f"{summary['budgetsBroken']:,}", "by preemption", summary["budgetsBroken"] > 0),
        ("loops", f"{len(view.result['loops']):,}", "preempt–recreate", bool(view.result["loops"])),
        ("deepest chain", f"{depth:,}", f"of {counted(len(view.result['chains']), 'chain')}", False),
    ]
    tiles += [
        (f"{resource.rpartition('/')[2]} used", f"{100 * share:.0f} %", "mean over the run", False)
        for resource, share in summary["utilisation"].items()
        if any(view.result["series"]["used"].get(resource, ()))  # nodes may offer what no pod asks for
    ]
    return "".join(
        f'<div class="tile{" alarm" if alarm else ""}"><span>{escape(name)}</span><b>{value}</b>'
        f"<span>{escape(note)}</span></div>"
        for name, value, note, alarm in tiles
    )


def _class_table(view: SimulationView) -> str:
    pending: defaultdict[str, int] = defaultdict(int)
    evicted: defaultdict[str, int] = defaultdict(int)
    for pod in view.pods:
        pending[class_name(pod)] += pod["end"] == "pending"
        evicted[class_name(pod)] += pod["end"] == "preempted"
    waits = {name or NO_CLASS: wait for name, wait in view.result["summary"]["waiting"].items()}
    rows = []
    for name, priority in view.classes.items():
        wait = waits.get(name, {"count": 0})
        waited = [duration_text(wait[key]) if wait["count"] else "–" for key in ("p50", "p90", "p99", "max")]
        if wait["count"] or pending[name] or evicted[name]:
            rows.append((name, priority, wait["count"], *waited, evicted[name], pending[name]))
    titles = ["class", "priority", "placed", "median wait", "p90", "p99", "longest", "preempted", "still waiting"]
    return html_table(titles, rows, titles[1:])


def _time_text(view: SimulationView) -> str:
    if not view.shown_from:
        return ""
    before = sum(pod["created"] < view.shown_from for pod in view.pods)
    return (
        f"<p>In the first {duration_text(view.shown_from)} only {before:,} of {counted(len(view.pods), 'pod')} came: "
        "the time axes begin there. Double-click a plot to see the whole run.</p>"
    )


def _nodes_text(view: SimulationView) -> str:
    if not is_aggregated(view):
        return (
            "Each bar is a pod on its node, in the colour of its priority class; grey is free room. A cross marks a "
            "pod that was preempted: click it for the record. Drag to zoom, double-click to see all."
        )
    return (
        f"Each row is a node; dark is full, grey is no node. "
        f"(Above {NODES_MAX} nodes or {PODS_MAX:,} pods single pods are not drawn.) "
        "Use the buttons to see another resource or the evictions. Drag to zoom, double-click to see all."
    )


# ---------------------------------------------------------------- chains, loops, workloads


def _chains(view: SimulationView) -> str:
    chains = sorted(view.result["chains"], key=lambda one: (-one["depth"], -one["downtime"], one["pods"]))
    if not chains:
        return "<p>No victim had to push out somebody else.</p>"
    shown = [chain["pods"][:_CHAIN_LENGTH_MAX] for chain in chains[:_CHAINS_MAX]]
    keys = {key for pods in shown for key in pods}
    colours = {key: view.colours.get(view.class_by_key.get(key, ""), "#666666") for key in keys}
    text = f"The deepest {len(shown):,} of {counted(len(chains), 'chain')}" if len(chains) > len(shown) else "All"
    longest = max(chain["downtime"] for chain in chains)
    return (
        f"<p>{text}: an arrow leads from a pod to the one it pushed out; colours are priority classes. "
        f"The longest downtime in one chain is {duration_text(longest)}.</p>{_legend(view)}"
        f'<div class="scroll">{draw_chains(shown, colours, {key: shortened(key, 27) for key in keys})}</div>'
    )


def _legend(view: SimulationView) -> str:
    return '<p class="legend">' + " ".join(
        f'<span><i style="background:{colour}"></i>{escape(name)}</span>' for name, colour in view.colours.items()
    ) + "</p>"  # fmt: skip


def _loops(view: SimulationView) -> str:
    loops = sorted(view.result["loops"], key=lambda one: (-one["times"], one["pods"]))
    said = []
    for loop in loops[:_LOOPS_MAX]:
        steps = " → ".join(
            f"<b>{escape(pod)}</b> ({priority:,})"
            for pod, priority in zip(loop["pods"], loop["priorities"], strict=True)
        )
        said.append(f'<li><span class="flag">{counted(loop["times"], "time")}</span> {steps} → and again</li>')
    if not said:
        return ""
    rest = len(loops) - _LOOPS_MAX
    more = f"<p>and {rest:,} more.</p>" if rest > 0 else ""
    return f'<h3 class="alarm">Preempt–recreate loops</h3><ul class="loops">{"".join(said)}</ul>{more}'


def _notes(view: SimulationView) -> str:
    """What could not be done, and what was assumed."""
    notes = view.result.get("notes", [])
    if not notes:
        return ""
    rows = [(duration_text(one["t"]), one["source"], one["message"]) for one in notes[:_NOTES_MAX]]
    rest = len(notes) - _NOTES_MAX
    more = f"<p>and {rest:,} more.</p>" if rest > 0 else ""
    table = html_table(["at", "where", "what"], rows)
    return f"<details><summary>{counted(len(notes), 'note')} on this run</summary>{table}{more}</details>"


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
    for pod in view.pods:
        _add_pod(harms[names[pod["key"]]], pod, view)
    for preemption in view.preemptions:
        for victim in preemption["victims"]:
            harms[names.get(victim["pod"], victim["pod"])].budgets_broken += bool(victim["breaks"])
    hit = [(name, harm) for name, harm in harms.items() if harm.preempted or harm.pending]
    hit.sort(key=lambda item: (-item[1].preempted, -item[1].seconds_lost, -item[1].pending, item[0]))
    if not hit:
        return "<p>No pod was preempted and none waits.</p>"
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
    titles = ["workload", "pods", "preempted", "work lost", "against a budget", "still waiting", "longest wait"]
    rest = len(hit) - _WORKLOADS_MAX
    more = f"<p>and {counted(rest, 'workload')} more.</p>" if rest > 0 else ""
    if any(name.startswith(_SINGLE) for name, _ in hit):
        more += "<p>Single pods belong to no workload: one that is evicted does not come back.</p>"
    return html_table(titles, rows, titles[1:]) + more


def _workload_names(view: SimulationView) -> dict[str, str]:
    """Pod -> what it belongs to. Many single pods, as those of a trace, are told by their class."""
    single = [pod for pod in view.pods if not pod["owner"]]
    names = {pod["key"]: owner_name(pod) for pod in view.pods}
    if sum(pod["end"] in ("preempted", "pending") for pod in single) > _WORKLOADS_MAX:
        names |= {pod["key"]: f"{_SINGLE} {class_name(pod)}" for pod in single}
    return names


def _add_pod(harm: _Harm, pod: Plain, view: SimulationView) -> None:
    harm.pods += 1
    harm.pending += pod["end"] == "pending"
    if pod["end"] == "preempted":
        harm.preempted += 1
        if pod["started"] is not None:
            harm.seconds_lost += view.end_of(pod) - pod["started"]
    # A pod that never got a node waited as long as it lived.
    until = view.end_of(pod) if pod["bound"] is None else pod["bound"]
    harm.longest_wait = max(harm.longest_wait, until - pod["created"])


def _evictions(view: SimulationView) -> str:
    summary = view.result["summary"]
    causes = [(cause, count) for cause, count in summary["evictions"].items() if count]
    preemptors = sorted(summary["evictionsByPreemptor"].items(), key=lambda item: (-item[1], item[0]))
    parts = []
    if causes:
        parts.append(f"<div><h3>By cause</h3>{html_table(['cause', 'pods'], causes, ['pods'])}</div>")
    if preemptors:
        top = html_table(["preemptor", "pods evicted"], preemptors[:10], ["pods evicted"])
        parts.append(f"<div><h3>By preemptor</h3>{top}</div>")
    packing = [(name, _figure_text(value)) for name, value in summary["fragmentation"].items()]
    if packing:
        parts.append(f"<div><h3>Fragmentation</h3>{html_table(['measure', 'value'], packing, ['value'])}</div>")
    return f'<div class="columns">{"".join(parts)}</div>' if parts else "<p>Nobody was evicted.</p>"


def _figure_text(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.3g}"
    return str(value) if isinstance(value, int | str) else json.dumps(value)
