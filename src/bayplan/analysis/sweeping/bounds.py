"""`--fail-on` of a sweep: a bound on an interval, such as `waiting.critical.p99.high > 30s`.

The form is `FIGURE.END > NUMBER`, with `low`, `mean` or `high` as the end of the interval, and `>`, `>=`, `<` or `<=`.
In front of the figure, `difference.` means the difference to the baseline: `difference.pods.preempted.low > 0` is met
where more pods are preempted for sure. A bound is met if any point meets it.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from bayplan.analysis.sweeping.summary_format import Estimate, MeanDifference, PointSummary, SweepSummary
from bayplan.model.durations import parse_span
from bayplan.model.errors import Fault, InvalidObject
from bayplan.model.near_matches import did_you_mean, near
from bayplan.model.time_units import SECOND

_FORM = re.compile(r"\s*(?P<figure>\S+)\.(?P<end>low|mean|high)\s*(?P<sign>>=|<=|>|<)\s*(?P<bound>\S.*?)\s*")
_SIGNS: dict[str, Callable[[float, float], bool]] = {
    ">": operator.gt,
    ">=": operator.ge,
    "<": operator.lt,
    "<=": operator.le,
}
_DIFFERENCE = "difference."


@dataclass(frozen=True, slots=True)
class Bound:
    text: str
    figure: str
    of_difference: bool
    end: str
    sign: str
    bound: float

    def met_by(self, summary: SweepSummary) -> list[tuple[PointSummary, float]]:
        """The points that meet it, with the end of their interval. Raises InvalidObject for an unknown figure."""
        known = {name for point in summary.points for name in point.figures}
        if known and self.figure not in known:
            hint = did_you_mean(near(self.figure, sorted(known)))
            raise _refused(f"{self.text!r}: no run has a figure {self.figure}{hint}")
        found = []
        for point in summary.points:
            of: Estimate | MeanDifference | None = (
                point.differences.get(self.figure) if self.of_difference else point.figures.get(self.figure)
            )
            if of is not None and _SIGNS[self.sign](value := getattr(of, self.end), self.bound):
                found.append((point, value))
        return found


def read_bounds(texts: Iterable[str]) -> list[Bound]:
    """Raises InvalidObject."""
    return [_read(text) for text in texts]


def _read(text: str) -> Bound:
    found = _FORM.fullmatch(text)
    if found is None:
        raise _refused(f"{text!r}: expected a bound such as pods.preempted.high > 5 or difference.nodeHours.low > 0")
    figure = found["figure"]
    try:
        bound = _number(found["bound"])
    except ValueError as error:
        raise _refused(f"{text!r}: {error}") from error
    is_difference = figure.startswith(_DIFFERENCE)
    return Bound(text, figure.removeprefix(_DIFFERENCE), is_difference, found["end"], found["sign"], bound)


def _number(text: str) -> float:
    """A number, or a duration in seconds."""
    try:
        return float(text)
    except ValueError:
        return parse_span(text) / SECOND


def _refused(message: str) -> InvalidObject:
    return InvalidObject([Fault("", "", "--fail-on", message)])
