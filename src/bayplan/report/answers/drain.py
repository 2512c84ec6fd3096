"""The answer of `drain` as parts: whether nodes get empty, in which order pods go, and what keeps them."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from bayplan.analysis.answers.course import Departure
from bayplan.analysis.answers.drain import Blocked, DrainedNode, Draining, Eviction
from bayplan.core.diagnosis import without_preemption
from bayplan.report.answers.parts import REASONS_MAX, Cell, Details, Heading, Next, Part, Sentence, Snippet, Tone
from bayplan.report.answers.tables import short_table
from bayplan.report.words import counted, examples, listed

_NAMED = 3
#: Names in a sentence of a short answer; they can be long.
_FEW = 2
_COMMANDS_SHOWN = 4
_SAYS = "API server message"


def drain_parts(answer: Draining) -> Iterator[Part]:
    """The short answer, then everything."""
    yield drain_sentence(answer)
    yield from islice(_reasons(answer), REASONS_MAX)
    commands = _commands(answer)
    yield from _what_next(answer, commands)
    details = list(_tables(answer))
    if len(commands) > _COMMANDS_SHOWN:
        details += [Heading("With kubectl"), Snippet("\n".join(commands), "sh")]
    yield Details(details)


def draining_parts(answer: Draining) -> Iterator[Part]:
    """The answer without what to do next, for an answer that also tells about the rest of the cluster."""
    yield drain_sentence(answer)
    yield from _remarks(answer)
    yield from _tables(answer)


def _tables(answer: Draining) -> Iterator[Part]:
    if len(answer.nodes) + len(answer.unreached) > 1:
        yield from _overview(answer)
    yield from _evictions(answer)
    yield from _blocked(answer)
    yield from _preempted(answer)


def _reasons(answer: Draining) -> Iterator[Part]:
    """The worst first; a line each."""
    blocked = [each for node in answer.nodes for each in node.blocked]
    by_budget = _grouped((each.budget, each.pod) for each in blocked)
    for budget, pods in by_budget[:_FEW]:
        yield Sentence(f"Budget {budget} allows no eviction of {_few(pods)}.")
    if len(by_budget) > _FEW:
        yield Sentence(f"Nor do {counted(len(by_budget) - _FEW, 'more budget')} allow any.")
    for _, pods in _grouped((_kind_of_reason(message), pod) for pod, message in answer.pending.items()):
        yield Sentence(f"No node for {_few(pods)}: {without_preemption(answer.pending[pods[0]])}.")
    if answer.preempted:
        yield _preempted_in_short(answer)
    yield from _remarks(answer)


def _few(names: Sequence[str]) -> str:
    """All of a few, or the first and how many more."""
    return listed(names, None if len(names) <= _FEW else 1)


def _kind_of_reason(message: str) -> str:
    """A key that is equal for messages that differ only in the number of nodes."""
    return " ".join(sorted(re.findall(r"[^\d,.:]+", without_preemption(message))))


def _grouped(pairs: Iterable[tuple[str, str]]) -> list[tuple[str, list[str]]]:
    """Pods by what they have in common, the largest group first."""
    found: defaultdict[str, list[str]] = defaultdict(list)
    for common, pod in pairs:
        found[common].append(pod)
    return sorted(found.items(), key=lambda item: -len(item[1]))


def _preempted_in_short(answer: Draining) -> Sentence:
    gone = list(dict.fromkeys(each.pod for each in answer.preempted))
    without = sum(each in answer.pending for each in gone)
    if without == len(gone):
        then = "; no node is left for it" if without == 1 else "; no node is left for any of them"
    else:
        then = f"; no node is left for {without:,} of them" if without else ""
    are = "is" if len(gone) == 1 else "are"
    return Sentence(f"{counted(len(gone), 'lower-priority pod')} elsewhere {are} evicted: {listed(gone, 2)}{then}.")


def _what_next(answer: Draining, commands: list[str]) -> Iterator[Part]:
    names = [node.node for node in answer.nodes]
    if commands:
        shown = commands[:_COMMANDS_SHOWN]
        if len(commands) > len(shown):
            shown.append(f"# and {len(commands) - len(shown):,} more commands: --details")
        if len(shown) == 1:
            yield Next(shown[0])
        else:
            yield Sentence("Next:")
            yield Snippet("\n".join(shown), "sh")
    elif answer.blocking_budgets:
        # Of a pod with several budgets, all of them are named at once.
        namespace, _, first = answer.blocking_budgets[0].partition("/")
        budgets = first.replace(f", {namespace}/", " ")
        yield Next(f"kubectl describe pdb {budgets} -n {namespace}")
    elif not answer.rolling and 1 < len(names) <= _NAMED:
        yield Next(f"bayplan drain --rolling {' '.join(names)}")
    elif answer.pending and len(names) == 1:
        yield Next(f"bayplan whatif --drain {names[0]} --add-nodes {names[0]}=1")
    elif answer.pending:
        yield Next(f"bayplan explain {next(iter(answer.pending))}")


def _commands(answer: Draining) -> list[str]:
    """What drains the nodes, if it works."""
    if not answer.works:
        return []
    options = "".join(f" {option}" for option in answer.options)
    return [
        command
        for node in answer.nodes
        for command in (
            f"kubectl drain {node.node}{options}",
            *([f"kubectl uncordon {node.node}"] if answer.rolling else ()),
        )
    ]


def drain_sentence(answer: Draining) -> Sentence:
    """The answer in a sentence."""
    names = _few([node.node for node in answer.nodes])
    in_turn = " one after another" if answer.rolling and len(answer.nodes) > 1 else ""
    blocked = [pod for node in answer.nodes for pod in node.blocked]
    if blocked:
        budgets, stopped = answer.blocking_budgets, _few([node.node for node in answer.nodes if node.blocked])
        if len(budgets) > _FEW:
            named = counted(len(budgets), "disruption budget")
        else:
            named = f"disruption budget{'s' if len(budgets) > 1 else ''} {listed(budgets)}"
        verb = "blocks" if len(budgets) == 1 else "block"
        why = f"{named} {verb} the eviction of {counted(len(blocked), 'pod')}"
        return Sentence(f"No: {stopped} cannot be drained: {why}.", Tone.BAD)
    if answer.pending:
        number = len(answer.pending)
        left = "is left without a node" if number == 1 else "are left without a node"
        return Sentence(f"No: if {names} {_is(answer)} drained{in_turn}, {counted(number, 'pod')} {left}.", Tone.BAD)
    if answer.lost:
        number = len(answer.lost)
        lost = f"{counted(number, 'pod')} without a controller"
        return Sentence(f"No: if {names} {_is(answer)} drained{in_turn}, {lost} would be lost.", Tone.BAD)
    tone = Tone.WARN if answer.preempted else Tone.GOOD
    return Sentence(f"Yes: {names} can be drained{in_turn}: {_found(answer)}.", tone)


def _found(answer: Draining) -> str:
    """Of a drain that works: where its pods are in the end."""
    moving = {each.pod for node in answer.nodes for each in node.evictions if each.returns}
    waiting = {pod for node in answer.nodes for pod in node.pending}
    if not moving:
        return "there are no pods to move"
    owner = "its" if len(answer.nodes) == 1 else "their"
    everyone = {1: f"{owner} pod gets", 2: "both pods get"}.get(len(moving), f"all {counted(len(moving), 'pod')} get")
    found = f"{everyone} a node"
    if waiting:
        found += f", {len(waiting)} of them only when a node is back" if len(moving) > 1 else " when the node is back"
    if not answer.preempted:
        return found
    are = "is" if len(answer.preempted) == 1 else "are"
    return f"{found}, and {counted(len(answer.preempted), 'other pod')} {are} evicted"


def _is(answer: Draining) -> str:
    return "is" if len(answer.nodes) == 1 else "are"


def _remarks(answer: Draining) -> Iterator[Part]:
    """What kubectl needs options for."""
    daemons = [pod for node in answer.nodes for pod in node.daemons]
    mirrors = [pod for node in answer.nodes for pod in node.mirrors]
    if answer.lost:
        text = "Pods without a controller are not recreated, so kubectl requires --force"
        yield Sentence(f"{text}: {listed(answer.lost, _NAMED)}.", Tone.BAD)
    if daemons:
        stay = "stays" if len(daemons) == 1 else "stay"
        yield Sentence(f"{counted(len(daemons), 'DaemonSet pod')} {stay} (--ignore-daemonsets).", Tone.FAINT)
    if mirrors:
        stay = "stays" if len(mirrors) == 1 else "stay"
        yield Sentence(f"{counted(len(mirrors), 'static pod')} {stay}.", Tone.FAINT)


def _overview(answer: Draining) -> Iterator[Part]:
    yield Heading("Node by node")
    rows = [
        (
            node.node,
            str(len(node.evictions)),
            str(len({each.step for each in node.evictions})),
            str(len(node.preempted)),
            str(len(node.pending)),
            _result(node, answer),
        )
        for node in answer.nodes
    ]
    rows += [(name, "", "", "", "", Cell("not reached", Tone.BAD)) for name in answer.unreached]
    columns = ("node", "evictions", "steps", "others evicted", "without a node", "result")
    yield from short_table(columns, rows, numeric=columns[1:-1])


def _result(node: DrainedNode, answer: Draining) -> Cell:
    if node.blocked:
        return Cell("blocked by a budget", Tone.BAD)
    if not node.pending:
        return Cell("empty", Tone.GOOD)
    if all(pod in answer.ends_on for pod in node.pending):
        return Cell("empty; pods wait until it is back", Tone.WARN)
    return Cell("empty, but pods are left without a node", Tone.BAD)


def _evictions(answer: Draining) -> Iterator[Part]:
    several = len(answer.nodes) > 1
    rows = [
        (node.node if several else "", *_eviction_row(each, answer)) for node in answer.nodes for each in node.evictions
    ]
    if not rows:
        return
    yield Heading("Evictions, in order")
    columns = ("node", "step", "pod", "new node", "evicts")
    yield from short_table(columns, rows, numeric={"step"}, flexible={"new node", "evicts"})


def _eviction_row(each: Eviction, answer: Draining) -> tuple[str | Cell, ...]:
    if each.node:
        goes_to = Cell(each.node, Tone.GOOD)
    elif answer.rolling and each.pod in answer.ends_on:
        goes_to = Cell("waits until the node is back", Tone.WARN)
    elif not each.returns:
        goes_to = Cell("lost" if each.bare else "gone", Tone.BAD if each.bare else Tone.FAINT)
    else:
        goes_to = Cell(f"none: {without_preemption(each.message)}", Tone.BAD)
    return str(each.step), each.pod, goes_to, examples(each.victims, _NAMED)


def _blocked(answer: Draining) -> Iterator[Part]:
    blocked: list[Blocked] = [each for node in answer.nodes for each in node.blocked]
    if blocked:
        yield Heading("Blocked evictions")
        rows = [(each.pod, each.budget, each.message) for each in blocked]
        yield from short_table(("pod", "budget", _SAYS), rows, flexible={_SAYS})


def _preempted(answer: Draining) -> Iterator[Part]:
    if answer.preempted:
        yield Heading("Other pods evicted, in order")
        rows = [_preempted_row(each, answer) for each in answer.preempted]
        yield from short_table(("pod", "priority", "from", "by", "then"), rows, flexible={"then"})


def _preempted_row(each: Departure, answer: Draining) -> tuple[str | Cell, ...]:
    if not each.comes_back:
        then = Cell("lost", Tone.BAD)
    elif each.pod in answer.ends_on:
        then = Cell(f"runs on {answer.ends_on[each.pod]}", Tone.GOOD)
    else:
        then = Cell("pending", Tone.BAD)
    return each.pod, str(each.priority), each.node, each.by, then
