"""Single pods among pod groups, asked about in tests: what becomes of one that may preempt whole groups.

`try_pod` takes objects as an API server stores them and tries one pod once, in the order and words of kube-scheduler.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from bayplan.analysis.cluster import Cluster
from bayplan.analysis.cluster_objects import is_pending
from bayplan.analysis.group_explanation import plain_outcome
from bayplan.config.feature_gates import GateSettings
from bayplan.config.loading import ConfigSource, load_configuration
from bayplan.config.registry import build_profiles
from bayplan.core.groups.cycle import PodOutcome
from bayplan.core.groups.member import Member
from bayplan.core.groups.single import PodAttempt, attempt_pod
from bayplan.core.preemption.unit_search import UnitsFound
from bayplan.core.queue.pre_enqueue import run_pre_enqueue
from bayplan.core.snapshot import View


def try_pod(
    objects: Iterable[Mapping[str, Any]],
    pod: str,
    config: ConfigSource = None,
    feature_gates: GateSettings = None,
    kubernetes_version: str | None = None,
) -> dict[str, Any]:
    """Try a pod without a group once, with preemption, as plain data; one that is not pending is not queued."""
    cluster = Cluster.from_objects(objects, kubernetes_version=kubernetes_version)
    configuration = load_configuration(config, feature_gates, release=cluster.release, with_groups=True)
    profiles = build_profiles(configuration)
    cache = cluster.build_cache(profiles=profiles, gates=configuration.gates)
    found = cluster.claiming(cluster.find_pod(pod), cache)
    profile = profiles.get(found.spec.scheduler_name)
    member = Member(found, cache.info(found))
    if profile is None or not is_pending(found) or not run_pre_enqueue(profile.pre_enqueue, member.info).ok:
        return {"queued": False}
    if found.metadata.deletion_timestamp is not None:
        tried = PodAttempt(PodOutcome(member, is_skipped=True))
    else:
        tried = attempt_pod(cache, profile, member)
    return {
        "queued": True,
        **plain_outcome(tried.outcome),
        **_candidates(tried.found, cache.view()),
        "evicted": tried.evicted,
    }


def _candidates(found: UnitsFound | None, view: View) -> dict[str, Any]:
    if found is None:
        return {"candidates": {}, "nodeStatuses": {}}
    names, keys, candidates = view.nodes.names, view.pods.keys, found.candidates
    return {
        "candidates": {
            names[row]: {
                "victims": [keys[victim] for victim in candidates.victims_of(position)],
                "numPDBViolations": int(candidates.violations[position]),
            }
            for position, row in enumerate(candidates.rows)
        },
        "nodeStatuses": {
            names[row]: {"code": status.code.value, "reasons": list(status.reasons)}
            for row, status in found.node_statuses.items()
            if row not in found.ungathered_rows
        },
    }
