"""The answers of `defrag` as parts: how many moves make room, which, in which order, and whether fewer would do."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from bayplan.analysis.answers.moving.defrag import Defrag
from bayplan.analysis.answers.moving.group_defrag import GroupDefrag
from bayplan.analysis.answers.moving.playing import PlayedMove
from bayplan.report.answers.parts import REASONS_MAX, Cell, Details, Heading, Next, Part, Sentence, Tone
from bayplan.report.answers.tables import short_table
from bayplan.report.words import counted, listed

_NAMED = 3
_REASONS = 3


def defrag_parts(answer: Defrag) -> Iterator[Part]:
    """The whole answer."""
    if answer.runs_on:
        yield _fits(answer)
    elif answer.steps is None:
        yield from _no(answer)
    else:
        yield from _yes(answer)


def _fits(answer: Defrag) -> Sentence:
    if not answer.evicts:
        return Sentence(f"No moves are needed: {answer.pod} fits on {answer.runs_on}.", Tone.GOOD)
    victims = f"{counted(len(answer.evicts), 'pod')} of lower priority ({listed(answer.evicts, _NAMED)})"
    return Sentence(
        f"No moves are needed: the scheduler will put {answer.pod} on {answer.runs_on} and evict {victims}.", Tone.WARN
    )


def _yes(answer: Defrag) -> Iterator[Part]:
    steps = answer.steps or ()
    moves = counted(len(steps), "move")
    verb = "makes" if len(steps) == 1 else "make"
    yield Sentence(f"Yes: {moves} {verb} room for {answer.pod} on {answer.node}{_proof(answer)}.", Tone.GOOD)
    if answer.evicts:
        victims = counted(len(answer.evicts), "pod")
        yield Sentence(f"Without moves it would evict {victims} of lower priority: {listed(answer.evicts, _NAMED)}.")
    yield from _moves(steps, {answer.target})
    if answer.target:
        yield Sentence(f"{answer.target} stays cordoned until the last pod has left it.", Tone.FAINT)
    yield Next(f"bayplan defrag --for {answer.name} --script")


def _moves(steps: Sequence[PlayedMove], targets: Collection[str]) -> Iterator[Part]:
    sources = {step.source for step in steps}
    off = f" off {next(iter(sources))}" if len(sources) == 1 else ""
    yield Heading(f"Moves{off}, in order")
    rows = [
        (
            str(number),
            step.pod,
            "" if off else step.source,
            Cell(step.node, Tone.GOOD),
            listed([node for node in step.cordoned if node not in targets], _NAMED),
        )
        for number, step in enumerate(steps, 1)
    ]
    columns = ("step", "pod", "from", "to", "cordoned meanwhile")
    looks = {"numeric": {"step"}, "flexible": {"cordoned meanwhile", "to", "from"}}
    yield from short_table(columns, rows[:REASONS_MAX], **looks)
    if len(rows) > REASONS_MAX:
        yield Sentence(f"and {len(rows) - REASONS_MAX:,} more", Tone.FAINT)
        yield Details([Heading("All moves, in order"), *short_table(columns, rows, **looks)])


def _proof(answer: Defrag | GroupDefrag) -> str:
    if answer.is_proven:
        return ", and fewer would not do"
    least = answer.bound or 0
    return f"; {least} or more are needed, and whether fewer than {len(answer.steps or ())} would do was not settled"


def _no_moves(answer: Defrag | GroupDefrag, name: str) -> Sentence:
    """That nothing was found, and what is known of what it would take."""
    if answer.bound is None:
        text = f"No: no moves can make room for {name}."
    elif answer.bound > answer.max_moves:
        least = counted(answer.bound, "move")
        text = f"No: room for {name} takes at least {least}, and no more than {answer.max_moves} are allowed."
    else:
        least = f"; at least {counted(answer.bound, 'move')} would be needed" if answer.bound else ""
        text = f"No: no moves were found that make room for {name}{least}."
    return Sentence(text, Tone.BAD)


def _no(answer: Defrag) -> Iterator[Part]:
    yield _no_moves(answer, answer.pod)
    if answer.bound is None:
        yield Sentence("Even with all movable pods gone, no node that it may run on has enough of everything.")
    if answer.evicts:
        victims = counted(len(answer.evicts), "pod")
        yield Sentence(
            f"The scheduler would evict {victims} of lower priority for it: {listed(answer.evicts, _NAMED)}."
        )
    yield from _what_failed(answer)
    yield Next(f"bayplan capacity --pod {answer.name} --replicas 1" if answer.is_new else f"bayplan fix {answer.pod}")


def _what_failed(answer: Defrag | GroupDefrag) -> Iterator[Part]:
    for reason, count in list(answer.failures.items())[:_REASONS]:
        yield Sentence(f"Tried and dropped ({counted(count, 'proposal')}): {reason}.", Tone.FAINT)
    if answer.fixed:
        reasons = [f"{count:,} ({reason.value})" for reason, count in answer.fixed.items()]
        yield Sentence(f"Pods that are not moved: {listed(reasons, _REASONS)}.", Tone.FAINT)


def group_defrag_parts(answer: GroupDefrag, name: str) -> Iterator[Part]:
    """The whole answer for a pod group, which the user calls `name`."""
    if answer.fits_on:
        yield _group_fits(answer, name)
    elif answer.steps is None:
        yield from _no_for_group(answer, name)
    else:
        yield from _yes_for_group(answer, answer.steps, name)


def _group_fits(answer: GroupDefrag, name: str) -> Sentence:
    fits = f"{counted(len(answer.fits_on), 'pod')} of {name}"
    if not answer.evicts:
        return Sentence(f"No moves are needed: {fits} would be placed now.", Tone.GOOD)
    victims = f"{counted(len(answer.evicts), 'pod')} of lower priority ({listed(answer.evicts, _NAMED)})"
    return Sentence(f"No moves are needed: the scheduler will place {fits} and evict {victims}.", Tone.WARN)


def _yes_for_group(answer: GroupDefrag, steps: Sequence[PlayedMove], name: str) -> Iterator[Part]:
    where = f" on {answer.within}={answer.domain}" if answer.within else ""
    verb = "makes" if len(steps) == 1 else "make"
    yield Sentence(f"Yes: {counted(len(steps), 'move')} {verb} room for {name}{where}{_proof(answer)}.", Tone.GOOD)
    yield from _moves(steps, answer.targets)
    if answer.targets:
        verb = "stays" if len(answer.targets) == 1 else "stay"
        stays = f"{listed(answer.targets, _NAMED)} {verb} cordoned until the last pod has left."
        yield Sentence(stays, Tone.FAINT)
    yield Heading("Then the group goes to")
    rows = [(pod, Cell(node, Tone.GOOD)) for pod, node in answer.nodes.items()]
    yield from short_table(("pod", "node"), rows, flexible={"pod", "node"})
    yield Next(f"bayplan defrag --for {name} --script")


def _no_for_group(answer: GroupDefrag, name: str) -> Iterator[Part]:
    yield _no_moves(answer, name)
    yield from _what_failed(answer)
    yield Next(f"bayplan fix {name}")
