"""What another version of Kubernetes changes, as parts of an answer: how many pods, why, and each of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from bayplan.analysis.answers.upgrading.changes import VersionChange
from bayplan.analysis.answers.upgrading.outcomes import VersionOutcome
from bayplan.analysis.answers.upgrading.upgrade import DifferenceKind, Upgrade, VersionDifference
from bayplan.report.answers.parts import Cell, Details, Heading, Next, Part, Sentence, Snippet, Table, Tone
from bayplan.report.words import counted, examples, listed

_SHOWN = 12
_VICTIMS = 2


def upgrade_parts(answer: Upgrade) -> Iterator[Part]:
    """The answer, the changes that matter here, the pods that go elsewhere, and what has to be edited."""
    yield _answer(answer)
    if answer.differences:
        yield _causes(answer)
    moved = [each for each in answer.differences if each.kinds != (DifferenceKind.MESSAGE,)]
    if moved:
        yield Heading("Pods with another outcome")
        yield _pods(answer, moved[:_SHOWN])
        if len(moved) > _SHOWN:
            yield Sentence(f"and {counted(len(moved) - _SHOWN, 'more pod')}; -o json shows all", Tone.FAINT)
    yield from _settings(answer)
    yield from _metrics(answer)
    if answer.differences:
        first = (moved or answer.differences)[0]
        yield Next(f"bayplan explain {first.pod} --kubernetes-version {answer.after}")
    yield Details([*_defaults(answer), *_messages(answer), *_over_time(answer)])


def _answer(answer: Upgrade) -> Sentence:
    start = f"From v{answer.before} to v{answer.after}"
    if not answer.is_compared:
        return Sentence(f"{start}: the new version refuses the configuration, so no pods were compared.", Tone.BAD)
    tried = f"{counted(answer.pending, 'pending pod')} and {counted(answer.running, 'running one')}"
    if not answer.differences:
        return Sentence(f"{start}: the same decisions for {tried}.", Tone.BAD if answer.refused else Tone.GOOD)
    found = [f"{counted(number, 'pod')} {words}" for number, words in _counts(answer) if number]
    decided = [each for each in answer.differences if each.kinds != (DifferenceKind.MESSAGE,)]
    return Sentence(f"{start}, of {tried}: {listed(found)}.", Tone.WARN if decided or answer.refused else Tone.PLAIN)


def _counts(answer: Upgrade) -> Iterator[tuple[int, str]]:
    pairs = [(bool(each.before.node), bool(each.after.node)) for each in answer.of_kind(DifferenceKind.NODE)]
    yield pairs.count((True, False)), "without a node from now on"
    yield pairs.count((False, True)), "with a node only now"
    yield pairs.count((True, True)), "on another node"
    yield len(answer.of_kind(DifferenceKind.VICTIMS)), "with other victims"
    yield len(answer.of_kind(DifferenceKind.MESSAGE)), "with another message"


def _causes(answer: Upgrade) -> Table:
    groups: dict[tuple[VersionChange, ...], list[VersionDifference]] = {}
    for each in answer.differences:
        groups.setdefault(each.causes, []).append(each)
    rows = [
        [
            "\n".join(_change(cause) for cause in causes),
            *(str(sum(kind in each.kinds for each in pods) or "") for kind in DifferenceKind),
        ]
        for causes, pods in sorted(groups.items(), key=lambda item: _gravity(item[1]))
    ]
    return Table(
        (f"Changed in v{answer.after}", *(kind.value.title() for kind in DifferenceKind)),
        rows,
        numeric=frozenset(kind.value.title() for kind in DifferenceKind),
        flexible=frozenset({f"Changed in v{answer.after}"}),
    )


def _gravity(pods: Sequence[VersionDifference]) -> tuple[int, ...]:
    """What concerns nodes first, then what concerns most pods."""
    return tuple(-sum(kind in each.kinds for each in pods) for kind in DifferenceKind)


def _change(change: VersionChange) -> str:
    gate = f" ({change.gate})" if change.gate else ""
    return f"{change.plugin}{gate}: {change.text}" if change.plugin else change.text


def _pods(answer: Upgrade, pods: Sequence[VersionDifference]) -> Table:
    columns = ("Pod", f"v{answer.before}", f"v{answer.after}", "Because of")
    return Table(
        columns,
        [
            [
                each.pod,
                _outcome(each.before),
                Cell(_outcome(each.after), Tone.PLAIN if each.after.node else Tone.BAD),
                ", ".join(dict.fromkeys(cause.plugin or cause.gate for cause in each.causes)),
            ]
            for each in pods
        ],
        flexible=frozenset(columns),
    )


def _outcome(outcome: VersionOutcome) -> str:
    if not outcome.node:
        return "no node"
    return f"{outcome.node}, evicting {examples(outcome.victims, _VICTIMS)}" if outcome.victims else outcome.node


def _settings(answer: Upgrade) -> Iterator[Part]:
    if answer.refused:
        yield Heading(f"Refused by v{answer.after}")
        rows = [(Cell(each.setting, Tone.BAD), each.text) for each in answer.refused]
        yield Table(("Setting", "Why"), rows, flexible=frozenset({"Setting", "Why"}))


def _defaults(answer: Upgrade) -> Iterator[Part]:
    rows = [[each.setting, each.text] for each in answer.configuration if not each.is_refused]
    if rows:
        yield Heading(f"Other defaults of the scheduler in v{answer.after}")
        yield Table(("Setting", "Default"), rows, flexible=frozenset({"Setting", "Default"}))


def _metrics(answer: Upgrade) -> Iterator[Part]:
    if answer.metrics:
        yield Heading(f"Rules and dashboards that name what v{answer.after} does not have")
        yield Table(
            ("Name", "File", "Where", "Instead"),
            [[Cell(each.name, Tone.WARN), each.file, each.where, each.advice] for each in answer.metrics],
            flexible=frozenset({"Name", "File", "Where", "Instead"}),
        )


def _messages(answer: Upgrade) -> Iterator[Part]:
    """An example for each cause."""
    seen: set[tuple[VersionChange, ...]] = set()
    for each in answer.of_kind(DifferenceKind.MESSAGE):
        if each.causes not in seen:
            seen.add(each.causes)
            yield Heading(f"Message of {each.pod}")
            yield Snippet(f"v{answer.before}: {each.before.message}\nv{answer.after}: {each.after.message}", "text")


def _over_time(answer: Upgrade) -> Iterator[Part]:
    if answer.over_time:
        yield Heading("Changes that show only over time (--timeline, --trace)")
        yield from (Sentence(f"{_change(change)}.") for change in answer.over_time)
