"""Pod affinity terms in a form that can be compared, hashed and counted.

A term is compiled once for each pod shape. Which namespaces it reaches depends on namespace labels and is
decided later, by whoever holds them.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple

from bayplan.model.pod import Affinity, PodAffinity, PodAffinityTerm, PodAntiAffinity, WeightedPodAffinityTerm
from bayplan.model.selectors import CompiledSelector, SelectorError, compile_label_selector, joined_faults


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


#: What upstream calls them in messages.
KIND_NAMES = {
    TermKind.REQUIRED: "requiredAffinityTerms",
    TermKind.REQUIRED_ANTI: "requiredAntiAffinityTerms",
    TermKind.PREFERRED: "preferredAffinityTerms",
    TermKind.PREFERRED_ANTI: "preferredAntiAffinityTerms",
}


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
    faults: tuple[tuple[TermKind, str], ...] = ()  # what does not parse; a kind with a fault has no terms

    @property
    def error(self) -> str:
        """All faults in one message, as upstream words it; "" if every term parses."""
        return joined_faults(f"{KIND_NAMES[kind]}: {fault}" for kind, fault in self.faults)

    @property
    def required_parse(self) -> bool:
        """Whether nothing is wrong with the required terms."""
        return not any(kind in (TermKind.REQUIRED, TermKind.REQUIRED_ANTI) for kind, _ in self.faults)

    def carried(self) -> tuple[CarriedTerm, ...]:
        return (
            *(CarriedTerm(TermKind.REQUIRED, 0, term) for term in self.required),
            *(CarriedTerm(TermKind.REQUIRED_ANTI, 0, term) for term in self.required_anti),
            *(CarriedTerm(TermKind.PREFERRED, weight, term) for weight, term in self.preferred),
            *(CarriedTerm(TermKind.PREFERRED_ANTI, weight, term) for weight, term in self.preferred_anti),
        )


NO_TERMS = AffinityTerms()


def compile_affinity(affinity: Affinity | None, namespace: str) -> AffinityTerms:
    """The pod (anti-)affinity terms of a pod in `namespace`; one bad selector costs all terms of its kind."""
    if affinity is None or (affinity.pod_affinity is None and affinity.pod_anti_affinity is None):
        return NO_TERMS
    near, apart = affinity.pod_affinity or PodAffinity(), affinity.pod_anti_affinity or PodAntiAffinity()
    faults: list[tuple[TermKind, str]] = []

    def compiled(kind: TermKind, terms: list[PodAffinityTerm]) -> tuple[AffinityTerm, ...]:
        try:
            return tuple(_compile(term, namespace) for term in terms)
        except SelectorError as problem:
            faults.append((kind, str(problem)))
            return ()

    def weighted(kind: TermKind, terms: list[WeightedPodAffinityTerm]) -> tuple[tuple[int, AffinityTerm], ...]:
        parsed = compiled(kind, [term.pod_affinity_term for term in terms])
        return tuple((term.weight, found) for term, found in zip(terms, parsed, strict=bool(parsed)))

    return AffinityTerms(
        required=compiled(TermKind.REQUIRED, near.required),
        required_anti=compiled(TermKind.REQUIRED_ANTI, apart.required),
        preferred=weighted(TermKind.PREFERRED, near.preferred),
        preferred_anti=weighted(TermKind.PREFERRED_ANTI, apart.preferred),
        faults=tuple(faults),
    )


def _compile(term: PodAffinityTerm, namespace: str) -> AffinityTerm:
    # A term that names no namespace in any way means the namespace of the pod that carries it.
    own_only = not term.namespaces and term.namespace_selector is None
    selector = compile_label_selector(term.label_selector)  # of two selectors that do not parse this one is reported
    return AffinityTerm(
        topology_key=term.topology_key,
        namespaces=frozenset((namespace,)) if own_only else frozenset(term.namespaces),
        namespace_selector=compile_label_selector(term.namespace_selector),
        selector=selector,
    )
