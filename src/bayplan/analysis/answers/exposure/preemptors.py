"""Given pods as preemptors: would they evict the pods in question?

Takes objects that are not in the cluster yet. Each pod among them, and the next pod of each workload, is decided alone,
as things are: where it likes, and once more as if it had to run on the node of each pod in question.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import deepcopy
from dataclasses import replace

from bayplan.analysis.answers.asking import Asking
from bayplan.analysis.answers.exposure.answer import PreemptorEffect
from bayplan.analysis.answers.exposure.exposing import priority_of
from bayplan.analysis.answers.exposure.probing import decided
from bayplan.analysis.references import POD, not_found, written
from bayplan.controllers.ownership import WORKLOADS, is_terminal, key_of
from bayplan.controllers.workloads.daemon_placement import pin
from bayplan.core.cache import Cache
from bayplan.model.kinds import Object, object_key
from bayplan.model.pod import NodeSelectorTerm, Pod
from bayplan.model.reading import ReadResult


def preemptors_among(asking: Asking, given: ReadResult, subjects: Sequence[Pod]) -> Iterator[PreemptorEffect]:
    """What each pod among the new objects does to the subjects. Raises InvalidObject if there is none."""
    new = given.objects
    replaced = {key_of(obj) for obj in new}
    objects = [*(obj for obj in asking.cluster.objects if key_of(obj) not in replaced), *new]
    cluster = asking.cluster.like(objects, {**asking.cluster.sources, **given.sources})
    merged = replace(asking, cluster=cluster)
    cache = merged.cache()
    pods = [merged.pending(text, cache, "") for text in _pods_to_come(new)]
    if not pods:
        raise not_found("--against", "contains no pod without a node, and no workload")
    for pod in pods:
        yield _tried(merged, cache, pod, subjects)


def _pods_to_come(new: Sequence[Object]) -> Iterator[str]:
    for obj in new:
        meta = obj.metadata
        if isinstance(obj, WORKLOADS):
            yield written(type(obj).__name__, meta.namespace, meta.name)
        elif isinstance(obj, Pod) and not obj.spec.node_name and not is_terminal(obj):
            yield written(POD, meta.namespace, meta.name)


def _tried(asking: Asking, cache: Cache, pod: Pod, subjects: Sequence[Pod]) -> PreemptorEffect:
    profile = asking.profile_of(pod)
    outcome = decided(cache, profile, cache.info(pod))
    return PreemptorEffect(
        pod=object_key(pod),
        priority=priority_of(pod),
        outcome=outcome,
        evicts=tuple(key for key in map(object_key, subjects) if key in outcome.victims),
        evicts_if_pinned=tuple(
            object_key(subject)
            for subject in subjects
            if object_key(subject) in decided(cache, profile, cache.info(_kept_to(pod, subject.spec.node_name))).victims
        ),
    )


def _kept_to(pod: Pod, node: str) -> Pod:
    """The pod with all that it wants, and no node left but this one."""
    kept = deepcopy(pod)
    wanted = _required_terms(kept)
    pin(kept, node)
    if wanted:
        (by_name,) = _required_terms(kept)
        for term in wanted:
            term.match_fields.extend(by_name.match_fields)
        _required_terms(kept)[:] = wanted
    return kept


def _required_terms(pod: Pod) -> list[NodeSelectorTerm]:
    affinity = pod.spec.affinity.node_affinity if pod.spec.affinity is not None else None
    return affinity.required.node_selector_terms if affinity is not None and affinity.required is not None else []
