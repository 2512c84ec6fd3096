"""What a sweep found, as typed data: what `sweep -o json` writes, and what reports read. Nothing is computed here."""

from __future__ import annotations

from bayplan.analysis.simulation.results.run_format import JsonStruct

FORMAT = "bayplan sweep v1"
Label = int | float | str


class Estimate(JsonStruct):
    """The mean over seeds, and the interval in which it lies with the sweep's confidence."""

    mean: float
    low: float
    high: float
    seeds: int


class MeanDifference(JsonStruct):
    """The mean difference to the baseline, seed by seed; `real` if chance alone would hardly give it."""

    mean: float
    low: float
    high: float
    seeds: int
    p_value: float
    real: bool


class PointSummary(JsonStruct):
    """One combination of values."""

    settings: dict[str, Label]
    runs: int
    failed: int
    figures: dict[str, Estimate]
    differences: dict[str, MeanDifference]  # empty for the baseline
    worst_seed: int | None  # of the first measure that differs between seeds


class EffectLevel(JsonStruct):
    """All points with one value of an axis, or with values between two."""

    value: str
    estimate: Estimate


class Effect(JsonStruct):
    """What an axis does to a figure, averaged over all others."""

    axis: str
    measure: str
    levels: list[EffectLevel]
    range: float  # from the lowest to the highest level
    share: float  # of the variance between all runs that the levels explain, 0 to 1


class FailedRun(JsonStruct):
    """A run that gave no figures."""

    run: str
    settings: dict[str, Label]
    seed: int
    error: str


class AxisSummary(JsonStruct):
    name: str
    values: list[Label]


class SweepSummary(JsonStruct, tag_field="format", tag=FORMAT):
    """All of a sweep but its runs."""

    axes: list[AxisSummary]
    seeds: list[int]
    runs: int
    failed: int
    missing: int  # that were not done
    confidence: float
    baseline: int
    measures: list[str]  # that reports show
    points: list[PointSummary]
    effects: list[Effect]
    failures: list[FailedRun]
    # Files of earlier versions lack these.
    objectives: list[str] = []  # of which less is better, or more if they say so
    front: list[int] = []  # the points that no other beats in all objectives
