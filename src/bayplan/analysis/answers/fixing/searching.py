"""The search for fixes: single changes first and, where these are few, pairs.

A change that has a measure (a request, a skew) is tried at its extreme; if that helps, the nearest value that still
does is found by halving: one with which all pending pods of the workload fit and, where it differs, one that is enough
for the first of them. A pair counts only if neither of its changes helps alone. If there is none either, a larger
set of changes of the pod is looked for that cannot do without any of them; it need not be the smallest.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations

from bayplan.analysis.answers.fixing.answer import Remedy, RemedyKind
from bayplan.analysis.answers.fixing.edits import TOLERATIONS, Edit, edits_of, with_skew
from bayplan.analysis.answers.fixing.requests import asked, lowered, lowest
from bayplan.analysis.answers.fixing.supplies import supply_device_classes, supply_volumes
from bayplan.analysis.answers.fixing.surroundings import (
    Edits,
    Family,
    WorkingChange,
    add_node,
    free,
    raising_priority,
    uncordon,
    untaint,
)
from bayplan.analysis.answers.fixing.trying import Trying
from bayplan.analysis.answers.fixing.typos import corrections_of
from bayplan.core.feature_gates import FeatureGates
from bayplan.model.cluster import PriorityClass
from bayplan.model.meta import INT32_MAX
from bayplan.model.node import Node
from bayplan.model.pod import PodSpec

#: With fewer single changes than this pairs are looked for, too.
FEW = 3
#: Changes that are combined with each other, the cheapest ones.
COMBINED_MAX = 24
#: Pending pods for which room is made together; beyond that the rehearsal has to tell.
COUNTED_MAX = 30


@dataclass(frozen=True, slots=True)
class Knob:
    """A change that can be turned from where it does nothing to where it can do no more."""

    at: Callable[[int], Edit]
    mild: int  # changes nothing
    extreme: int

    @property
    def is_measured(self) -> bool:
        return abs(self.extreme - self.mild) > 1

    @property
    def most(self) -> Edit:
        return self.at(self.extreme)

    def nearest(self, fits: Callable[[Edit], bool]) -> Edit:
        """The mildest edit that fits; the extreme one is known to."""
        too_mild, good = self.mild, self.extreme
        while abs(good - too_mild) > 1:
            middle = (good + too_mild) // 2
            if fits(self.at(middle)):
                good = middle
            else:
                too_mild = middle
        return self.at(good)


class Searching:
    """Looks for fixes of one pod that does not run. `base` is what has to happen in any case."""

    def __init__(self, trying: Trying, base: Edits, classes: Sequence[PriorityClass], *, preempts: bool) -> None:
        """With `preempts`, the scheduler would evict others for the pod as it is: only what avoids that is a fix."""
        self._trying = trying
        self._pending = min(trying.pending, COUNTED_MAX)
        self._base = base
        self._families: list[Family] = [uncordon, add_node]
        if not preempts:
            self._families += [raising_priority(classes), free, supply_volumes, supply_device_classes]
        self._knobs = list(knobs_of(trying.spec(base), trying.nodes.values(), trying.cache.gates))

    def fixes(self) -> list[WorkingChange]:
        """The cheapest first; pairs behind all single changes."""
        helpful = [knob for knob in self._knobs if self._trying.fits((*self._base, knob.most))]
        single = sorted(self._singles(_without_larger(helpful)), key=lambda found: found.price)
        if len(single) >= FEW:
            return single
        rest = [knob for knob in self._knobs if knob not in helpful]
        rest = sorted(rest, key=lambda knob: knob.most.change.price)[:COMBINED_MAX]
        pairs = [*self._pairs(rest)]
        if len(single) + len(pairs) < FEW:
            pairs += self._pairs_with_surroundings(rest, single)
        return [*single, *sorted(pairs, key=lambda found: found.price)] or [*self._larger_set()]

    def _singles(self, helpful: Iterable[Knob]) -> Iterator[WorkingChange]:
        trying, base = self._trying, self._base
        for knob in helpful:
            edit = knob.nearest(lambda edit: trying.fits((*base, edit)))
            edits = (*base, edit)
            yield WorkingChange(edits, trying.decide(edits))
            if knob.is_measured:
                yield from self._for_all_pending(knob, edit)
            if edit.change.kind in TOLERATIONS:
                found = untaint(trying, edits)
                if found is not None:
                    yield found
        for family in self._families:
            found = family(trying, base)
            if found is not None:
                yield found

    def _for_all_pending(self, knob: Knob, for_one: Edit) -> Iterator[WorkingChange]:
        """The change that is large enough for all pending pods, if the one for the first of them is not."""

        def all_fit(edit: Edit) -> bool:
            return self._trying.all_fit((*self._base, edit), self._pending)

        if self._pending > 1 and not all_fit(for_one) and all_fit(knob.most):
            edits = (*self._base, knob.nearest(all_fit))
            yield WorkingChange(edits, self._trying.decide(edits))

    def _pairs(self, knobs: Sequence[Knob]) -> Iterator[WorkingChange]:
        """Of edits of the pod."""
        for first, second in combinations(knobs, 2):
            if self._trying.fits((*self._base, first.most, second.most)):
                yield self._nearest_pair(first, second)

    def _nearest_pair(self, first: Knob, second: Knob) -> WorkingChange:
        trying, base = self._trying, self._base
        one = first.nearest(lambda edit: trying.fits((*base, edit, second.most)))
        other = second.nearest(lambda edit: trying.fits((*base, one, edit)))
        edits = (*base, one, other)
        return WorkingChange(edits, trying.decide(edits))

    def _pairs_with_surroundings(
        self, knobs: Sequence[Knob], single: Sequence[WorkingChange]
    ) -> Iterator[WorkingChange]:
        """Of an edit that has no measure and something around the pod that does not help alone."""
        enough = {found.changes[-1].kind for found in single}
        for knob in knobs:
            if knob.is_measured:
                continue
            for family in self._families:
                found = family(self._trying, (*self._base, knob.most))
                if found is not None and found.changes[-1].kind not in enough:
                    yield found

    def _larger_set(self) -> Iterator[WorkingChange]:
        """All that could be changed, less whatever turns out not to matter, the largest changes first."""
        trying, base, knobs = self._trying, self._base, list(self._knobs)
        if not trying.fits((*base, *(knob.most for knob in knobs))):
            return
        for knob in sorted(self._knobs, key=lambda knob: -knob.most.change.price):
            others = [other for other in knobs if other is not knob]
            if trying.fits((*base, *(other.most for other in others))):
                knobs = others
        edits = [knob.most for knob in knobs]
        for position, knob in enumerate(knobs):
            before, after = edits[:position], edits[position + 1 :]
            edits[position] = knob.nearest(partial(self._fits_between, before, after))
        yield WorkingChange((*base, *edits), trying.decide((*base, *edits)))

    def _fits_between(self, before: Sequence[Edit], after: Sequence[Edit], edit: Edit) -> bool:
        return self._trying.fits((*self._base, *before, edit, *after))


def _without_larger(helpful: Sequence[Knob]) -> list[Knob]:
    """Where one expression of a node affinity is enough, not all of it has to go."""
    affinity = [knob.most.change for knob in helpful if knob.most.change.kind is RemedyKind.NODE_AFFINITY]
    least = min((change.price for change in affinity), default=0.0)
    return [
        knob
        for knob in helpful
        if knob.most.change.kind is not RemedyKind.NODE_AFFINITY or knob.most.change.price == least
    ]


def knobs_of(spec: PodSpec, nodes: Collection[Node], gates: FeatureGates) -> Iterator[Knob]:
    """Everything that can be changed about a pod."""
    for resource, amount in asked(spec, gates).items():
        floor = lowest(spec, resource)
        if amount > floor:
            yield Knob(_lowering(spec, resource, amount, gates), mild=amount, extreme=floor)
    for edit in corrections_of(spec, nodes):
        yield Knob(_always(edit), mild=0, extreme=1)
    for edit in edits_of(spec, nodes):
        if edit.change.kind is RemedyKind.SPREAD:
            skew = spec.topology_spread_constraints[edit.position].max_skew
            yield Knob(_raising(spec, edit.position), mild=skew, extreme=INT32_MAX)
        yield Knob(_always(edit), mild=0, extreme=1)


def _lowering(spec: PodSpec, resource: str, amount: int, gates: FeatureGates) -> Callable[[int], Edit]:
    def at(target: int) -> Edit:
        found = lowered(spec, resource, target, gates)
        change = Remedy(RemedyKind.REQUEST, resource, amount, target, extent=(amount - target) / amount)
        return Edit(change, found.apply)

    return at


def _raising(spec: PodSpec, position: int) -> Callable[[int], Edit]:
    return lambda skew: with_skew(spec, position, skew)


def _always(edit: Edit) -> Callable[[int], Edit]:
    return lambda _: edit
