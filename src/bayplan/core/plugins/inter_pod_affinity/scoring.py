"""Preferred terms: pod + view -> how much the pods around each node speak for it or against it.

Counted are the pods that meet a preferred term of the incoming pod, and the pods whose own terms the incoming pod
meets: preferred ones by their weight, required affinity by the configured one. Every pod speaks for the whole
domain it stands in. Which nodes are feasible plays no part before the scores are normalized.
Upstream: plugins/interpodaffinity/scoring.go (v1.36).
"""

from __future__ import annotations

from functools import reduce
from operator import add

import numpy as np

from bayplan.core.columns import FloatArray, IntArray
from bayplan.core.columns.shapes import PodShape
from bayplan.core.columns.terms import CarriedTerm, TermKind
from bayplan.core.framework.args import InterPodAffinityArgs
from bayplan.core.framework.contract import MAX_NODE_SCORE
from bayplan.core.plugins.inter_pod_affinity.counting import DomainCounts, meant_by
from bayplan.core.snapshot import View


def prepare(shape: PodShape, view: View, args: InterPodAffinityArgs) -> IntArray | None:
    """(nodes,) raw scores; None when no pod speaks for or against any domain."""
    counts = DomainCounts(view.nodes.labels)
    _add_own_preferences(counts, shape, view)
    _add_preferences_of_others(counts, shape, view, args)
    if not counts.pods_counted:
        return None
    return reduce(add, counts.by_node().values())


def is_reached(shape: PodShape, view: View) -> bool:
    """Whether the pod meets a term of any pod that runs."""
    counters = view.counters
    if not counters.terms.in_use:
        return False
    return bool(counters.terms_reaching(shape, view.objects.namespace_labels(shape.namespace)))


def _add_own_preferences(counts: DomainCounts, shape: PodShape, view: View) -> None:
    towards = shape.terms.preferred
    away = ((-weight, term) for weight, term in shape.terms.preferred_anti)
    for weight, term in (*towards, *away):
        pods = view.counters.pods_matching((meant_by(term, view.objects),), shape, skip_terminating=False)
        counts.add(term.topology_key, pods.nodes, weight)


def _add_preferences_of_others(counts: DomainCounts, shape: PodShape, view: View, args: InterPodAffinityArgs) -> None:
    counters = view.counters
    for term_id in counters.terms_reaching(shape, view.objects.namespace_labels(shape.namespace)):
        carried = counters.terms.values[term_id]
        weight = _weight_of(carried, args)
        if weight is not None:
            counts.add(carried.term.topology_key, counters.carriers(term_id), weight)


def _weight_of(carried: CarriedTerm, args: InterPodAffinityArgs) -> int | None:
    """What a term of a running pod is worth to a pod that meets it; None if it does not count at all."""
    match carried.kind:
        case TermKind.REQUIRED:
            return args.hard_pod_affinity_weight or None
        case TermKind.PREFERRED:
            return carried.weight
        case TermKind.PREFERRED_ANTI:
            return -carried.weight
    return None


def normal_scores(scores: IntArray) -> IntArray:
    """0 for the lowest, 100 for the highest, truncated as upstream's float64 arithmetic has it. Needs a score."""
    lowest = scores.min()
    spread = scores.max() - lowest
    if spread == 0:
        return np.zeros_like(scores)
    # The order of the operations matters: 29 of 100 comes out as 28.
    scaled: FloatArray = MAX_NODE_SCORE * ((scores - lowest) / spread)
    return scaled.astype(np.int64)
