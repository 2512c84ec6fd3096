"""A comparison of runs as sentences and rows of text, for a terminal's tables and for a page's.

Takes a comparison. Differences are always the later run less the first,
with a sign. Nothing is cut here but what a caller asks for, and nothing is escaped.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TypeAlias

from bayplan.analysis.simulation.results.differences import (
    Change,
    ClassFigures,
    Comparison,
    Difference,
    Fate,
    SummaryDifference,
)
from bayplan.analysis.simulation.results.run import End
from bayplan.report.durations import duration_text
from bayplan.report.simulation.node_figures import shortened
from bayplan.report.words import counted, examples, listed

Row: TypeAlias = tuple[str, ...]

CLASS_TITLES = ("class", "priority", "run", "placed", "preempted", "pending", "p50", "p90", "p99", "longest")
PREEMPTION_TITLES = ("only in", "at", "preemptor", "priority", "node", "victims", "budgets violated")
_CLASSES_NAMED = 3
_SHORTEST = 0.0005  # seconds; less is shown as nothing


def names(comparison: Comparison) -> list[str]:
    """What runs are called in titles: long names lose their middle, if they can still be told apart."""
    whole = [run.name for run in comparison.runs]
    short = [shortened(name) for name in whole]
    return short if len(set(short)) == len(set(whole)) else whole


def run_of(comparison: Comparison, difference: Difference) -> str:
    """The name of the run that is held against the first."""
    return names(comparison)[difference.run]


def difference_titles(comparison: Comparison) -> list[str]:
    """The columns that hold differences."""
    if len(comparison.runs) == 2:
        return ["difference"]
    return [f"{run_of(comparison, difference)} − {names(comparison)[0]}" for difference in comparison.differences]


# ---------------------------------------------------------------- sentences


def answer(comparison: Comparison, difference: Difference) -> str:
    """What changed, in a sentence or two."""
    figures = difference.summary
    pods = figures.pods
    counts = [
        (pods.placed, "pod placed", "pods placed"),
        (pods.pending, "pod pending", "pods pending"),
        (pods.preempted, "pod preempted", "pods preempted"),
        (figures.budgets_broken, "budget violation", "budget violations"),
    ]
    said = [f"{abs(number):,} {'more' if number > 0 else 'fewer'} {single if abs(number) == 1 else many}"
            for number, single, many in counts if number]  # fmt: skip
    pair = f"{run_of(comparison, difference)} compared with {names(comparison)[0]}"
    counted_changes = listed(said) or "no change in pods placed, pending or preempted"
    return f"{pair}: {counted_changes}.{_waits(figures)}"


def _waits(figures: SummaryDifference) -> str:
    """The classes whose p90 moved most, by as much as people notice."""
    moved = [
        (name, waits.p90) for name, waits in figures.waiting.items() if waits.p90 is not None and abs(waits.p90) >= 1
    ]
    moved.sort(key=lambda item: -abs(item[1]))
    said = [
        f"{name} waits {duration_text(abs(seconds))} {'longer' if seconds > 0 else 'less'}"
        for name, seconds in moved[:_CLASSES_NAMED]
    ]
    return f" At p90, {listed(said)}." if said else ""


def change_sentence(comparison: Comparison, difference: Difference) -> str:
    pods, base, run = difference.pods, names(comparison)[0], run_of(comparison, difference)
    if not pods.changed:
        said = f"{counted(pods.in_both, 'pod')} in both runs, none with a different outcome."
    else:
        counts, apart = pods.counts, comparison.same_time_seconds
        kinds = [
            (counts.node, "on a different node"),
            (counts.time, f"bound at a different time (by {duration_text(apart)} or more)"),
            (counts.placed_only_in_base, f"placed only in {base}"),
            (counts.placed_only_in_run, f"placed only in {run}"),
            (counts.preempted_only_in_base, f"preempted only in {base}"),
            (counts.preempted_only_in_run, f"preempted only in {run}"),
        ]
        listing = listed([f"{number:,} {how}" for number, how in kinds if number])
        said = f"Of {counted(pods.in_both, 'pod')} in both runs, {pods.changed:,} had a different outcome: {listing}."
    alone = [(len(pods.only_in_base), base), (len(pods.only_in_run), run)]
    there = [f"{counted(number, 'pod')} only in {name}" for number, name in alone if number]
    return said + (f" There {'is' if alone[0][0] + alone[1][0] == 1 else 'are'} {listed(there)}." if there else "")


def preemption_sentence(comparison: Comparison, difference: Difference) -> str:
    found = difference.preemptions
    if not found.in_both and not preemptions_alone(difference):
        return "There were no preemptions in any run."
    alone = [(found.only_in_base, names(comparison)[0]), (found.only_in_run, run_of(comparison, difference))]
    said = [f"{len(preemptions):,} only in {name}" for preemptions, name in alone]
    return f"{counted(found.in_both, 'preemption')} in both runs (same preemptor, same victims), {listed(said)}."


# ---------------------------------------------------------------- figures of the whole


def figure_rows(comparison: Comparison) -> Iterator[Row]:
    """A figure, its value in each run, and the differences."""
    summaries = [run.summary for run in comparison.runs]
    pods = [summary.pods for summary in summaries]
    yield _count_row("pods created", [figures.created for figures in pods])
    yield _count_row("pods placed", [figures.placed for figures in pods])
    yield _count_row("pods finished", [figures.finished for figures in pods])
    if any(figures.failed for figures in pods):
        yield _count_row("pods failed", [figures.failed for figures in pods])
    yield _count_row("pods preempted", [figures.preempted for figures in pods])
    yield _count_row("pods pending", [figures.pending for figures in pods])
    for cause in _together(summary.evictions for summary in summaries):
        yield _count_row(f"evicted by {cause}", [summary.evictions.get(cause, 0) for summary in summaries])
    yield _count_row("budget violations", [summary.budgets_broken for summary in summaries])
    yield _count_row("loops", [run.loops for run in comparison.runs])
    for name in _together(summary.utilisation for summary in summaries):
        yield from _share_row(f"{name} utilization, mean", [summary.utilisation.get(name, 0) for summary in summaries])
    yield from _share_row("fragmentation, mean", [summary.fragmentation.mean for summary in summaries])
    yield from _share_row("fragmentation, max", [summary.fragmentation.max for summary in summaries])


def _count_row(label: str, counts: Sequence[int]) -> Row:
    return (label, *(f"{count:,}" for count in counts), *(signed_count(count - counts[0]) for count in counts[1:]))


def _share_row(label: str, shares: Sequence[float]) -> Iterator[Row]:
    """Nothing where no run has a share."""
    if any(shares):
        changes = (signed_points(round(share - shares[0], 6)) for share in shares[1:])
        yield (label, *(f"{share:.1%}" for share in shares), *changes)


def _together(groups: Iterable[Mapping[str, object]]) -> list[str]:
    return list(dict.fromkeys(name for group in groups for name in group))


# ---------------------------------------------------------------- figures by class


def class_rows(comparison: Comparison) -> Iterator[Row]:
    """For each class a row of each run, and then of each difference; see CLASS_TITLES."""
    for compared in comparison.classes:
        heads = [(compared.class_name, f"{compared.priority:,}")]
        heads += [("", "")] * (2 * len(compared.runs) - 2)
        base, *others = compared.runs
        rows = [(name, *_class_values(run)) for name, run in zip(names(comparison), compared.runs, strict=True)]
        titles = difference_titles(comparison)
        rows += [(title, *_class_change(base, run)) for title, run in zip(titles, others, strict=True)]
        for head, row in zip(heads, rows, strict=True):
            yield (*head, *row)


def _class_values(figures: ClassFigures) -> list[str]:
    return [*(f"{count:,}" for count in figures.counts), *map(duration_text, figures.quantiles)]


def _class_change(base: ClassFigures, run: ClassFigures) -> list[str]:
    counts = [signed_count(count - before) for before, count in zip(base.counts, run.counts, strict=True)]
    return counts + [_wait_change(*waits) for waits in zip(base.quantiles, run.quantiles, strict=True)]


def _wait_change(base: float | None, run: float | None) -> str:
    return "–" if base is None or run is None else signed_duration(run - base)


# ---------------------------------------------------------------- pods and preemptions


def change_titles(comparison: Comparison, difference: Difference) -> list[str]:
    return ["pod", "class", f"in {names(comparison)[0]}", f"in {run_of(comparison, difference)}", "bound"]


def change_rows(difference: Difference, at_most: int) -> list[Row]:
    """The gravest changes first; a time is told where it counts as another one."""
    return [
        (
            change.pod if change.pod == change.pod_in_run else f"{change.pod} / {change.pod_in_run.rpartition('/')[2]}",
            change.class_name,
            _fate(change.base),
            _fate(change.in_run),
            signed_duration(change.bound_later or 0) if Change.TIME in change.changed else "",
        )
        for change in difference.pods.changes[:at_most]
    ]


def _fate(fate: Fate) -> str:
    """`node-1 at 3 min, preempted at 5 min`."""
    if fate.bound is None:
        return "no node" if fate.end is End.PENDING else f"no node, {fate.end} at {duration_text(fate.ended)}"
    placed = f"{fate.node} at {duration_text(fate.bound)}"
    return f"{placed}, preempted at {duration_text(fate.ended)}" if fate.end is End.PREEMPTED else placed


def preemption_rows(comparison: Comparison, difference: Difference, at_most: int) -> list[Row]:
    """Preemptions that only one of the two had, in order of time; see PREEMPTION_TITLES."""
    found = difference.preemptions
    alone = [(names(comparison)[0], preemption) for preemption in found.only_in_base]
    alone += [(run_of(comparison, difference), preemption) for preemption in found.only_in_run]
    alone.sort(key=lambda item: item[1].t)  # stable: the base first where times are equal
    return [
        (
            name,
            duration_text(preemption.t),
            preemption.preemptor,
            f"{preemption.priority:,}",
            preemption.node,
            examples([victim.pod for victim in preemption.victims], 3),
            examples(preemption.broken_budgets, 2),
        )
        for name, preemption in alone[:at_most]
    ]


def preemptions_alone(difference: Difference) -> int:
    """How many preemptions only one of the two had."""
    return len(difference.preemptions.only_in_base) + len(difference.preemptions.only_in_run)


# ---------------------------------------------------------------- numbers with a sign


def signed_count(number: int) -> str:
    return f"{_sign(number)}{abs(number):,}" if number else "0"


def signed_duration(seconds: float) -> str:
    return f"{_sign(seconds)}{duration_text(abs(seconds))}" if abs(seconds) >= _SHORTEST else "0"


def signed_points(share: float) -> str:
    points = round(100 * share, 1)
    return f"{_sign(points)}{abs(points):.1f} points" if points else "0"


def _sign(number: float) -> str:
    return "+" if number > 0 else "−"
