"""How many more pods fit, as parts of an answer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from bayplan.analysis.answers.capacity import Capacity, Counted
from bayplan.analysis.answers.headroom import Headroom
from bayplan.analysis.answers.nodes_needed import NodesNeeded
from bayplan.analysis.written import written_amount
from bayplan.core.columns.resources import CPU_NAME
from bayplan.report.answers.parts import Bar, Bars, Cell, Heading, Part, Sentence, Table, Tone
from bayplan.report.words import counted, listed

_NODES_SHOWN = 15
_OWNERS_SHOWN = 10
_OBSTACLES_SHOWN = 6
#: Shares of what is offered that are requested, from which on a bar is colored.
_FILLING_UP, _NEARLY_FULL = 0.8, 0.95


def capacity_parts(answer: Capacity) -> Iterator[Part]:
    """The answer first."""
    yield _answer(answer)
    yield from _what_runs_out(answer)
    yield from _evicting(answer)
    yield from _nodes_needed(answer)
    yield from _where(answer)
    yield from _headroom(answer)


def _answer(answer: Capacity) -> Sentence:
    fits = _fitting(answer)
    if answer.replicas is None:
        return Sentence(f"{fits}.", Tone.GOOD if answer.is_enough else Tone.BAD)
    wanted = _rounds(answer, answer.replicas)
    if answer.is_enough:
        verb = "fits" if answer.replicas == 1 else "fit"
        return Sentence(f"Yes, {wanted} {verb}: there is room for {answer.rounds:,}.", Tone.GOOD)
    verb = "does" if answer.replicas == 1 else "do"
    room = f"only {answer.rounds:,}" if answer.rounds else "none"
    return Sentence(
        f"No, {wanted} {verb} not fit; there is room for {room}. {_cheapest(answer.needed)}".rstrip(), Tone.BAD
    )


def _fitting(answer: Capacity) -> str:
    if len(answer.pods) == 1:
        (pod,) = answer.pods
        if not pod.fits:
            return f"No more pods like {pod.name} fit"
        return f"{counted(pod.fits, 'more pod')} like {pod.name} {'fits' if pod.fits == 1 else 'fit'}"
    each = listed([f"{pod.fits:,} like {pod.name}" for pod in answer.pods])
    return f"{_rounds(answer, answer.rounds)} {'fits' if answer.rounds == 1 else 'fit'}; in total, {each}"


def _rounds(answer: Capacity, number: int) -> str:
    """`3 replicas`, or how many sets of several kinds of pods."""
    if len(answer.pods) == 1 and answer.pods[0].share == 1:
        return counted(number, "replica")
    one = " + ".join(f"{pod.share} × {pod.name}" for pod in answer.pods)
    return f"{counted(number, 'set')} of {one}"


def _cheapest(needed: tuple[NodesNeeded, ...]) -> str:
    enough = [each for each in needed if each.nodes is not None]
    if not enough:
        return "Adding nodes does not help." if needed else ""
    best = min(enough, key=lambda each: each.nodes or 0)
    return f"{counted(best.nodes or 0, 'more node')} ({best.kind}) would be enough."


def _what_runs_out(answer: Capacity) -> Iterator[Part]:
    stop = answer.stop
    if not stop.obstacles:
        yield Sentence(f"The next one fits nowhere: {stop.message}")
        return
    reasons = [f"{each.reason} ({counted(each.nodes, 'node')})" for each in stop.obstacles[:_OBSTACLES_SHOWN]]
    like = f" like {stop.pattern}" if len(answer.pods) > 1 else ""
    yield Sentence(f"The next one{like} fits on 0 of {counted(answer.nodes, 'node')}: {listed(reasons)}.")
    for short in stop.shortages:
        asked, free = written_amount(short.resource, short.asked), written_amount(short.resource, short.most_free)
        left = (
            f"{short.most_free_on} has the most left, {free}" if short.most_free else "none of these nodes has any left"
        )
        yield Sentence(f"{short.resource} runs out: a pod requests {asked}, and {left}.", Tone.WARN)


def _evicting(answer: Capacity) -> Iterator[Part]:
    if answer.evicting is None:
        return
    if not answer.evicting.victims:
        yield Sentence("Evicting lower-priority pods would not make room for more.")
        return
    more = answer.evicting.rounds
    gone = counted(len(answer.evicting.victims), "pod")
    yield Sentence(
        f"With preemption of lower-priority pods, {_rounds(answer, more)} fit; this evicts {gone}.", Tone.WARN
    )
    owners = list(answer.evicting.victims_by_owner.items())
    rows = [(owner, f"{number:,}") for owner, number in owners[:_OWNERS_SHOWN]]
    if len(owners) > _OWNERS_SHOWN:
        others = sum(number for _, number in owners[_OWNERS_SHOWN:])
        rows.append((f"{len(owners) - _OWNERS_SHOWN:,} others", f"{others:,}"))
    yield Heading("Evicted, by owner")
    yield Table(("Owner", "Pods"), rows, numeric=frozenset({"Pods"}))


def _nodes_needed(answer: Capacity) -> Iterator[Part]:
    if not answer.needed:
        return
    yield Heading(f"Nodes needed for {_rounds(answer, answer.replicas or 0)}")
    rows = []
    for each in answer.needed:
        offered = ", ".join(f"{name} {amount}" for name, amount in each.allocatable.items() if name != "pods")
        nodes = Cell(f"+{each.nodes:,}", Tone.GOOD) if each.nodes is not None else Cell("do not help", Tone.BAD)
        rows.append((each.kind, offered, f"{each.existing:,}", nodes, f"{each.fits:,}"))
    numeric = frozenset({"Existing", "More nodes", "Then fit"})
    columns = ("Kind of node", "Allocatable", "Existing", "More nodes", "Then fit")
    yield Table(columns, rows, numeric=numeric, flexible=frozenset({"Allocatable"}))


def _where(answer: Capacity) -> Iterator[Part]:
    if not answer.by_node:
        return
    yield Heading("Where they fit")
    if len(answer.by_node) > _NODES_SHOWN:
        zones: Counter[str] = Counter()
        for each in answer.by_node:
            zones[each.zone] += sum(each.fits)
        if len(zones) > 1:
            bars = [Bar(f"zone {zone}", number, f"{number:,}") for zone, number in sorted(zones.items())]
            yield Bars(bars)
    most = sorted(answer.by_node, key=lambda each: (-sum(each.fits), each.node))
    yield Bars([Bar(each.node, sum(each.fits), _on_node(each.fits, answer.pods)) for each in most[:_NODES_SHOWN]])
    if len(most) > _NODES_SHOWN:
        rest = most[_NODES_SHOWN:]
        pods = counted(sum(sum(each.fits) for each in rest), "pod")
        yield Sentence(f"and {counted(len(rest), 'more node')} with {pods} (-o json lists them all)", Tone.FAINT)


def _on_node(fits: tuple[int, ...], pods: tuple[Counted, ...]) -> str:
    if len(pods) == 1:
        return f"{fits[0]:,}"
    return ", ".join(f"{number:,} {pod.name}" for number, pod in zip(fits, pods, strict=True) if number)


def _headroom(answer: Capacity) -> Iterator[Part]:
    yield Heading("Free now, and left over when no more fit")
    rows = [_headroom_row(each) for each in answer.headroom]
    columns = ("Resource", "Zone", "Nodes", "Total", "Used", "Free", "Largest piece", "Share", "Left\nover")
    numeric = frozenset(columns) - {"Resource", "Zone", "Largest piece"}
    yield Table(columns, rows, numeric=numeric)
    yield Heading("Requested now")
    yield Bars([_used(each) for each in answer.headroom if not each.zone], full=1.0)


def _used(each: Headroom) -> Bar:
    share = each.requested / each.allocatable if each.allocatable else 0.0
    tone = Tone.BAD if share > _NEARLY_FULL else Tone.WARN if share > _FILLING_UP else Tone.PLAIN
    return Bar(each.resource, share, _percent(each.requested, each.allocatable), tone)


def _headroom_row(each: Headroom) -> tuple[str, ...]:
    def amount(number: int) -> str:
        if each.resource != CPU_NAME:
            return written_amount(each.resource, number)
        return f"{number / 1000:,.3f}".rstrip("0").rstrip(".")  # cores

    return (
        each.resource if not each.zone else "",
        each.zone or "all",
        f"{each.nodes:,}",
        amount(each.allocatable),
        amount(each.requested),
        amount(each.free),
        f"{amount(each.largest_free)} on {each.largest_on}" if each.largest_on else amount(each.largest_free),
        _percent(each.largest_free, each.free),
        amount(each.left),
    )


def _percent(part: int, whole: int) -> str:
    return f"{100 * part / whole:.3g}%" if whole else "-"
