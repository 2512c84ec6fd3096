"""The answer of `plan` as parts: which nodes to buy, for how much, how much less it could be, and what fits on none."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from bayplan.analysis.answers.planning.plan import NodePlan
from bayplan.report.answers.amounts import percent
from bayplan.report.answers.parts import Details, Heading, Part, Sentence, Tone
from bayplan.report.answers.tables import short_table
from bayplan.report.words import counted, listed

_NAMED = 3
_REASONS = 3


def plan_parts(answer: NodePlan) -> Iterator[Part]:
    """The short answer, then where each pod goes."""
    yield _summary(answer)
    for reason, number in Counter(answer.impossible.values()).most_common(_REASONS):
        pods = [pod for pod, message in answer.impossible.items() if message == reason]
        tried = "the existing nodes and one of each type"
        said = f"No node type for {counted(number, 'pod')} ({listed(pods, _NAMED)}); of {tried}: {reason}."
        yield Sentence(said, Tone.BAD)
    if answer.bought is None:
        if answer.bound is None:
            yield Sentence("Each of them fits on a node type, but the catalog does not have enough nodes (max).")
        for failure in answer.failures[:_REASONS]:
            yield Sentence(f"Tried and dropped: {failure}.", Tone.FAINT)
        return
    if answer.placed_before and answer.bought:
        fit = "fits" if answer.placed_before == 1 else "fit"
        yield Sentence(f"{answer.placed_before:,} of them {fit} on existing nodes.", Tone.FAINT)
    if answer.bought:
        yield Heading("Nodes to add")
        columns = ("type", "zone", "nodes", "price each", "price")
        rows = [
            (each.name, each.zone, str(each.number), _money(each.price), _money(each.number * each.price))
            for each in answer.bought
        ]
        yield from short_table(columns, rows, numeric=columns[2:])
    if not answer.placements:
        return
    everyone = "All other pods were" if answer.impossible else "Every pod was"
    yield Sentence(f"{everyone} placed by the scheduler's own code.", Tone.FAINT)
    yield Details([Heading("Where each pod goes"), *short_table(("pod", "node"), sorted(answer.placements.items()))])


def _summary(answer: NodePlan) -> Sentence:
    pods, failing = counted(answer.pods, "pod"), _failing(answer)
    if answer.bought is None and answer.bound is None:
        return Sentence(f"No: no nodes of the catalog hold {pods}{failing}.", Tone.BAD)
    if answer.bought is None:
        least = f"they would cost at least {_money(answer.bound or 0)}"
        return Sentence(f"No: no nodes were found that hold {pods}{failing}; {least}.", Tone.BAD)
    number = sum(each.number for each in answer.bought)
    if answer.impossible and len(answer.impossible) == answer.pods:
        none = "the pod fits on no" if answer.pods == 1 else f"none of the {pods} fits on any"
        return Sentence(f"No: {none} node type.", Tone.BAD)
    if answer.impossible:
        rest = counted(answer.pods - len(answer.impossible), "pod")
        nodes = f"the other {rest} need {counted(number, 'node')} for {_money(answer.price)}"
        return Sentence(f"No: {len(answer.impossible)} of {pods} fit on no node type; {nodes}{failing}.", Tone.BAD)
    if not answer.pods:
        return Sentence("Yes: no pod is pending, so no nodes are needed.", Tone.GOOD)
    if not number:
        return Sentence(f"Yes: {pods} {_fit(answer.pods)} on the existing nodes{failing}.", Tone.GOOD)
    nodes = f"{counted(number, 'more node')} for {_money(answer.price)}"
    return Sentence(f"Yes: {pods} {_fit(answer.pods)} with {nodes}{failing}; {_proof(answer)}.", Tone.GOOD)


def _fit(pods: int) -> str:
    return "fits" if pods == 1 else "fit"


def _proof(answer: NodePlan) -> str:
    if answer.is_proven:
        return "nothing cheaper is enough"
    return f"at least {_money(answer.bound or 0)} is needed, so it may be up to {percent(answer.gap)} too much"


def _failing(answer: NodePlan) -> str:
    return f", also without any one {answer.survive}" if answer.survive else ""


def _money(amount: float) -> str:
    if 0 < amount < 1:
        whole, _, decimals = f"{amount:.6f}".rstrip("0").partition(".")
        return f"{whole}.{decimals.ljust(2, '0')}"
    return f"{amount:,.2f}".removesuffix(".00")
