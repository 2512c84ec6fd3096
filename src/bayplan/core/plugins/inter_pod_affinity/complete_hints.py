"""What may help a pod that InterPodAffinity has rejected, and what upstream's hints sleep through.

Takes the pod and a pod, node or namespace that changed. A pod counts if it meets *any* term that keeps pods apart.
Labels of namespaces are not known here: a term that selects namespaces by label is taken to reach them all. Terms of
other running pods are not known either, so that any change of a node's labels may have moved them.
Upstream: plugins/interpodaffinity/plugin.go EventsToRegister (v1.36).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from bayplan.core.columns.shapes import PodInfo
from bayplan.core.columns.terms import AffinityTerm, compile_affinity
from bayplan.core.plugins.requeue_rules import has_place
from bayplan.model.cluster import Namespace
from bayplan.model.node import Node
from bayplan.model.pod import Pod


def after_pod_change(pod: PodInfo, old: Pod | None, new: Pod | None) -> bool:
    """A pod to be near to has come; or one has gone that was to be apart, or stood in the way of the first of many."""
    if any(moved is not None and not has_place(moved) for moved in (old, new)):
        return False
    terms = pod.shape.terms
    near_before, near_after = _meets_all(terms.required, old), _meets_all(terms.required, new)
    if near_after and not near_before:
        return True
    if near_before and not near_after and _all_reach(terms.required, pod.namespace, pod.shape.labels):
        return True  # it may have been the only one, and the pod may then be the first
    left = _met(terms.required_anti, old) - _met(terms.required_anti, new)
    return bool(left) or (new is None and old is not None and _keeps_away(old, pod))


def after_node_come(pod: PodInfo, old: None, new: Node) -> bool:  # noqa: ARG001
    """A node in a domain of its own, or in one that no pod keeps this one away from."""
    return all(term.topology_key in new.metadata.labels for term in pod.shape.terms.required)


def after_namespace_change(pod: PodInfo, old: Namespace | None, new: Namespace | None) -> bool:
    """The pod's terms select other namespaces than before, or those of running pods may select the pod's own."""
    subject = new if new is not None else old
    assert subject is not None
    terms = (*pod.shape.terms.required, *pod.shape.terms.required_anti)
    return (subject.metadata.name == pod.namespace and _labels(old) != _labels(new)) or any(
        _selects(term, old) != _selects(term, new) for term in terms
    )


def _labels(namespace: Namespace | None) -> Mapping[str, str]:
    return {} if namespace is None else namespace.metadata.labels


def _selects(term: AffinityTerm, namespace: Namespace | None) -> bool:
    return namespace is not None and term.namespace_selector.matches(namespace.metadata.labels)


def _keeps_away(running: Pod, pod: PodInfo) -> bool:
    carried = compile_affinity(running.spec.affinity, running.metadata.namespace).required_anti
    return any(_may_reach(term, pod.namespace, pod.shape.labels) for term in carried)


def _meets_all(terms: Sequence[AffinityTerm], pod: Pod | None) -> bool:
    return pod is not None and _all_reach(terms, pod.metadata.namespace, pod.metadata.labels)


def _all_reach(terms: Sequence[AffinityTerm], namespace: str, labels: Mapping[str, str]) -> bool:
    """No terms reach nobody."""
    return bool(terms) and all(_may_reach(term, namespace, labels) for term in terms)


def _met(terms: Iterable[AffinityTerm], pod: Pod | None) -> set[AffinityTerm]:
    if pod is None:
        return set()
    return {term for term in terms if _may_reach(term, pod.metadata.namespace, pod.metadata.labels)}


def _may_reach(term: AffinityTerm, namespace: str, labels: Mapping[str, str]) -> bool:
    selects_namespaces = not term.namespace_selector.selects_nothing
    return (namespace in term.namespaces or selects_namespaces) and term.selector.matches(labels)
