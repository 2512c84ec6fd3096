"""The answer of `whatif` as parts: what a change does to pods, budgets and nodes, and which gates it fails."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from bayplan.analysis.answers.course import Departure, DepartureCause
from bayplan.analysis.answers.node_usage import NodeChange, NodeUsage
from bayplan.analysis.answers.whatif import PodCourse, WhatIf
from bayplan.core.columns.resources import CPU_NAME, MEMORY_NAME
from bayplan.core.diagnosis import without_preemption
from bayplan.report.answers.drain import drain_sentence, draining_parts
from bayplan.report.answers.parts import REASONS_MAX, Cell, Details, Heading, Part, Sentence, Tone
from bayplan.report.answers.tables import short_table
from bayplan.report.words import counted, examples, listed

_NAMED = 3
_WHY = {
    DepartureCause.PREEMPTED: "preempted",
    DepartureCause.DRAINED: "node drained",
    DepartureCause.TAINTED: "NoExecute taint",
    DepartureCause.NODE_DELETED: "node deleted",
    DepartureCause.DELETED: "deleted",
    DepartureCause.SCALED_DOWN: "scaled down",
    DepartureCause.UPDATED: "replaced by the rollout",
}


def whatif_parts(answer: WhatIf, failed: Mapping[str, Sequence[str]]) -> Iterator[Part]:
    """`failed` are the gates that the change does not pass, with what is to blame."""
    yield _summary(answer)
    reasons = [*_failures(failed), *_budgets(answer), *_updates(answer), *_pods_in_short(answer)]
    if answer.draining is not None and not answer.draining.blocking_budgets:
        reasons.append(drain_sentence(answer.draining))
    yield from reasons[:REASONS_MAX]
    yield Details([*reasons[REASONS_MAX:], *_tables(answer)])


def _pods_in_short(answer: WhatIf) -> Iterator[Part]:
    """The first of those that are worse off, and the first of those that gain."""
    if answer.pending:
        pods = [fate.pod for fate in answer.pending]
        yield Sentence(f"No node for {listed(pods, _NAMED)}: {without_preemption(answer.pending[0].message)}.")
    if answer.evicted:
        yield Sentence(f"Evicted: {listed(list(dict.fromkeys(each.pod for each in answer.evicted)), _NAMED)}.")
    if answer.placed:
        places = [f"{fate.pod} on {fate.node_after}" for fate in answer.placed]
        yield Sentence(f"Placed: {listed(places, _NAMED)}.")


def _tables(answer: WhatIf) -> Iterator[Part]:
    fates = {
        fate.pod: fate for fate in (*answer.placed, *answer.pending, *answer.moved, *answer.lost, *answer.indirect)
    }
    yield from _evicted(answer, fates)
    yield from _pending(answer.pending)
    yield from _placed(answer.placed)
    yield from _moved(answer)
    yield from _removed(answer.removed)
    yield from _indirect(answer)
    if answer.draining is not None:
        yield Heading("Draining")
        yield from draining_parts(answer.draining)
    yield from _nodes(answer.nodes)


def _summary(answer: WhatIf) -> Sentence:
    done = []
    spared = sum(fate.is_spared for fate in answer.indirect)
    placed = len(answer.placed)
    if placed:
        done.append(f"{counted(placed, 'pod')} {_get(placed)} a node")
    if spared:
        done.append(f"{counted(spared, 'pod')} {_is(spared)} no longer evicted")
    if answer.evicted:
        distinct = len({each.pod for each in answer.evicted})
        done.append(f"{counted(distinct, 'running pod')} {_is(distinct)} evicted")
    if answer.pending:
        done.append(f"{counted(len(answer.pending), 'pod')} {_is(len(answer.pending))} left without a node")
    drained, removed = (
        len({each.pod for each in answer.removed if (each.cause is DepartureCause.DRAINED) is wanted})
        for wanted in (True, False)
    )
    if drained:
        done.append(f"{counted(drained, 'pod')} {_is(drained)} drained")
    if removed:
        done.append(f"{counted(removed, 'pod')} {_is(removed)} removed as requested")
    if answer.draining is not None and answer.draining.blocking_budgets:
        budgets = answer.draining.blocking_budgets
        budget = "disruption budget" if len(budgets) == 1 else "disruption budgets"
        done.append(f"a drain is blocked by {budget} {listed(budgets, _NAMED)}")
    if not done:
        if answer.moved:
            return Sentence("With this change, some pods land on different nodes.", Tone.GOOD)
        if answer.indirect:
            return Sentence("With this change, today's pending pods get other nodes; nothing else changes.", Tone.GOOD)
        return Sentence("This change does not affect any pods.", Tone.GOOD)
    bad = answer.pending or answer.broken_budgets or (answer.draining is not None and not answer.draining.works)
    tone = Tone.BAD if bad else Tone.WARN if answer.evicted else Tone.GOOD
    return Sentence(f"With this change, {listed(done)}.", tone)


def _get(number: int) -> str:
    return "gets" if number == 1 else "get"


def _is(number: int) -> str:
    return "is" if number == 1 else "are"


def _failures(failed: Mapping[str, Sequence[str]]) -> Iterator[Part]:
    for gate, names in failed.items():
        yield Sentence(f"Fails --fail-on {gate}: {listed(list(dict.fromkeys(names)), _NAMED)}.", Tone.BAD)


def _budgets(answer: WhatIf) -> Iterator[Part]:
    for budget, pods in answer.broken_budgets.items():
        evictions = counted(len(pods), "eviction")
        yield Sentence(f"Disruption budget {budget} is violated by {evictions}: {listed(pods, _NAMED)}.", Tone.BAD)


def _updates(answer: WhatIf) -> Iterator[Part]:
    for update in answer.updates:
        if update.left:
            total = update.replaced + update.left
            left = f"{update.left:,} of {total:,} old pods cannot be replaced, because a new pod gets no node"
            text = f"The rollout of {update.workload} gets stuck: {left}."
            yield Sentence(text, Tone.BAD)
        else:
            pods = "its pod" if update.replaced == 1 else f"all {update.replaced:,} pods"
            yield Sentence(f"The rollout of {update.workload} replaces {pods}.")


def _evicted(answer: WhatIf, fates: Mapping[str, PodCourse]) -> Iterator[Part]:
    if not answer.evicted:
        return
    yield Heading("Evicted, in order")
    rows = [
        (
            str(number),
            each.pod,
            _priority(each),
            each.node,
            each.by if each.cause is DepartureCause.PREEMPTED else _WHY[each.cause],
            Cell(", ".join(each.breaks), Tone.BAD),
            _then(each, fates.get(each.pod)),
        )
        for number, each in enumerate(answer.evicted, 1)
    ]
    columns = ("#", "pod", "priority", "from", "by", "violates budget", "then")
    yield from short_table(columns, rows, numeric={"#"}, flexible={"then"})


def _priority(each: Departure) -> str:
    return f"{each.priority_class} ({each.priority})" if each.priority_class else str(each.priority)


def _then(each: Departure, fate: PodCourse | None) -> Cell:
    if not each.comes_back:
        return Cell("lost", Tone.BAD)
    if fate is None:
        return Cell(f"runs on {each.node} again", Tone.GOOD)
    if fate.node_after:
        evicting = f", evicting {counted(len(fate.victims), 'pod')}" if fate.victims else ""
        return Cell(f"runs on {fate.node_after}{evicting}", Tone.GOOD)
    if fate.removal is not None:
        return Cell(_WHY[fate.removal])
    return Cell("pending", Tone.BAD) if fate.message else Cell("gone", Tone.BAD)


def _pending(pending: Sequence[PodCourse]) -> Iterator[Part]:
    if pending:
        yield Heading("Pending because of the change")
        rows = [(fate.pod, _before(fate), without_preemption(fate.message)) for fate in pending]
        yield from short_table(("pod", "before", "why"), rows, flexible={"why"})


def _before(fate: PodCourse) -> str:
    if fate.node_before:
        return f"on {fate.node_before}"
    return "pending" if fate.pending_before else "new"


def _placed(placed: Sequence[PodCourse]) -> Iterator[Part]:
    if placed:
        yield Heading("Pods that get a node")
        rows = [(fate.pod, _before(fate), fate.node_after, _evicts(fate)) for fate in placed]
        yield from short_table(("pod", "before", "node", "evicts"), rows, flexible={"evicts"})


def _evicts(fate: PodCourse) -> str:
    new = [victim for victim in fate.victims if victim not in fate.evicted_anyway]
    text = examples(new, _NAMED)
    if fate.evicted_anyway:
        anyway = f"{examples(fate.evicted_anyway, _NAMED)} (evicted anyway)"
        return f"{text}, {anyway}" if text else anyway
    return text


def _indirect(answer: WhatIf) -> Iterator[Part]:
    """What becomes of today's pending pods, and of those that they evict."""
    named = {each.pod for each in (*answer.evicted, *answer.removed)}
    rows = [
        (fate.pod, _before(fate), _without(fate), fate.node_after) for fate in answer.indirect if fate.pod not in named
    ]
    if rows:
        yield Heading("Only because today's pending pods are placed")
        yield from short_table(("pod", "now", "without the change", "with it"), rows)


def _without(fate: PodCourse) -> str:
    return fate.node_without or ("pending" if fate.pending_without else "evicted")


def _moved(answer: WhatIf) -> Iterator[Part]:
    """Those who are on another node and are in no other table."""
    named = {each.pod for each in (*answer.evicted, *answer.removed)}
    rows = [(fate.pod, fate.node_before, fate.node_after) for fate in answer.moved if fate.pod not in named]
    if rows:
        yield Heading("Pods on a different node")
        yield from short_table(("pod", "before", "after"), rows)


def _removed(removed: Sequence[Departure]) -> Iterator[Part]:
    rows = [
        (each.pod, each.node or "pending", f"{_WHY[each.cause]}: {each.by}")
        for each in removed
        if each.cause is not DepartureCause.DRAINED  # said where it is about draining
    ]
    if rows:
        yield Heading("Removed as requested")
        yield from short_table(("pod", "from", "why"), rows, flexible={"why"})


def _nodes(nodes: Sequence[NodeChange]) -> Iterator[Part]:
    if not nodes:
        return
    yield Heading("Node usage")
    rows = [
        (change.node, _pods(change), _share(change, CPU_NAME), _share(change, MEMORY_NAME))
        for change in sorted(nodes, key=_by_size)
    ]
    yield from short_table(("node", "pods", "cpu", "memory"), rows, numeric={"pods", "cpu", "memory"})


def _by_size(change: NodeChange) -> tuple[float, str]:
    """The largest differences first."""
    before, after = (usage.share(CPU_NAME) if usage is not None else 0.0 for usage in (change.before, change.after))
    return -abs(after - before), change.node


def _pods(change: NodeChange) -> str:
    return _arrow(*(str(usage.pods) if usage is not None else "-" for usage in (change.before, change.after)))


def _share(change: NodeChange, resource: str) -> str:
    return _arrow(*(_percent(usage, resource) for usage in (change.before, change.after)))


def _percent(usage: NodeUsage | None, resource: str) -> str:
    return f"{usage.share(resource):.0%}" if usage is not None else "-"


def _arrow(before: str, after: str) -> str:
    return before if before == after else f"{before} → {after}"
