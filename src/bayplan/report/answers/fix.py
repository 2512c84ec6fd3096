"""What would let a pod run, as parts of a report: the answer, a table, and the commands to copy."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from bayplan.analysis.answers.fixing.answer import Fix, Fixes, RemedyKind
from bayplan.report.answers.change_phrases import change_phrases
from bayplan.report.answers.parts import REASONS_MAX, Details, Heading, Part, Sentence, Snippet, Table, Tone
from bayplan.report.words import counted, listed

_NAMED = 3
#: Fixes in a short answer.
_SHOWN = 3


def fix_parts(answer: Fixes) -> Iterator[Part]:
    if answer.runs_on:
        yield Sentence(f"{answer.pod} needs no fix: it is running on {answer.runs_on}.", Tone.GOOD)
        return
    yield from _headline(answer)
    if answer.unsure:
        kinds = listed(answer.unsure, last="or")
        text = f"Not certain: the input has no {kinds}. If the cluster has one, ask again with complete input."
        yield Sentence(text, Tone.WARN)
    details: list[Part] = []
    if answer.fixes:
        yield Heading(_table_title(answer))
        yield _table(answer, answer.fixes[:_SHOWN])
        if len(answer.fixes) > _SHOWN:
            yield Sentence(f"and {len(answer.fixes) - _SHOWN} more", Tone.FAINT)
            details = [Heading(_table_title(answer)), _table(answer, answer.fixes), *details]
        (first, *others) = answer.fixes
        yield from _instructions(1, first)
        details += _victims(1, first)
        for number, fix in enumerate(others, start=2):
            details += [*_instructions(number, fix), *_victims(number, fix)]
    if answer.message:
        details.append(Sentence(f"Now: {answer.message}", Tone.FAINT))
    if details:
        yield Details(details)


def _headline(answer: Fixes) -> Iterator[Part]:
    if answer.fits_on and not answer.victims:
        yield Sentence(_needs_none(answer), Tone.GOOD)
        yield from _left_out(answer)
    elif answer.fits_on:
        gone = listed(answer.victims, _NAMED)
        text = f"{answer.pod} needs no fix: the scheduler evicts {gone} to run it on {answer.fits_on}."
        yield Sentence(text, Tone.WARN)
    elif answer.fixes:
        first = answer.fixes[0]
        yield Sentence(_effect(answer, first), Tone.GOOD if first.fixed == answer.pending else Tone.WARN)
    else:
        text = f"No fix was found for {answer.pod}: no change to the pod or to a node is enough."
        yield Sentence(text, Tone.BAD)


def _needs_none(answer: Fixes) -> str:
    """That a workload needs no fix, and why."""
    workload = answer.workload
    if answer.left_out:
        return f"{workload} needs no fix: it has a pod on each node that it is meant for ({answer.running:,})."
    if not answer.is_one_more:
        if answer.pending == 1:
            return f"{answer.pod} needs no fix: it already fits on {answer.fits_on}."
        return f"{workload} needs no fix: its {answer.pending:,} pending pods fit, the first on {answer.fits_on}."
    if not answer.running:
        return f"{workload} has no pods now and needs no fix: one would fit on {answer.fits_on}."
    run = "its pod runs" if answer.running == 1 else f"its {answer.running:,} pods run"
    return f"{workload} needs no fix: {run}, and one more would fit on {answer.fits_on}."


def _left_out(answer: Fixes) -> Iterator[Part]:
    """For which nodes a DaemonSet creates no pods, by reason."""
    nodes: defaultdict[str, list[str]] = defaultdict(list)
    for node, reason in answer.left_out.items():
        nodes[reason].append(node)
    for reason, names in sorted(nodes.items(), key=lambda item: -len(item[1]))[:REASONS_MAX]:
        yield Sentence(f"It leaves out {listed(names, _NAMED)}: {reason}.")


def _table_title(answer: Fixes) -> str:
    if answer.victims:
        return "Changes that evict fewer pods, smallest first"
    if len(answer.fixes) == 1:
        return "1 fix, played to its end"
    return f"{len(answer.fixes):,} fixes, each played to its end, best first"


def _effect(answer: Fixes, fix: Fix) -> str:
    """What a fix does for the workload, in a sentence."""
    condition = f"if you {_phrase(fix)}."
    if answer.is_one_more:
        return _effect_on_one_more(answer, fix, condition)
    if answer.pending == 1 and not answer.fitting:
        return f"{_one_pending(answer, fix)} {condition}"
    everyone = "both" if answer.pending == 2 else f"all {answer.pending:,}"
    share = everyone if fix.fixed == answer.pending else f"{fix.fixed:,} of {answer.pending:,}"
    if answer.fitting:
        fitting = f"{answer.fitting:,} pending pods" if answer.fitting > 1 else "One pending pod"
        others = "the other" if answer.pending == 1 else f"{share} others"
        return f"{fitting} of {answer.workload} will run as things are, {others} would {condition}"
    return f"{share.capitalize()} pending pods of {answer.workload} would run {condition}"


def _one_pending(answer: Fixes, fix: Fix) -> str:
    """Where the pod would run, unless its node does not exist yet or a rollout moves others as well."""
    if any(change.kind is RemedyKind.ADD_NODE for change in fix.changes):
        return f"{answer.pod} would run"
    if len(fix.nodes) == 1:
        return f"{answer.pod} would run on {fix.nodes[0]}"
    return f"The pending pod of {answer.workload} would run"


def _effect_on_one_more(answer: Fixes, fix: Fix, condition: str) -> str:
    if answer.left_out:
        return f"{answer.workload} would run on {counted(fix.fixed, 'node')} {condition}"
    if not answer.running:
        return f"A pod of {answer.workload} would run on {listed(fix.nodes, 1)} {condition}"
    run = "pod runs" if answer.running == 1 else f"{answer.running:,} pods run"
    return f"{answer.workload} is not pending: its {run}. One more would run {condition}"


def _table(answer: Fixes, fixes: Sequence[Fix]) -> Table:
    return Table(
        ("#", "Change", "Pending pods fixed", "Evicted"),
        [
            (str(number), _phrase(fix), f"{fix.fixed:,} of {answer.pending:,}", _evicted(fix))
            for number, fix in enumerate(fixes, start=1)
        ],
        numeric=frozenset({"#"}),
        flexible=frozenset({"Change", "Evicted"}),
    )


def _evicted(fix: Fix) -> str:
    if not fix.victims:
        return "none"
    stranded = f"; {len(fix.left_pending):,} left pending" if fix.left_pending else ""
    gone = fix.victims[0] if len(fix.victims) == 1 else counted(len(fix.victims), "pod")
    return f"{gone}{stranded}"


def _victims(number: int, fix: Fix) -> Iterator[Part]:
    """By name, if there are several."""
    if len(fix.victims) > 1:
        yield Sentence(f"Change {number} evicts {listed(fix.victims)}.")


def _instructions(number: int, fix: Fix) -> Iterator[Part]:
    if not fix.patches:
        return
    yield Heading(f"{number}. {_phrase(fix)}")
    for patch in fix.patches:
        if patch.note:
            yield Sentence(patch.note)
        if patch.command:
            yield Snippet(patch.command, "sh")


def _phrase(fix: Fix) -> str:
    return listed(change_phrases(fix.changes, len(fix.victims)))
