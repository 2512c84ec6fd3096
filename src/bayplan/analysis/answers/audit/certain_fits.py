"""Pods of a node that certainly find another place, found without placing them.

Where a pod passes all filters on more nodes than there are pods placed before it, it fits, wherever those go: each of
them takes room on one node, as long as it does not matter to the pod beyond that node. Deciding on which node is the
costly part, and is spared. What this cannot be sure of has to be tried; it never says that something does not fit.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from bayplan.analysis.answers.asking import Asking
from bayplan.core.cache import Cache
from bayplan.core.columns import BoolArray, row_mask
from bayplan.core.columns.shapes import PodInfo, PodShape
from bayplan.core.columns.terms import AffinityTerm
from bayplan.core.filtering import filter_pod
from bayplan.core.framework.verdict import CycleError
from bayplan.core.plugins.pod_topology_spread.constraints import HARD
from bayplan.core.queue.pre_enqueue import run_pre_enqueue
from bayplan.model.selectors import CompiledSelector, SelectorError, compile_label_selector
from bayplan.model.well_known import HOSTNAME


class CertainFits:
    """Knows a cache as it is while nothing is tried in it."""

    def __init__(self, asking: Asking, cache: Cache) -> None:
        self._profiles = asking.profiles
        self._cache = cache
        # What plugins of others look at is not known, nor what constraints a configuration gives to all pods.
        self._is_known = asking.has_default_profiles and not cache.nominated
        self._passing: dict[int, BoolArray | None] = {}  # by shape: (nodes,) those that pass; None: not known
        self._related: dict[tuple[int, int], bool] = {}  # by serials of shapes, since ids are used again

    def may_be_sure(self, pods: Sequence[PodInfo]) -> bool:
        """Whether it is worth asking: none of the pods matters to a later one beyond the node that it gets."""
        if not self._is_known or not self._has_own_hostnames:
            return False
        if self._cache.gates.generic_workload and any(pod.group for pod in pods):
            return False  # they go together
        if any(_has_claims_of_its_own(pod) or not self._may_enter(pod) for pod in pods):
            return False
        earlier: dict[int, PodShape] = {}
        for pod in pods:
            if any(self._matters(before, pod.shape) for before in earlier.values()):
                return False
            earlier[pod.shape.serial] = pod.shape
        return True

    def all_fit(self, pods: Sequence[PodInfo]) -> bool:
        """Whether all of them certainly fit into the cluster as it is, one after another."""
        if not self.may_be_sure(pods):
            return False
        counts = {
            pod.shape.serial: self._passing_count(pod) for pod in {each.shape.serial: each for each in pods}.values()
        }
        return all(counts[pod.shape.serial] > earlier for earlier, pod in enumerate(pods))

    def is_sure_before(self, node: str, pods: Sequence[PodInfo]) -> bool | None:
        """Whether all of them fit without the node, from what is known with it; None: some of them are to be looked at.

        A pod of which this cannot say anything passes for now.
        """
        row = self._cache.nodes.rows_by_name[node]
        unknown = False
        for earlier, pod in enumerate(pods):
            passing = self._passing_rows(pod)
            if passing is None:
                unknown = True
            elif np.count_nonzero(passing) - int(passing[row]) <= earlier:
                return False
        return None if unknown else True

    def is_sure_after(self, pods: Sequence[PodInfo]) -> bool:
        """Whether all fit that nothing was known of, now that the node and its pods are gone from the cache."""
        return not any(
            self._passing.get(pod.shape.serial) is None and self._count_now(pod) <= earlier
            for earlier, pod in enumerate(pods)
        )

    @cached_property
    def _has_own_hostnames(self) -> bool:
        """Whether anti-affinity to a host concerns one node."""
        nodes = self._cache.nodes
        names = [nodes.labels[row].get(HOSTNAME, "") for row in np.flatnonzero(nodes.alive).tolist()]
        return len(set(names)) == len(names)

    def _may_enter(self, pod: PodInfo) -> bool:
        return run_pre_enqueue(self._profiles[pod.scheduler_name].pre_enqueue, pod).ok

    def _passing_rows(self, pod: PodInfo) -> BoolArray | None:
        """(nodes,) where such a pod passes now, and would if other nodes and their pods were gone."""
        shape = pod.shape
        if shape.serial not in self._passing:
            self._passing[shape.serial] = None if _needs_others(shape) else self._filtered(pod)
        return self._passing[shape.serial]

    def _passing_count(self, pod: PodInfo) -> int:
        passing = self._passing_rows(pod)
        return self._count_now(pod) if passing is None else int(np.count_nonzero(passing))

    def _count_now(self, pod: PodInfo) -> int:
        """On how many nodes of the cache, as it is now, the pod passes; none if filtering ends in an error."""
        try:
            return len(filter_pod(self._profiles[pod.scheduler_name], pod, self._cache.view()).feasible_rows)
        except CycleError:
            return 0

    def _filtered(self, pod: PodInfo) -> BoolArray | None:
        try:
            rows = filter_pod(self._profiles[pod.scheduler_name], pod, self._cache.view()).feasible_rows
        except CycleError:
            return None
        return row_mask(rows, self._cache.nodes.count)

    def _matters(self, before: PodShape, pod: PodShape) -> bool:
        key = (before.serial, pod.serial)
        if key not in self._related:
            self._related[key] = _matters(before, pod)
        return self._related[key]


def _needs_others(shape: PodShape) -> bool:
    """Whether the pod may pass on fewer nodes when others are gone. Anti-affinity is not of that kind."""
    return bool(shape.terms.required or shape.claim_names or _spread_selectors(shape))


def _has_claims_of_its_own(pod: PodInfo) -> bool:
    """Claims that go with the pod and are made again for the next one."""
    return pod.claims is not None or any(volume.ephemeral is not None for volume in pod.spec.volumes)


def _matters(before: PodShape, pod: PodShape) -> bool:
    """Whether the first may change where the second fits, beyond the node that it gets itself."""
    if before.claim_names and pod.claim_names:
        return True
    if any(term.selector.matches(pod.labels) for term in _beyond_hosts(before)):
        return True
    if any(term.selector.matches(before.labels) for term in _beyond_hosts(pod)):
        return True
    # The first of pods that want to be together may go anywhere, which ends as soon as one of them has a place.
    if any(term.selector.matches(before.labels) for term in pod.terms.required):
        return True
    return any(selector.matches(before.labels) for selector in _spread_selectors(pod))


def _beyond_hosts(shape: PodShape) -> list[AffinityTerm]:
    """Its anti-affinity that reaches further than a node."""
    return [term for term in shape.terms.required_anti if term.topology_key != HOSTNAME]


def _spread_selectors(shape: PodShape) -> list[CompiledSelector]:
    """Of the constraints that it must meet; one that does not parse selects everything, to be on the safe side."""
    found = []
    for constraint in shape.spec.topology_spread_constraints:
        if constraint.when_unsatisfiable == HARD:
            try:
                found.append(compile_label_selector(constraint.label_selector))
            except SelectorError:
                found.append(CompiledSelector.EVERYTHING)
    return found
