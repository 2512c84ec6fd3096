"""Names in a pod's spec that match nothing in the cluster, and the ones that were probably meant.

A label, taint, resource or claim that no object has is compared with those that exist. Each correction is an edit of
the pod; whether it helps is tried elsewhere.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator

from bayplan.analysis.answers.fixing.answer import Remedy, RemedyKind
from bayplan.analysis.answers.fixing.edits import Edit, requested_names, required_terms
from bayplan.analysis.answers.fixing.surroundings import Edits, WorkingChange
from bayplan.analysis.answers.fixing.trying import Trying
from bayplan.model.near_matches import meant, meant_pair
from bayplan.model.node import Node
from bayplan.model.pod import PodSpec


def corrections_of(spec: PodSpec, nodes: Iterable[Node]) -> list[Edit]:
    """Of labels, taints and resources."""
    every = list(nodes)
    labels = Counter(label for node in every for label in node.metadata.labels.items())
    return [
        *_node_selector(spec, labels),
        *_node_affinity(spec, labels),
        *_tolerations(spec, every),
        *_resources(spec, every),
    ]


def corrected_claims(trying: Trying, edits: Edits) -> Iterator[WorkingChange]:
    """The pod with a claim that exists in place of one that does not."""
    namespace, claims = trying.pod.metadata.namespace, trying.cache.objects.claims
    existing = [name for space, name in claims if space == namespace]
    for position, volume in enumerate(trying.pod.spec.volumes):
        claim = volume.persistent_volume_claim
        other = meant(claim.claim_name, existing) if claim is not None else None
        if claim is None or other is None:
            continue
        change = Remedy(RemedyKind.CLAIM_TYPO, volume.name, before=claim.claim_name, after=other)
        corrected = (*edits, Edit(change, _with_claim(position, other)))
        outcome = trying.decide(corrected)
        if outcome.node:
            yield WorkingChange(corrected, outcome)


def _with_claim(position: int, name: str) -> Callable[[PodSpec], None]:
    def apply(changed: PodSpec) -> None:
        claim = changed.volumes[position].persistent_volume_claim
        assert claim is not None
        claim.claim_name = name

    return apply


def _node_selector(spec: PodSpec, labels: Counter[tuple[str, str]]) -> Iterator[Edit]:
    for key, value in spec.node_selector.items():
        label = meant_pair(key, value, labels)
        if label is not None:
            change = Remedy(RemedyKind.SELECTOR_TYPO, f"{key}={value}", after="=".join(label), matches=labels[label])
            yield Edit(change, _selecting(key, label))


def _selecting(old_key: str, label: tuple[str, str]) -> Callable[[PodSpec], None]:
    def apply(changed: PodSpec) -> None:
        changed.node_selector = {
            key if key != old_key else label[0]: value if key != old_key else label[1]
            for key, value in changed.node_selector.items()
        }

    return apply


def _node_affinity(spec: PodSpec, labels: Counter[tuple[str, str]]) -> Iterator[Edit]:
    for at, term in enumerate(required_terms(spec)):
        for position, expression in enumerate(term.match_expressions):
            if expression.operator != "In" or len(expression.values) != 1:
                continue
            label = meant_pair(expression.key, expression.values[0], labels)
            if label is not None:
                change = Remedy(
                    RemedyKind.AFFINITY_TYPO,
                    f"{expression.key}={expression.values[0]}",
                    after="=".join(label),
                    matches=labels[label],
                )
                yield Edit(change, _expecting(at, position, label))


def _expecting(at: int, position: int, label: tuple[str, str]) -> Callable[[PodSpec], None]:
    def apply(changed: PodSpec) -> None:
        expression = required_terms(changed)[at].match_expressions[position]
        expression.key, expression.values = label[0], [label[1]]

    return apply


def _tolerations(spec: PodSpec, nodes: Iterable[Node]) -> Iterator[Edit]:
    taints = Counter((taint.key, taint.value) for node in nodes for taint in node.spec.taints)
    for position, toleration in enumerate(spec.tolerations):
        if not toleration.key:
            continue
        if toleration.operator == "Exists":
            key = meant(toleration.key, [key for key, _ in taints])
            other = (key, "") if key is not None else None
        else:
            other = meant_pair(toleration.key, toleration.value, taints)
        if other is not None:
            before = "=".join(filter(None, (toleration.key, toleration.value)))
            change = Remedy(RemedyKind.TOLERATION_TYPO, before, after="=".join(filter(None, other)))
            yield Edit(change, _tolerating(position, other))


def _tolerating(position: int, taint: tuple[str, str]) -> Callable[[PodSpec], None]:
    def apply(changed: PodSpec) -> None:
        changed.tolerations[position].key, changed.tolerations[position].value = taint

    return apply


def _resources(spec: PodSpec, nodes: Iterable[Node]) -> Iterator[Edit]:
    offered = Counter(name for node in nodes for name in node.status.allocatable)
    for name in requested_names(spec):
        other = meant(name, offered)
        if other is not None:
            change = Remedy(RemedyKind.RESOURCE_TYPO, name, after=other, matches=offered[other])
            yield Edit(change, _requesting(name, other))


def _requesting(old: str, new: str) -> Callable[[PodSpec], None]:
    def apply(changed: PodSpec) -> None:
        for container in (*changed.containers, *changed.init_containers):
            for amounts in (container.resources.requests, container.resources.limits):
                if old in amounts:
                    amounts[new] = amounts.pop(old)

    return apply
