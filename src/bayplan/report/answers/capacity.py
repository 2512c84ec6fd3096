"""How many more pods fit, as parts of an answer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from bayplan.analysis.answers.capacity import Capacity, KindCapacity
from bayplan.analysis.answers.headroom import Headroom
from bayplan.analysis.answers.nodes_needed import NodesNeeded
from bayplan.analysis.answers.pools import Pool
from bayplan.analysis.written import written_amount
from bayplan.core.columns.resources import CPU_NAME, MEMORY_NAME
from bayplan.report.answers.amounts import human_amount, human_capacity, percent
from bayplan.report.answers.parts import (
    REASONS_MAX,
    Bar,
    Bars,
    Cell,
    Details,
    Heading,
    Next,
    Part,
    Sentence,
    Table,
    Tone,
)
from bayplan.report.words import counted, listed

_NODES_SHOWN = 15
_OWNERS_SHOWN = 10
_OBSTACLES_SHOWN = 6
#: How many more replicas the next command asks about.
_MORE = 10
_RESOURCES_SHOWN = 2
#: Shares of what is offered that are requested, from which on a bar is colored.
_FILLING_UP, _NEARLY_FULL = 0.8, 0.95


def capacity_parts(answer: Capacity) -> Iterator[Part]:
    """The answer by pool first, then everything."""
    yield _answer(answer)
    yield _pool_table(answer, answer.pools[:REASONS_MAX])
    if len(answer.pools) > REASONS_MAX:
        rest = answer.pools[REASONS_MAX:]
        nodes = counted(sum(pool.nodes for pool in rest), "node")
        fitting = sum(pool.fits for pool in rest)
        yield Sentence(f"and {counted(len(rest), 'more pool')} with {nodes}; {fitting:,} fit there.", Tone.FAINT)
    yield from _shortages(answer)
    yield from _evicting(answer)
    yield from _what_next(answer)
    details = [
        _what_stops(answer),
        *([_pool_table(answer, answer.pools)] if len(answer.pools) > REASONS_MAX else ()),
        *_owners(answer),
        *_nodes_needed(answer),
        *_where(answer),
        *_headroom(answer),
    ]
    yield Details(details)


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


def _why_none(answer: Capacity) -> str:
    """What counts are the nodes on which the pod might run."""
    open_pools = [pool for pool in answer.pools if pool.is_open]
    if not open_pools:
        return ": no node is open to them" if answer.pools else ""
    nodes = counted(sum(pool.nodes for pool in open_pools), "node")
    if not answer.stop.shortages:
        return f" on the {nodes} open to them"
    short = answer.stop.shortages[0]
    resource = short.resource
    if short.asked > short.most_offered:
        return f": no node that they may run on has that much {resource}"
    amounts = [pool.resources[resource] for pool in open_pools if resource in pool.resources]
    allocatable = sum(each.allocatable for each in amounts)
    share = sum(each.requested for each in amounts) / allocatable if allocatable else 1.0
    return f" on the {nodes} open to them, where {percent(share)} of {resource} is requested"


def _pool_table(answer: Capacity, pools: Sequence[Pool]) -> Table:
    asked = [name for pod in answer.pods for name in pod.requests]
    scarce = [short.resource for short in answer.stop.shortages]
    resources = list(dict.fromkeys((*scarce, *asked, CPU_NAME, MEMORY_NAME)))[:_RESOURCES_SHOWN]
    rows: list[tuple[str | Cell, ...]] = [
        (
            pool.name,
            f"{pool.nodes:,}",
            Cell(f"{pool.fits:,}", Tone.GOOD if pool.fits else Tone.BAD),
            *(_free(pool, resource) for resource in resources),
            Cell(_stopped_by(pool), Tone.PLAIN if pool.is_open else Tone.FAINT),
        )
        for pool in pools
    ]
    free = [f"Free {resource}" for resource in resources]
    columns = ("Pool", "Nodes", "Fit", *free, "Stops the next")
    return Table(columns, rows, numeric=frozenset(columns[1:-1]), flexible=frozenset({"Pool", columns[-1]}))


def _stopped_by(pool: Pool) -> str:
    """The scheduler's reason without what stands in the table: that it is said of nodes."""
    return pool.obstacle.replace("node(s) had ", "").replace("(s)", "").replace(", Insufficient ", ", ")


def _free(pool: Pool, resource: str) -> str:
    amounts = pool.resources.get(resource)
    if amounts is None or not amounts.allocatable:
        return "none"
    return human_amount(resource, amounts.free)


def _what_next(answer: Capacity) -> Iterator[Part]:
    """How many nodes it would take."""
    (first, *others) = answer.pods
    if answer.replicas is None and not others and "=" in first.name and "/" not in first.name:
        yield Next(f"bayplan capacity --pod {first.name} --replicas {answer.rounds + _MORE}")


def _fitting(answer: Capacity) -> str:
    if len(answer.pods) == 1:
        (pod,) = answer.pods
        if not pod.fits:
            return f"No more pods like {pod.name} fit{_why_none(answer)}"
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


def _what_stops(answer: Capacity) -> Sentence:
    stop = answer.stop
    if not stop.obstacles:
        return Sentence(f"The next one fits nowhere: {stop.message}")
    reasons = [f"{each.reason} ({counted(each.nodes, 'node')})" for each in stop.obstacles[:_OBSTACLES_SHOWN]]
    like = f" like {stop.pattern}" if len(answer.pods) > 1 else ""
    return Sentence(f"The next one{like} fits on 0 of {counted(answer.nodes, 'node')}: {listed(reasons)}.")


def _shortages(answer: Capacity) -> Iterator[Part]:
    for short in answer.stop.shortages:
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


def _owners(answer: Capacity) -> Iterator[Part]:
    """Of the pods that would be evicted."""
    if answer.evicting is None or not answer.evicting.victims:
        return
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
        offered = human_capacity(each.allocatable)
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


def _on_node(fits: tuple[int, ...], pods: tuple[KindCapacity, ...]) -> str:
    if len(pods) == 1:
        return f"{fits[0]:,}"
    return ", ".join(f"{number:,} {pod.name}" for number, pod in zip(fits, pods, strict=True) if number)


def _headroom(answer: Capacity) -> Iterator[Part]:
    yield Heading("Free now, and left over when no more fit")
    rows = [_headroom_row(each) for each in answer.headroom]
    columns = ("Resource", "Zone", "Nodes", "Total", "Free", "Largest piece", "Left\nover")
    numeric = frozenset(columns) - {"Resource", "Zone", "Largest piece"}
    yield Table(columns, rows, numeric=numeric)
    yield Heading("Requested now")
    yield Bars([_used(each) for each in answer.headroom if not each.zone], full=1.0)


def _used(each: Headroom) -> Bar:
    share = each.requested / each.allocatable if each.allocatable else 0.0
    tone = Tone.BAD if share > _NEARLY_FULL else Tone.WARN if share > _FILLING_UP else Tone.PLAIN
    return Bar(each.resource, share, _percent(each.requested, each.allocatable), tone)


def _headroom_row(each: Headroom) -> tuple[str, ...]:
    largest, share = human_amount(each.resource, each.largest_free), _percent(each.largest_free, each.free)
    return (
        each.resource if not each.zone else "",
        each.zone or "all",
        f"{each.nodes:,}",
        human_amount(each.resource, each.allocatable),
        human_amount(each.resource, each.free),
        f"{largest} ({share}) on {each.largest_on}" if each.largest_on else largest,
        human_amount(each.resource, each.left),
    )


def _percent(part: int, whole: int) -> str:
    return f"{100 * part / whole:.3g}%" if whole else "-"
