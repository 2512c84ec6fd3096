"""A comparison of runs as sentences and rows of text, for a terminal's tables and for a page's.

Takes the plain data of a comparison (`Comparison.to_dict()`). Differences are always the later run less the first,
with a sign. Nothing is cut here but what a caller asks for, and nothing is escaped.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from bayplan.report.durations import duration_text
from bayplan.report.simulation.node_figures import shortened
from bayplan.report.words import counted, examples, listed

Plain: TypeAlias = Mapping[str, Any]
Row: TypeAlias = tuple[str, ...]

CLASS_FIGURES = ("placed", "preempted", "pending", "p50", "p90", "p99", "max")
CLASS_TITLES = ("class", "priority", "run", "placed", "preempted", "pending", "p50", "p90", "p99", "longest")
PREEMPTION_TITLES = ("only in", "at", "preemptor", "priority", "node", "victims", "budgets broken")
_COUNTS = ("placed", "preempted", "pending")
_CLASSES_NAMED = 3
_SHORTEST = 0.0005  # seconds; less is shown as nothing


def names(comparison: Plain) -> list[str]:
    """What runs are called in titles: long names lose their middle, if they can still be told apart."""
    whole = [run["name"] for run in comparison["runs"]]
    short = [shortened(name) for name in whole]
    return short if len(set(short)) == len(set(whole)) else whole


def run_of(comparison: Plain, difference: Plain) -> str:
    """The name of the run that is held against the first."""
    return names(comparison)[difference["run"]]


def difference_titles(comparison: Plain) -> list[str]:
    """The columns that hold differences."""
    if len(comparison["runs"]) == 2:
        return ["difference"]
    return [f"{run_of(comparison, one)} − {names(comparison)[0]}" for one in comparison["differences"]]


# ---------------------------------------------------------------- sentences


def answer(comparison: Plain, difference: Plain) -> str:
    """What changed, in a sentence or two."""
    figures = difference["summary"]
    pods = figures["pods"]
    counts = [
        (pods["placed"], "pod placed", "pods placed"),
        (pods["pending"], "pod still waiting", "pods still waiting"),
        (pods["preempted"], "pod preempted", "pods preempted"),
        (figures["budgetsBroken"], "budget broken", "budgets broken"),
    ]
    said = [f"{abs(number):,} {'more' if number > 0 else 'fewer'} {one if abs(number) == 1 else many}"
            for number, one, many in counts if number]  # fmt: skip
    against = f"{run_of(comparison, difference)} against {names(comparison)[0]}: "
    return against + (f"{listed(said)}." if said else "as many pods placed, waiting and preempted.") + _waits(figures)


def _waits(figures: Plain) -> str:
    """The classes whose p90 moved most, by as much as people notice."""
    moved = [
        (name, waited["p90"])
        for name, waited in figures["waiting"].items()
        if waited["p90"] is not None and abs(waited["p90"]) >= 1
    ]
    moved.sort(key=lambda one: -abs(one[1]))
    said = [
        f"{name} waits {duration_text(abs(seconds))} {'longer' if seconds > 0 else 'less'}"
        for name, seconds in moved[:_CLASSES_NAMED]
    ]
    return f" At p90, {listed(said)}." if said else ""


def change_sentence(comparison: Plain, difference: Plain) -> str:
    pods, base, run = difference["pods"], names(comparison)[0], run_of(comparison, difference)
    if not pods["changed"]:
        said = f"All {pods['inBoth']:,} pods in both ended on the same node at the same time."
    else:
        counts, apart = pods["counts"], comparison["sameTimeSeconds"]
        kinds = [
            (counts["node"], "on another node"),
            (counts["time"], f"bound at another time (by {duration_text(apart)} or more)"),
            (counts["placedOnlyInBase"], f"placed in {base} alone"),
            (counts["placedOnlyInRun"], f"placed in {run} alone"),
            (counts["preemptedOnlyInBase"], f"preempted in {base} alone"),
            (counts["preemptedOnlyInRun"], f"preempted in {run} alone"),
        ]
        listing = listed([f"{number:,} {how}" for number, how in kinds if number])
        said = f"Of {counted(pods['inBoth'], 'pod')} in both, {pods['changed']:,} went another way: {listing}."
    alone = [(len(pods["onlyInBase"]), base), (len(pods["onlyInRun"]), run)]
    there = [f"{counted(number, 'pod')} only in {name}" for number, name in alone if number]
    return said + (f" There {'is' if alone[0][0] + alone[1][0] == 1 else 'are'} {listed(there)}." if there else "")


def preemption_sentence(comparison: Plain, difference: Plain) -> str:
    found = difference["preemptions"]
    alone = [(found["onlyInBase"], names(comparison)[0]), (found["onlyInRun"], run_of(comparison, difference))]
    if not found["inBoth"] and not any(ones for ones, _ in alone):
        return "No run had a preemption."
    said = [f"{len(ones):,} only in {name}" for ones, name in alone]
    return f"{counted(found['inBoth'], 'preemption')} in both (the same pod for the same victims), {listed(said)}."


# ---------------------------------------------------------------- figures of the whole


def figure_rows(comparison: Plain) -> Iterator[Row]:
    """A figure, its value in each run, and the differences."""
    runs, differences = comparison["runs"], comparison["differences"]
    summaries = [run["summary"] for run in runs]

    def counts(label: str, group: str, name: str) -> Row:
        return (
            label,
            *(f"{one[group].get(name, 0):,}" for one in summaries),
            *(signed_count(one["summary"][group].get(name, 0)) for one in differences),
        )

    for name in ("created", "placed", "finished", "failed", "preempted", "pending"):
        if name != "failed" or any(one["pods"][name] for one in summaries):
            yield counts(f"pods {name}", "pods", name)
    for cause in _together(summaries, "evictions"):
        yield counts(f"evicted by {cause}", "evictions", cause)
    yield (
        "budgets broken",
        *(f"{one['budgetsBroken']:,}" for one in summaries),
        *(signed_count(one["summary"]["budgetsBroken"]) for one in differences),
    )
    loops = [run["loops"] for run in runs]
    yield ("loops", *(f"{one:,}" for one in loops), *(signed_count(one - loops[0]) for one in loops[1:]))
    yield from _share_rows(summaries, differences)


def _share_rows(summaries: Sequence[Plain], differences: Sequence[Plain]) -> Iterator[Row]:
    labels = [("utilisation", name, f"{name} used, mean") for name in _together(summaries, "utilisation")]
    labels += [("fragmentation", name, f"fragmentation, {name}") for name in _together(summaries, "fragmentation")]
    for group, name, label in labels:
        if any(one[group].get(name, 0) for one in summaries):
            yield (
                label,
                *(f"{one[group].get(name, 0):.1%}" for one in summaries),
                *(signed_points(one["summary"][group][name]) for one in differences),
            )


def _together(summaries: Sequence[Plain], group: str) -> list[str]:
    return list(dict.fromkeys(name for one in summaries for name in one[group]))


# ---------------------------------------------------------------- figures by class


def class_rows(comparison: Plain) -> Iterator[Row]:
    """For each class a row of each run, and then of each difference; see CLASS_TITLES."""
    for one in comparison["classes"]:
        heads = [(one["class"], f"{one['priority']:,}")]
        heads += [("", "")] * (2 * len(one["runs"]) - 2)
        base = one["runs"][0]
        rows = [(name, *_class_values(run)) for name, run in zip(names(comparison), one["runs"], strict=True)]
        titles = difference_titles(comparison)
        rows += [(title, *_class_change(base, run)) for title, run in zip(titles, one["runs"][1:], strict=True)]
        for head, row in zip(heads, rows, strict=True):
            yield (*head, *row)


def _class_values(figures: Plain) -> list[str]:
    return [f"{figures[name]:,}" if name in _COUNTS else duration_text(figures[name]) for name in CLASS_FIGURES]


def _class_change(base: Plain, run: Plain) -> list[str]:
    return [
        signed_count(run[name] - base[name]) if name in _COUNTS else _wait_change(base[name], run[name])
        for name in CLASS_FIGURES
    ]


def _wait_change(base: float | None, run: float | None) -> str:
    return "–" if base is None or run is None else signed_duration(run - base)


# ---------------------------------------------------------------- pods and preemptions


def change_titles(comparison: Plain, difference: Plain) -> list[str]:
    return ["pod", "class", f"in {names(comparison)[0]}", f"in {run_of(comparison, difference)}", "bound"]


def change_rows(difference: Plain, at_most: int) -> list[Row]:
    """The gravest changes first; a time is told where it counts as another one."""
    return [
        (
            one["pod"] if one["pod"] == one["podInRun"] else f"{one['pod']} / {one['podInRun'].rpartition('/')[2]}",
            one["class"],
            _fate(one["base"]),
            _fate(one["inRun"]),
            signed_duration(one["boundLater"]) if "time" in one["changed"] else "",
        )
        for one in difference["pods"]["changes"][:at_most]
    ]


def _fate(pod: Plain) -> str:
    """`node-1 at 3 min, preempted at 5 min`."""
    if pod["bound"] is None:
        return "no node" if pod["end"] == "pending" else f"no node, {pod['end']} at {duration_text(pod['ended'])}"
    placed = f"{pod['node']} at {duration_text(pod['bound'])}"
    return f"{placed}, preempted at {duration_text(pod['ended'])}" if pod["end"] == "preempted" else placed


def preemption_rows(comparison: Plain, difference: Plain, at_most: int) -> list[Row]:
    """Preemptions that only one of the two had, in order of time; see PREEMPTION_TITLES."""
    found = difference["preemptions"]
    alone = [(names(comparison)[0], one) for one in found["onlyInBase"]]
    alone += [(run_of(comparison, difference), one) for one in found["onlyInRun"]]
    alone.sort(key=lambda item: item[1]["t"])  # stable: the base first where times are equal
    return [
        (
            name,
            duration_text(one["t"]),
            one["preemptor"],
            f"{one['priority']:,}",
            one["node"],
            examples([victim["pod"] for victim in one["victims"]], 3),
            examples(list(dict.fromkeys(budget for victim in one["victims"] for budget in victim["breaks"])), 2),
        )
        for name, one in alone[:at_most]
    ]


def preemptions_alone(difference: Plain) -> int:
    """How many preemptions only one of the two had."""
    return len(difference["preemptions"]["onlyInBase"]) + len(difference["preemptions"]["onlyInRun"])


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
