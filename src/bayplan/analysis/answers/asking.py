"""What every question needs: a cluster, the scheduler's configuration, and a cache to try things in."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TypeAlias

from bayplan.analysis.cluster import Cluster
from bayplan.analysis.group_placement import GroupPlacer
from bayplan.analysis.placement import Placer
from bayplan.analysis.profiles import own_schedulers_of, profile_of
from bayplan.config.feature_gates import GateSettings
from bayplan.config.loading import ConfigSource, Configuration, load_configuration
from bayplan.config.registry import build_profiles
from bayplan.core.cache import Cache
from bayplan.core.framework.profile import Profile
from bayplan.core.framework.requeue import Wakeups
from bayplan.model.pod import Pod
from bayplan.model.well_known import DEFAULT_NAMESPACE

#: Is told what is being done, how many of it are done, and of how many (0: not known).
Tell: TypeAlias = Callable[[str, int, int], None]


def _tell_nobody(what: str, done: int, total: int) -> None:
    """Where no one waits for the answer."""


@dataclass(frozen=True, slots=True)
class Asking:
    """A cluster under a configuration of the scheduler. Extenders are not asked."""

    cluster: Cluster
    configuration: Configuration
    profiles: Mapping[str, Profile]
    own_schedulers: frozenset[str] | None  # those whose pods may be preempted; None: all
    tell: Tell = _tell_nobody  # how far the answer is

    @classmethod
    def about(
        cls,
        cluster: Cluster,
        config: ConfigSource = None,
        feature_gates: GateSettings = None,
        foreign_victims: str | None = None,
        tell: Tell | None = None,
        *,
        with_groups: bool = False,
    ) -> Asking:
        """Raises InvalidObject for a configuration that kube-scheduler would reject.

        Where pod groups are on, the question has to know them: `with_groups`.
        """
        configuration = load_configuration(config, feature_gates, release=cluster.release, with_groups=with_groups)
        own_schedulers = own_schedulers_of(configuration, foreign_victims)
        return cls(cluster, configuration, build_profiles(configuration), own_schedulers, tell or _tell_nobody)

    @property
    def has_default_profiles(self) -> bool:
        """Whether pods are decided on as without a configuration."""
        return self.configuration.profiles == load_configuration(None, release=self.cluster.release).profiles

    def of(self, cluster: Cluster) -> Asking:
        """These settings, asked about another cluster."""
        return replace(self, cluster=cluster)

    def cache(self, without: str = "") -> Cache:
        """The cluster as the scheduler sees it, leaving one pod out."""
        gates = self.configuration.gates
        return self.cluster.build_cache(without, self.profiles, gates=gates, own_schedulers=self.own_schedulers)

    def placer(self, cache: Cache, *, tries_gated: bool = False) -> Placer:
        """Places pods into the cache, and remembers nothing but what makes the next decision fast."""
        return Placer(cache, self.profiles, keeps_ties=False, tries_gated=tries_gated)

    def group_placer(self, cache: Cache, placer: Placer) -> GroupPlacer:
        """Places pod groups into the cache, beside single pods."""
        return GroupPlacer(
            cache,
            self.profiles,
            gated=placer.tries_gated,
            decider=placer.decider,
            leaves_out_strays=self.configuration.wakeups is Wakeups.COMPLETE,
        )

    def pending(self, text: str, cache: Cache, namespace: str = DEFAULT_NAMESPACE) -> Pod:
        """The pod that a reference means, as if it were pending; see `Cluster.pending_pod`."""
        return self.cluster.pending_pod(text, cache, namespace)

    def profile_of(self, pod: Pod) -> Profile:
        """Raises InvalidObject if no profile has the pod's scheduler name."""
        return profile_of(self.profiles, pod)
