"""A comparison of runs as sentences and tables, for the answer and for the page with plots.

Takes a comparison. Differences are always the later run less the first, with a sign. Nothing is cut here but what a
caller asks for, and nothing is escaped.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, TypeAlias

from bayplan.analysis.simulation.results.differences import (
    ChangeKind,
    ClassFigures,
    Comparison,
    Fate,
    RunDifference,
    SummaryDifference,
)
from bayplan.analysis.simulation.results.run_format import End
from bayplan.report.answers.parts import Table
from bayplan.report.answers.tables import table_of
from bayplan.report.durations import duration_text
from bayplan.report.simulation.node_figures import shortened
from bayplan.report.words import amount_text, counted, eviction_cause, examples, listed

Row: TypeAlias = tuple[str, ...]

_CLASS_COUNTS, _CLASS_WAITS = ("placed", "preempted", "pending"), ("p50", "p90", "p99", "longest")
_CLASSES_NAMED = 3
_SHORTEST = 0.0005  # seconds; less is shown as nothing


class Section(NamedTuple):
    """What differs in one respect: in a sentence, and in detail; `total` counts rows that are left out, too."""

    title: str
    sentence: str
    table: Table
    total: int


def names(comparison: Comparison) -> list[str]:
    """What runs are called in titles: long names lose their middle if that leaves them distinct."""
    whole = [run.name for run in comparison.runs]
    short = [shortened(name) for name in whole]
    return short if len(set(short)) == len(set(whole)) else whole


def sections(comparison: Comparison, at_most: int) -> Iterator[Section]:
    """Placements and preemptions that differ, for each run but the first, with at most N rows each."""
    for difference in comparison.differences:
        base, run = names(comparison)[0], names(comparison)[difference.run]
        pair = f"{run} compared with {base}"
        titles = ["pod", "class", f"in {base}", f"in {run}", "bound"]
        changes = table_of(titles, _change_rows(difference, at_most), titles[-1:], titles[:-1])
        said = _change_sentence(comparison, difference, base, run)
        yield Section(f"Placements that differ: {pair}", said, changes, difference.pods.changed)
        titles = ["only in", "at", "preemptor", "priority", "node", "victims", "budgets violated"]
        alone = _preemptions_alone(difference, base, run)
        preemptions = table_of(titles, alone[:at_most], ["at", "priority"], [titles[2], *titles[4:]])
        said = _preemption_sentence(difference, base, run)
        yield Section(f"Preemptions that differ: {pair}", said, preemptions, len(alone))


# ---------------------------------------------------------------- sentences


def answers(comparison: Comparison) -> list[str]:
    """What changed in each run but the first, in a sentence or two."""
    base, *others = names(comparison)
    return [
        f"{run} compared with {base}: {_counts(difference.summary)}.{_waits(difference.summary)}"
        for run, difference in zip(others, comparison.differences, strict=True)
    ]


def _counts(figures: SummaryDifference) -> str:
    pods = figures.pods
    counts = [
        (pods.placed, "pod placed", "pods placed"),
        (pods.pending, "pod pending", "pods pending"),
        (pods.preempted, "pod preempted", "pods preempted"),
        (figures.budgets_broken, "budget violation", "budget violations"),
    ]
    said = [f"{abs(number):,} {'more' if number > 0 else 'fewer'} {single if abs(number) == 1 else many}"
            for number, single, many in counts if number]  # fmt: skip
    return listed(said) or "no change in pods placed, pending or preempted"


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


def _change_sentence(comparison: Comparison, difference: RunDifference, base: str, run: str) -> str:
    pods = difference.pods
    said = f"{counted(pods.in_both, 'pod')} in both runs, none with a different outcome."
    if pods.changed:
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


def _preemption_sentence(difference: RunDifference, base: str, run: str) -> str:
    found = difference.preemptions
    if not (found.in_both or found.only_in_base or found.only_in_run):
        return "There were no preemptions in any run."
    alone = f"{len(found.only_in_base):,} only in {base} and {len(found.only_in_run):,} only in {run}"
    return f"{counted(found.in_both, 'preemption')} in both runs (same preemptor, same victims), {alone}."


# ---------------------------------------------------------------- figures of the whole


def figures(comparison: Comparison) -> Table:
    titles = ["", *names(comparison), *_difference_titles(comparison)]
    return table_of(titles, list(_figure_rows(comparison)), titles[1:])


def _difference_titles(comparison: Comparison) -> list[str]:
    base, *others = names(comparison)
    return ["change"] if len(others) == 1 else [f"{run} − {base}" for run in others]


def _figure_rows(comparison: Comparison) -> Iterator[Row]:
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
        yield _count_row(
            f"evicted by {eviction_cause(cause)}", [summary.evictions.get(cause, 0) for summary in summaries]
        )
    yield _count_row("budget violations", [summary.budgets_broken for summary in summaries])
    if any(summary.pools for summary in summaries):
        yield _amount_row("node-hours", [summary.node_hours for summary in summaries])
        yield _amount_row("cost", [summary.cost for summary in summaries])
    yield _count_row("loops", [run.loops for run in comparison.runs])
    for name in _together(summary.utilization for summary in summaries):
        yield from _share_row(f"{name} utilization, mean", [summary.utilization.get(name, 0) for summary in summaries])
    yield from _share_row("fragmentation, mean", [summary.fragmentation.mean for summary in summaries])
    yield from _share_row("fragmentation, max", [summary.fragmentation.max for summary in summaries])


def _count_row(label: str, counts: Sequence[int]) -> Row:
    return (label, *(f"{count:,}" for count in counts), *(signed_count(count - counts[0]) for count in counts[1:]))


def _amount_row(label: str, amounts: Sequence[float]) -> Row:
    changes = (signed_amount(round(amount - amounts[0], 6)) for amount in amounts[1:])
    return (label, *(amount_text(amount) for amount in amounts), *changes)


def _share_row(label: str, shares: Sequence[float]) -> Iterator[Row]:
    """Nothing where no run has a share."""
    if any(shares):
        changes = (signed_points(round(share - shares[0], 6)) for share in shares[1:])
        yield (label, *(f"{share:.1%}" for share in shares), *changes)


def _together(groups: Iterable[Mapping[str, object]]) -> list[str]:
    return list(dict.fromkeys(name for group in groups for name in group))


# ---------------------------------------------------------------- figures by class


def classes(comparison: Comparison) -> Table:
    """For each class a row of each run, and then of each difference."""
    titles = ("class", "priority", "run", *_CLASS_COUNTS, *_CLASS_WAITS)
    numeric = ("priority", *_CLASS_COUNTS, *_CLASS_WAITS)
    return table_of(titles, list(_class_rows(comparison)), numeric, ("class", "run", *_CLASS_WAITS))


def _class_rows(comparison: Comparison) -> Iterator[Row]:
    titles = _difference_titles(comparison)
    for compared in comparison.classes:
        base, *others = compared.runs
        rows = [(name, *_class_values(run)) for name, run in zip(names(comparison), compared.runs, strict=True)]
        rows += [(title, *_class_change(base, run)) for title, run in zip(titles, others, strict=True)]
        for place, row in enumerate(rows):
            head = (compared.class_name, f"{compared.priority:,}") if place == 0 else ("", "")
            yield (*head, *row)


def _class_values(figures: ClassFigures) -> list[str]:
    return [*(f"{count:,}" for count in figures.counts), *map(duration_text, figures.quantiles)]


def _class_change(base: ClassFigures, run: ClassFigures) -> list[str]:
    counts = [signed_count(count - before) for before, count in zip(base.counts, run.counts, strict=True)]
    return counts + [_wait_change(*waits) for waits in zip(base.quantiles, run.quantiles, strict=True)]


def _wait_change(base: float | None, run: float | None) -> str:
    return "–" if base is None or run is None else signed_duration(run - base)


# ---------------------------------------------------------------- pods and preemptions


def _change_rows(difference: RunDifference, at_most: int) -> list[Row]:
    """The gravest changes first; a time is shown where it counts as a different one."""
    return [
        (
            change.pod if change.pod == change.pod_in_run else f"{change.pod} / {change.pod_in_run.rpartition('/')[2]}",
            change.class_name,
            _fate(change.base),
            _fate(change.in_run),
            signed_duration(change.bound_later or 0) if ChangeKind.TIME in change.changed else "",
        )
        for change in difference.pods.changes[:at_most]
    ]


def _fate(fate: Fate) -> str:
    """`node-1 at 3 min, preempted at 5 min`."""
    if fate.bound is None:
        return "no node" if fate.end is End.PENDING else f"no node, {fate.end} at {duration_text(fate.ended)}"
    placed = f"{fate.node} at {duration_text(fate.bound)}"
    return f"{placed}, preempted at {duration_text(fate.ended)}" if fate.end is End.PREEMPTED else placed


def _preemptions_alone(difference: RunDifference, base: str, run: str) -> list[Row]:
    """Preemptions that only one of the two had, in order of time."""
    found = difference.preemptions
    alone = [(base, preemption) for preemption in found.only_in_base]
    alone += [(run, preemption) for preemption in found.only_in_run]
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
        for name, preemption in alone
    ]


# ---------------------------------------------------------------- numbers with a sign


def signed_count(number: int) -> str:
    return f"{_sign(number)}{abs(number):,}" if number else "0"


def signed_amount(amount: float) -> str:
    return f"{_sign(amount)}{amount_text(abs(amount))}" if amount_text(abs(amount)) != "0" else "0"


def signed_duration(seconds: float) -> str:
    return f"{_sign(seconds)}{duration_text(abs(seconds))}" if abs(seconds) >= _SHORTEST else "0"


def signed_points(share: float) -> str:
    points = round(100 * share, 1)
    return f"{_sign(points)}{abs(points):.1f} points" if points else "0"


def _sign(number: float) -> str:
    return "+" if number > 0 else "−"
