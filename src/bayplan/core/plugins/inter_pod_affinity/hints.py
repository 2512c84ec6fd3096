"""What may help a pod that InterPodAffinity has rejected.

Takes the pod and a pod or node that changed. Labels of namespaces are not known here: as upstream, a namespace selector
is tested on no labels at all. Up to v1.36 a pod counts for anti-affinity only if it meets *all* terms (`every`), later
if it meets any.
Upstream: plugins/interpodaffinity/plugin.go isSchedulableAfterNodeChange and its like (v1.36, v1.37).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from bayplan.core.columns.shapes import PodInfo
from bayplan.core.columns.terms import NO_TERMS, AffinityTerm, AffinityTerms, compile_affinity
from bayplan.core.plugins.requeue_rules import has_place, is_same_pod
from bayplan.model.node import Node
from bayplan.model.pod import Affinity, Pod, PodAntiAffinity


def after_pod_change(pod: PodInfo, old: Pod | None, new: Pod | None, *, every: bool = True) -> bool:
    """A pod to be near to has come, or one to be apart from has gone; or the pod's own labels changed."""
    if old is not None and new is not None and is_same_pod(pod, new):
        return True
    if any(moved is not None and not has_place(moved) for moved in (old, new)):
        return False
    if not pod.shape.terms.required_parse:
        return True  # As upstream: a hint that fails means that an attempt is worth it.
    if old is None:
        assert new is not None
        return _meets_all(pod.shape.terms.required, new)
    return _after_update(pod, old, new, every) if new is not None else _after_delete(pod, old, every)


def after_node_change(pod: PodInfo, old: Node | None, new: Node) -> bool:
    """A new node, or one that changed its domain, where the pod's own terms make that matter.

    As upstream: the terms of running pods, which may reject this one, are not looked at.
    """
    if not pod.shape.terms.required_parse:
        return True
    terms, after = pod.shape.terms, new.metadata.labels
    if old is None:
        return bool(terms.required_anti) or any(term.topology_key in after for term in terms.required)
    before = old.metadata.labels
    joined = any(term.topology_key in after and _differs(term, before, after) for term in terms.required)
    left = any(term.topology_key in before and _differs(term, before, after) for term in terms.required_anti)
    return joined or left


def _after_update(pod: PodInfo, old: Pod, new: Pod, every: bool) -> bool:
    near, apart = pod.shape.terms.required, pod.shape.terms.required_anti
    return (not _meets_all(near, old) and _meets_all(near, new)) or (
        _is_kept_apart(apart, old, every) and not _is_kept_apart(apart, new, every)
    )


def _after_delete(pod: PodInfo, old: Pod, every: bool) -> bool:
    if _is_kept_apart(pod.shape.terms.required_anti, old, every):
        return True
    unwanted = _required_anti_terms(old)
    reach = _all_reach if every else _any_reaches
    return bool(unwanted.faults) or reach(unwanted.required_anti, pod.namespace, pod.shape.labels)


def _is_kept_apart(terms: Sequence[AffinityTerm], pod: Pod, every: bool) -> bool:
    reach = _all_reach if every else _any_reaches
    return reach(terms, pod.metadata.namespace, pod.metadata.labels)


def _required_anti_terms(pod: Pod) -> AffinityTerms:
    apart = pod.spec.affinity.pod_anti_affinity if pod.spec.affinity is not None else None
    if apart is None or not apart.required:
        return NO_TERMS
    required_only = Affinity(pod_anti_affinity=PodAntiAffinity(required=apart.required))
    return compile_affinity(required_only, pod.metadata.namespace)


def _meets_all(terms: Sequence[AffinityTerm], pod: Pod) -> bool:
    return _all_reach(terms, pod.metadata.namespace, pod.metadata.labels)


def _all_reach(terms: Sequence[AffinityTerm], namespace: str, labels: Mapping[str, str]) -> bool:
    """No terms reach nobody."""
    return bool(terms) and all(_reaches(term, namespace, labels) for term in terms)


def _any_reaches(terms: Sequence[AffinityTerm], namespace: str, labels: Mapping[str, str]) -> bool:
    return any(_reaches(term, namespace, labels) for term in terms)


def _reaches(term: AffinityTerm, namespace: str, labels: Mapping[str, str]) -> bool:
    return (namespace in term.namespaces or term.namespace_selector.matches({})) and term.selector.matches(labels)


def _differs(term: AffinityTerm, before: Mapping[str, str], after: Mapping[str, str]) -> bool:
    return before.get(term.topology_key) != after.get(term.topology_key)
