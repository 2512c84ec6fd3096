"""The pending pods: how many, and one line of why for each workload."""

from __future__ import annotations

from collections.abc import Iterator

from bayplan.analysis.answers.pending import PendingGroup, PendingPods
from bayplan.report.answers.parts import Cell, Details, Heading, Next, Part, Sentence, Snippet, Table, Tone
from bayplan.report.words import counted, listed

#: So few that the answer fits on a screen of 80 columns and 24 lines.
_SHOWN = 5
_CAUSES = 1


def pending_parts(answer: PendingPods) -> Iterator[Part]:
    """The most important pods first, as the scheduler tries them."""
    where = _where(answer)
    if not answer.groups:
        yield Sentence(f"No pod is pending{where}.", Tone.GOOD)
        return
    pods, workloads = len(answer.names), len({group.workload for group in answer.groups})
    verb = "is" if pods == 1 else "are"
    yield Sentence(f"{counted(pods, 'pod')} of {counted(workloads, 'workload')} {verb} pending{where}.", Tone.BAD)
    yield _table(answer.groups[:_SHOWN])
    left = answer.groups[_SHOWN:]
    if left:
        yield Sentence(f"and {counted(sum(len(group.pods) for group in left), 'more pod')}", Tone.FAINT)
    yield Next(f"bayplan explain {answer.groups[0].workload}")
    yield Details([_table(answer.groups) if left else Heading("Scheduler messages"), *_messages(answer)])


def _where(answer: PendingPods) -> str:
    where = f" in namespace {answer.namespace}" if answer.namespace else ""
    return f"{where} with labels {answer.selector}" if answer.selector else where


def _table(groups: tuple[PendingGroup, ...]) -> Table:
    return Table(
        ("Workload", "Pods", "Priority", "Why"),
        [[group.workload, str(len(group.pods)), str(group.priority), _why(group)] for group in groups],
        numeric=frozenset({"Pods", "Priority"}),
        flexible=frozenset({"Workload", "Why"}),
    )


def _why(group: PendingGroup) -> Cell:
    if group.gate:
        return Cell(group.gate, Tone.FAINT)
    if group.fitting is not None:
        return _why_together(group)
    if group.fits_on:
        return Cell(f"fits on {counted(group.fits_on, 'node')} now", Tone.GOOD)
    if group.node:
        victims = group.victims[0] if len(group.victims) == 1 else counted(len(group.victims), "pod")
        return Cell(f"would evict {victims} from {group.node}", Tone.WARN)
    return Cell(_causes(group) or group.message, Tone.BAD)


def _why_together(group: PendingGroup) -> Cell:
    """Of a pod group."""
    if group.fits_on:
        return Cell(f"fits on {counted(group.fits_on, 'node')} now", Tone.GOOD)
    if group.victims:
        return Cell(f"would evict {counted(len(group.victims), 'pod')}", Tone.WARN)
    return Cell(f"{group.fitting:,} of {len(group.pods):,} fit; {_causes(group) or group.message}", Tone.BAD)


def _causes(group: PendingGroup) -> str:
    causes = [f"{counted(count, 'node')}: {cause}" for count, cause in group.causes[:_CAUSES]]
    more = len(group.causes) - _CAUSES
    return "; ".join([*causes, *([counted(more, "other cause")] if more > 0 else [])])


def _messages(answer: PendingPods) -> Iterator[Part]:
    for group in answer.groups:
        if group.message:
            yield Sentence(listed(group.pods, 3))
            yield Snippet(group.message, "text")
