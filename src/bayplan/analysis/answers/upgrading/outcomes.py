"""What would become of each pod of a cluster if it were tried now, alone, by a scheduler with certain gates.

A running pod is tried as if it were new: without the place that it has. Answers are those of `Cluster.explain`; what is
known of identical pods is reused.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from bayplan.analysis.answers.asking import Asking
from bayplan.analysis.cluster import Cluster
from bayplan.analysis.cluster_objects import add_along, is_over, is_pending, unbound
from bayplan.config.loading import ConfigSource, load_configuration
from bayplan.config.registry import build_profiles
from bayplan.config.releases import release_of
from bayplan.core.cache import Cache
from bayplan.core.columns.shapes import PodInfo, Port, host_ports
from bayplan.core.cycle import attempt, choice_of
from bayplan.core.deciding import Decider
from bayplan.core.decision import Choice, Fits, NeedsPreemption
from bayplan.core.feature_gates import FeatureGates
from bayplan.core.framework.verdict import CycleError
from bayplan.core.queue.pre_enqueue import run_pre_enqueue


@dataclass(frozen=True, slots=True)
class VersionOutcome:
    """What a pod gets; `node` is "" if it gets none, and `message` what the scheduler says of it."""

    node: str = ""
    victims: tuple[str, ...] = ()
    message: str = ""

    def to_dict(self) -> dict[str, Any]:
        return {"node": self.node or None, "victims": list(self.victims), "message": self.message}


def pods_to_try(asking: Asking) -> tuple[list[str], list[str]]:
    """Keys of pending and of running pods that a profile is for; the pending ones that workloads lack included."""
    cluster, profiles = asking.cluster, asking.profiles
    pending = [key for key in cluster.pending_pods() if cluster.find_pod(key).spec.scheduler_name in profiles]
    running = [
        key
        for key, pod in cluster.pods.items()
        if not is_pending(pod) and not is_over(pod) and pod.spec.scheduler_name in profiles
    ]
    return pending, running


class Outcomes:
    """Of one cluster under one scheduler."""

    def __init__(self, asking: Asking, config: ConfigSource, gates: FeatureGates) -> None:
        self._cluster, self._gates, self._own_schedulers = asking.cluster, gates, asking.own_schedulers
        self._profiles = build_profiles(load_configuration(config, gates, release=release_of(gates)))
        self._cache = self._cache_without("")
        self._decider = Decider(self._profiles)
        self._sharing = _sharing_ports(self._cluster)

    def _cache_without(self, key: str) -> Cache:
        return self._cluster.build_cache(key, self._profiles, gates=self._gates, own_schedulers=self._own_schedulers)

    def of(self, key: str) -> VersionOutcome:
        """What becomes of the pod."""
        if key not in self._sharing:
            return self._tried(key, self._cache, self._decider)
        # If it left, its ports would be free though others have them, too (as upstream); it was never there.
        return self._tried(key, self._cache_without(key), Decider(self._profiles))

    def _tried(self, key: str, cache: Cache, decider: Decider) -> VersionOutcome:
        cluster = self._cluster
        planned = cluster.planned(key)
        pod = cluster.find_pod(key)
        with cache.trial():
            if key in cache.pods.rows_by_key:
                cache.remove_pod(key)
            add_along(cache, [planned] if planned is not None else [])
            info = cache.info(cluster.claiming(unbound(pod), cache))
            admitted = run_pre_enqueue(self._profiles[info.scheduler_name].pre_enqueue, info)
            if not admitted.ok:
                return VersionOutcome(message=admitted.message)
            try:
                return _outcome(self._choice(info, cache, decider), cache)
            except CycleError as error:
                return VersionOutcome(message=error.message)

    def _choice(self, info: PodInfo, cache: Cache, decider: Decider) -> Choice:
        """As `explain` has it: whatever node the pod is nominated to, and wherever a search for some nodes began."""
        view, profile = cache.view(), self._profiles[info.scheduler_name]
        is_sampled = profile.percentage_of_nodes_to_score is not None
        if view.nodes.alive_count and (info.nominated_node_name or is_sampled):
            return choice_of(attempt(profile, info, view), view)
        return decider.decide(info, view)


def _outcome(choice: Choice, cache: Cache) -> VersionOutcome:
    view = cache.view()
    if isinstance(choice, Fits):
        return VersionOutcome(view.nodes.names[choice.row])
    if not isinstance(choice, NeedsPreemption):
        return VersionOutcome(message=choice.diagnosis.message)
    keys = view.pods.keys
    victims = tuple(sorted(keys[row] for row in choice.victims_on(choice.row)))
    return VersionOutcome(view.nodes.names[choice.row], victims, choice.diagnosis.message)


def _sharing_ports(cluster: Cluster) -> frozenset[str]:
    """Pods that have a port of their node which another pod there has as well."""
    holders: dict[tuple[str, Port], list[str]] = {}
    for key, pod in cluster.pods.items():
        for port in host_ports(pod.spec) if pod.spec.node_name and not is_over(pod) else ():
            holders.setdefault((pod.spec.node_name, port), []).append(key)
    return frozenset(key for keys in holders.values() if len(keys) > 1 for key in keys)
