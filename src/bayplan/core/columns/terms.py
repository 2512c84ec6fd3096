"""Pod affinity terms in a form that can be compared, hashed and counted.

A term is compiled once for each pod shape. Which namespaces it reaches depends on namespace labels and is
decided later, by whoever holds them.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple

from bayplan.model.pod import Affinity, PodAffinityTerm, WeightedPodAffinityTerm
from bayplan.model.selectors import CompiledSelector, compile_label_selector


class AffinityTerm(NamedTuple):
    """One required or preferred pod (anti-)affinity term."""

    topology_key: str
    namespaces: frozenset[str]
    namespace_selector: CompiledSelector  # matches nothing when the term has none
    selector: CompiledSelector


class TermKind(IntEnum):
    """What a term asks for."""

    REQUIRED = 0
    REQUIRED_ANTI = 1
    PREFERRED = 2
    PREFERRED_ANTI = 3


class CarriedTerm(NamedTuple):
    """A term as carried by pods that run: what they ask of the pods to come."""

    kind: TermKind
    weight: int
    term: AffinityTerm


@dataclass(frozen=True, slots=True)
class AffinityTerms:
    """All pod (anti-)affinity terms of one pod."""

    required: tuple[AffinityTerm, ...] = ()
    required_anti: tuple[AffinityTerm, ...] = ()
    preferred: tuple[tuple[int, AffinityTerm], ...] = ()
    preferred_anti: tuple[tuple[int, AffinityTerm], ...] = ()

    def carried(self) -> tuple[CarriedTerm, ...]:
        return (
            *(CarriedTerm(TermKind.REQUIRED, 0, term) for term in self.required),
            *(CarriedTerm(TermKind.REQUIRED_ANTI, 0, term) for term in self.required_anti),
            *(CarriedTerm(TermKind.PREFERRED, weight, term) for weight, term in self.preferred),
            *(CarriedTerm(TermKind.PREFERRED_ANTI, weight, term) for weight, term in self.preferred_anti),
        )


NO_TERMS = AffinityTerms()


def compile_affinity(affinity: Affinity | None, namespace: str) -> AffinityTerms:
    """The pod (anti-)affinity terms of a pod in `namespace`. Raises SelectorError on an invalid selector."""
    if affinity is None or (affinity.pod_affinity is None and affinity.pod_anti_affinity is None):
        return NO_TERMS
    near, apart = affinity.pod_affinity, affinity.pod_anti_affinity
    return AffinityTerms(
        required=_required(near.required, namespace) if near else (),
        required_anti=_required(apart.required, namespace) if apart else (),
        preferred=_preferred(near.preferred, namespace) if near else (),
        preferred_anti=_preferred(apart.preferred, namespace) if apart else (),
    )


def _required(terms: list[PodAffinityTerm], namespace: str) -> tuple[AffinityTerm, ...]:
    return tuple(_compile(term, namespace) for term in terms)


def _preferred(terms: list[WeightedPodAffinityTerm], namespace: str) -> tuple[tuple[int, AffinityTerm], ...]:
    return tuple((term.weight, _compile(term.pod_affinity_term, namespace)) for term in terms)


def _compile(term: PodAffinityTerm, namespace: str) -> AffinityTerm:
    # A term that names no namespace in any way means the namespace of the pod that carries it.
    own_only = not term.namespaces and term.namespace_selector is None
    return AffinityTerm(
        topology_key=term.topology_key,
        namespaces=frozenset((namespace,)) if own_only else frozenset(term.namespaces),
        namespace_selector=compile_label_selector(term.namespace_selector),
        selector=compile_label_selector(term.label_selector),
    )
