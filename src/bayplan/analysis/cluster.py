"""A cluster to ask questions about: files or objects in, explanations and placements out.

Objects go through admission as in an API server; workloads count as the pods they would create in addition to the
existing ones. Nothing is written, and answering a question does not change the cluster.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from copy import copy
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bayplan.analysis.cluster_objects import ClusterObjects, PodQueue, add_along, check_pending, unbound
from bayplan.analysis.explanation import PodExplanation
from bayplan.analysis.extenders import asking_extenders
from bayplan.analysis.group_capacity import GroupCapacity, copies_of, count_groups
from bayplan.analysis.group_placement import place_with_groups
from bayplan.analysis.placement import Placement, place_pods
from bayplan.analysis.profiles import own_schedulers_of, profile_of
from bayplan.analysis.references import group_named, not_found
from bayplan.analysis.showing import Shown
from bayplan.analysis.tie_breaks import tie_break
from bayplan.config.feature_gates import GateSettings
from bayplan.config.loading import ConfigSource, Configuration, load_configuration
from bayplan.config.registry import build_profiles
from bayplan.config.releases import NEWEST_RELEASE, ChosenRelease, KubernetesRelease, next_to, release_named
from bayplan.core.cache import Cache
from bayplan.core.cycle import attempt
from bayplan.core.explain import Explanation
from bayplan.core.framework.profile import Profile
from bayplan.core.preemption.unit_search import UnitSearch
from bayplan.core.queue.pre_enqueue import run_pre_enqueue
from bayplan.model.errors import Fault, InvalidObject
from bayplan.model.kinds import Object, object_key
from bayplan.model.pod import Pod, group_key
from bayplan.model.reading import ReadResult, Sources, from_dicts, read
from bayplan.model.resource_claims import ResourceClaim
from bayplan.model.well_known import DEFAULT_NAMESPACE

if TYPE_CHECKING:
    from bayplan.analysis.answers.asking import Tell
    from bayplan.analysis.answers.audit.auditing import Audit
    from bayplan.analysis.answers.capacity import Capacity
    from bayplan.analysis.answers.changes import Given
    from bayplan.analysis.answers.drain import Draining
    from bayplan.analysis.answers.exposure.answer import Exposure, ExposureRanking
    from bayplan.analysis.answers.fixing.answer import Fixes
    from bayplan.analysis.answers.gangs.explaining import ExplainedGroup, ExplainedWorkload
    from bayplan.analysis.answers.least_disruption import LeastDisruption
    from bayplan.analysis.answers.moving.consolidate import Consolidation
    from bayplan.analysis.answers.moving.defrag import Defrag
    from bayplan.analysis.answers.moving.group_defrag import GroupDefrag
    from bayplan.analysis.answers.pending import PendingPods
    from bayplan.analysis.answers.planning.plan import NodePlan
    from bayplan.analysis.answers.upgrading.upgrade import Upgrade
    from bayplan.analysis.answers.whatif import WhatIf


class Cluster(Shown, ClusterObjects):
    """Nodes, pods and everything else that affects scheduling, to ask questions about."""

    @classmethod
    def load(cls, *paths: str | Path, kubernetes_version: str | None = None) -> Cluster:
        """From YAML or JSON files and directories; `-` is standard input. Raises InvalidObject.

        The scheduler is that of `kubernetes_version` (`1.37`, `v1.36.4`), by default that of the cluster which was
        dumped; with `nearest`, one that is close to it. If nothing says a version, it is the newest that is known.
        """
        return cls.of(read(paths), kubernetes_version)

    @classmethod
    def from_objects(cls, objects: Iterable[Mapping[str, Any]], kubernetes_version: str | None = None) -> Cluster:
        """From Kubernetes objects as plain dicts. Raises InvalidObject."""
        return cls.of(from_dicts(list(objects)), kubernetes_version)

    @classmethod
    def of(cls, result: ReadResult, kubernetes_version: str | None = None) -> Cluster:
        """From what has been read."""
        return cls(
            result.objects,
            result.skipped,
            result.sources,
            is_whole=result.is_whole,
            kubernetes_version=kubernetes_version,
            recorded_version=result.kubernetes_version,
        )

    def like(self, objects: list[Object], sources: Sources | None = None) -> Cluster:
        """A cluster of these objects with the same scheduler."""
        given = self.sources if sources is None else sources
        return Cluster(objects, sources=given, kubernetes_version=self.kubernetes_version)

    # Questions.

    def explain(
        self,
        pod: str,
        config: ConfigSource = None,
        *,
        namespace: str = DEFAULT_NAMESPACE,
        feature_gates: GateSettings = None,
        foreign_victims: str | None = None,
        call_extenders: bool = False,
    ) -> PodExplanation:
        """Where does this pod fit, why not elsewhere, and which pods would it preempt?

        The pod may be the next one of a workload (`deployment/web`); a running pod is treated as if it were pending.
        With `foreign_victims="never"`, pods of schedulers that the configuration does not have are not preempted.
        Extenders of the configuration are called only with `call_extenders`. Where pod groups are on, whole groups may
        be among those that it preempts; a pod of a group is not tried alone: ask `explain_group`.
        """
        wanted = self.wanted(pod, namespace)
        configuration = load_configuration(config, feature_gates, release=self.release, with_groups=True)
        if configuration.gates.generic_workload and (group := group_key(wanted.pod)):
            raise not_found(f"Pod {wanted.subject.key}", f"is not tried alone: ask about podgroup/{group}")
        pending = unbound(wanted.pod)
        with asking_extenders(configuration, [*self.objects, pending], called=call_extenders) as extenders:
            profiles = build_profiles(configuration, extenders)
            profile = profile_of(profiles, wanted.pod)
            own_schedulers = own_schedulers_of(configuration, foreign_victims)
            cache = self.build_cache(
                wanted.subject.key, profiles, gates=configuration.gates, own_schedulers=own_schedulers
            )
            add_along(cache, [wanted.origin] if wanted.origin else [])
            info = cache.info(self.claiming(pending, cache))
            view = cache.view()
            found = attempt(profile, info, view, search=UnitSearch.where_needed(cache, profile))
        return PodExplanation(
            wanted.subject, Explanation(found, view, run_pre_enqueue(profile.pre_enqueue, info)), profile
        )

    def explain_group(
        self,
        group: str,
        config: ConfigSource = None,
        *,
        namespace: str = DEFAULT_NAMESPACE,
        feature_gates: GateSettings = None,
    ) -> ExplainedGroup:
        """What would become of a PodGroup if it were tried now, of each of its pods, and what would help?

        Needs a Kubernetes version with pod groups, and the gate GenericWorkload. Raises InvalidObject for a group that
        neither exists nor has pods.
        """
        from bayplan.analysis.answers.gangs.explaining import explained_group  # noqa: PLC0415

        return explained_group(self, self._with_groups(config, feature_gates), _group_key(group, namespace))

    def explain_workload(
        self,
        workload: str,
        config: ConfigSource = None,
        *,
        namespace: str = DEFAULT_NAMESPACE,
        feature_gates: GateSettings = None,
    ) -> ExplainedWorkload:
        """As `explain_group`, for each PodGroup of a Workload. Raises InvalidObject for a Workload without any."""
        from bayplan.analysis.answers.gangs.explaining import ExplainedWorkload, explained_group  # noqa: PLC0415

        key = _group_key(workload, namespace)
        configuration = self._with_groups(config, feature_gates)
        groups = [explained_group(self, configuration, group) for group in self.groups_of_workload(key)]
        return ExplainedWorkload(key, tuple(groups))

    def _with_groups(self, config: ConfigSource, feature_gates: GateSettings) -> Configuration:
        """For a question about a group. Raises InvalidObject where groups are off."""
        configuration = load_configuration(config, feature_gates, release=self.release, with_groups=True)
        if not configuration.gates.generic_workload:
            message = (
                f"pod groups are off in Kubernetes {self.kubernetes_version} unless the gate GenericWorkload is on"
            )
            raise InvalidObject([Fault("", "", "feature gates", message)])
        return configuration

    def group_capacity(
        self,
        group: str,
        config: ConfigSource = None,
        *,
        namespace: str = DEFAULT_NAMESPACE,
        wanted: int = 1,
        evicting: bool = False,
        feature_gates: GateSettings = None,
        foreign_victims: str | None = None,
    ) -> GroupCapacity:
        """How many more groups like this PodGroup and its pods fit? With `evicting`, also how many more by evictions.

        Pods that wait for a node are not placed first. `wanted` is how many should fit. Raises InvalidObject for a
        group that does not exist or has no pods.
        """
        configuration = self._with_groups(config, feature_gates)
        profiles = build_profiles(configuration)
        key = _group_key(group, namespace)
        cache = self._cache_under(configuration, profiles, foreign_victims)
        found, _ = self.group_members(key, profiles, cache)
        pods = [pod for pod in self.pods.values() if group_key(pod) == key and pod.spec.scheduler_name in profiles]
        if found is None or not pods:
            raise not_found(f"podgroup/{key}", "has no pods" if found is not None else "not found in the input")
        makes_claims = configuration.gates.dra_workload_resource_claims
        copies = copies_of(found, pods, self.claim_templates, makes_group_claims=makes_claims)
        return count_groups(cache, profiles, copies, key, wanted=wanted, evicting=evicting)

    def gang_capacity(
        self,
        pod: str,
        size: int,
        within: str = "",
        config: ConfigSource = None,
        *,
        namespace: str = DEFAULT_NAMESPACE,
        wanted: int = 1,
        evicting: bool = False,
        feature_gates: GateSettings = None,
        foreign_victims: str | None = None,
    ) -> GroupCapacity:
        """As `group_capacity`, for gangs of `size` pods, each on nodes with one value of the label `within`.

        `pod` is a file with one pod or workload, or requests such as `nvidia.com/gpu=4`. Raises InvalidObject.
        """
        from bayplan.analysis.answers.gangs.imagined import gang_pattern, gangs_of  # noqa: PLC0415

        configuration = self._with_groups(config, feature_gates)
        if within and not configuration.gates.topology_aware_workload_scheduling:
            message = f"gangs may be anywhere, and not only on nodes with one value of {within}, unless the gate "
            raise InvalidObject([Fault("", "", "feature gates", f"{message}TopologyAwareWorkloadScheduling is on")])
        profiles = build_profiles(configuration)
        pattern = gang_pattern(self, pod, namespace)
        profile_of(profiles, pattern.pod)
        cache = self._cache_under(configuration, profiles, foreign_victims)
        for obj in pattern.along:
            cache.add(obj)
        copies = gangs_of(pattern, size, within)
        return count_groups(cache, profiles, copies, pattern.name, is_new=True, wanted=wanted, evicting=evicting)

    def _cache_under(
        self, configuration: Configuration, profiles: Mapping[str, Profile], foreign_victims: str | None
    ) -> Cache:
        own_schedulers = own_schedulers_of(configuration, foreign_victims)
        return self.build_cache(profiles=profiles, gates=configuration.gates, own_schedulers=own_schedulers)

    def pending(
        self,
        namespace: str = "",
        selector: str = "",
        config: ConfigSource = None,
        *,
        feature_gates: GateSettings = None,
        foreign_victims: str | None = None,
    ) -> PendingPods:
        """The pending pods of a namespace (or of all) with these labels, and why each workload's do not run."""
        from bayplan.analysis.answers.asking import Asking  # noqa: PLC0415
        from bayplan.analysis.answers.pending import pending_pods  # noqa: PLC0415

        return pending_pods(
            Asking.about(self, config, feature_gates, foreign_victims, with_groups=True), namespace, selector
        )

    def least_disruption(
        self,
        pod: str,
        config: ConfigSource = None,
        *,
        namespace: str = DEFAULT_NAMESPACE,
        feature_gates: GateSettings = None,
        foreign_victims: str | None = None,
    ) -> LeastDisruption:
        """The least that any preemption could disrupt for this pod, whichever pods on whichever nodes it evicts."""
        from bayplan.analysis.answers.asking import Asking  # noqa: PLC0415
        from bayplan.analysis.answers.least_disruption import least_disruption  # noqa: PLC0415

        return least_disruption(Asking.about(self, config, feature_gates, foreign_victims), pod, namespace)

    def place(
        self,
        pods: Sequence[str] | None = None,
        config: ConfigSource = None,
        ties: str = "name",
        *,
        gated: bool = False,
        feature_gates: GateSettings = None,
        foreign_victims: str | None = None,
        call_extenders: bool = False,
    ) -> Placement:
        """Place pending pods one by one in the given order, evicting only where necessary; None: the whole queue.

        With the gate GenericWorkload (Kubernetes 1.37), pods of a group are placed together, or not at all.
        Pods that PreEnqueue holds back get no node, unless `gated` says to place them as if it did not. With
        `foreign_victims="never"`, pods of schedulers that the configuration does not have are not evicted. Extenders
        of the configuration are called only with `call_extenders`, and never to bind.
        """
        keys = self.queue(config, gated=gated, feature_gates=feature_gates).keys if pods is None else pods
        configuration = load_configuration(config, feature_gates, release=self.release, with_groups=True)
        pending = [self.find_pod(key) for key in keys]
        with asking_extenders(configuration, [*self.objects, *pending], called=call_extenders) as extenders:
            profiles = build_profiles(configuration, extenders)
            for pod in pending:
                check_pending(pod)
                profile_of(profiles, pod)
            own_schedulers = own_schedulers_of(configuration, foreign_victims)
            cache = self.build_cache(profiles=profiles, gates=configuration.gates, own_schedulers=own_schedulers)
            place = place_with_groups if configuration.gates.generic_workload else place_pods
            return place(cache, profiles, self.prepared(keys, cache), tie_break(ties), gated=gated)

    def queue(
        self,
        config: ConfigSource = None,
        named: Iterable[str] | None = None,
        namespace: str = DEFAULT_NAMESPACE,
        *,
        gated: bool = False,
        feature_gates: GateSettings = None,
    ) -> PodQueue:
        """Pending pods in queue order: by priority, then by arrival, unless a QueueSort plugin decides otherwise.

        With `gated`, pods that PreEnqueue holds back are in it, too. `named` restricts them to some pods, or to all
        missing pods of a workload. Raises InvalidObject for unknown names, and for workloads whose pods an API server
        would reject.
        """
        configuration = load_configuration(config, feature_gates, release=self.release, with_groups=True)
        profiles = build_profiles(configuration)
        if named is None:
            return self.queue_under(profiles, configuration.gates, gated=gated)
        keys = self.pending_among(named, namespace)
        for key in keys:
            profile_of(profiles, self.find_pod(key))  # raises: somebody asked for this very pod
        return self.queue_under(profiles, configuration.gates, keys, gated=gated)

    def whatif(
        self,
        apply: Sequence[Given] = (),
        *,
        delete: Sequence[str] = (),
        drain: Sequence[str] = (),
        add_nodes: Sequence[str] = (),
        namespace: str = DEFAULT_NAMESPACE,
        config: ConfigSource = None,
        feature_gates: GateSettings = None,
        foreign_victims: str | None = None,
    ) -> WhatIf:
        """What does this change do: which pods get a node, are evicted and by what, or stay pending?

        `apply` takes files, directories and objects as plain dicts; `delete` KIND/NAME; `drain` node names;
        `add_nodes` `NODE=N`, `FILE=N` or `8cpu,32Gi=N`. Raises InvalidObject.
        """
        from bayplan.analysis.answers.asking import Asking  # noqa: PLC0415
        from bayplan.analysis.answers.changes import read_change  # noqa: PLC0415
        from bayplan.analysis.answers.whatif import whatif  # noqa: PLC0415

        asking = Asking.about(self, config, feature_gates, foreign_victims, with_groups=True)
        return whatif(asking, read_change(self, apply, delete, add_nodes, namespace), drain)

    def drain(
        self,
        nodes: Sequence[str] = (),
        *,
        selector: str = "",
        rolling: bool = False,
        config: ConfigSource = None,
        feature_gates: GateSettings = None,
        foreign_victims: str | None = None,
    ) -> Draining:
        """Would all pods on these nodes fit elsewhere, and may they be evicted?

        `selector` adds all nodes with these labels (`pool=a`). With `rolling`, each node is back before the next one
        is drained. Raises InvalidObject.
        """
        from bayplan.analysis.answers.asking import Asking  # noqa: PLC0415
        from bayplan.analysis.answers.drain import drain, nodes_named  # noqa: PLC0415

        asking = Asking.about(self, config, feature_gates, foreign_victims, with_groups=True)
        return drain(asking, nodes_named(self, nodes, selector), rolling=rolling)

    def defrag(
        self,
        wanted: str,
        *,
        namespace: str = DEFAULT_NAMESPACE,
        max_moves: int | None = None,
        seconds: float | None = None,
        config: ConfigSource = None,
        feature_gates: GateSettings = None,
        foreign_victims: str | None = None,
        tell: Tell | None = None,
    ) -> Defrag:
        """Which running pods have to move, in which order, so that a pod fits: the fewest that could be found.

        Args:
            wanted: a pending pod or a workload of this cluster, a file with one, or requests such as `cpu=8`.
            max_moves: more are no answer.
            seconds: how long to look for fewer moves, and for a proof that there are none.
        """
        from bayplan.analysis.answers.asking import Asking  # noqa: PLC0415
        from bayplan.analysis.answers.moving.defrag import SearchLimits, defrag  # noqa: PLC0415

        asking = Asking.about(self, config, feature_gates, foreign_victims, tell, with_groups=True)
        return defrag(asking, wanted, namespace, SearchLimits.of(max_moves, seconds))

    def group_defrag(
        self,
        group: str,
        *,
        namespace: str = DEFAULT_NAMESPACE,
        max_moves: int | None = None,
        seconds: float | None = None,
        config: ConfigSource = None,
        feature_gates: GateSettings = None,
        foreign_victims: str | None = None,
        tell: Tell | None = None,
    ) -> GroupDefrag:
        """As `defrag`, for a PodGroup: which pods have to move so that enough of its pods fit (in one domain)?

        Raises InvalidObject for a group of which no pod waits.
        """
        from bayplan.analysis.answers.asking import Asking  # noqa: PLC0415
        from bayplan.analysis.answers.moving.defrag import SearchLimits  # noqa: PLC0415
        from bayplan.analysis.answers.moving.group_defrag import group_defrag  # noqa: PLC0415

        self._with_groups(config, feature_gates)
        asking = Asking.about(self, config, feature_gates, foreign_victims, tell, with_groups=True)
        return group_defrag(asking, _group_key(group, namespace), SearchLimits.of(max_moves, seconds))

    def consolidate(
        self,
        *,
        selector: str = "",
        max_nodes: int | None = None,
        max_moves: int | None = None,
        seconds: float | None = None,
        config: ConfigSource = None,
        feature_gates: GateSettings = None,
        foreign_victims: str | None = None,
        tell: Tell | None = None,
    ) -> Consolidation:
        """Which nodes can be given back: as many as could be found, with every pod running elsewhere.

        `selector` restricts them to nodes with these labels (`pool=a`); `seconds` is how long to search. Raises
        InvalidObject.
        """
        from bayplan.analysis.answers.asking import Asking  # noqa: PLC0415
        from bayplan.analysis.answers.moving.consolidate import Wish, consolidate  # noqa: PLC0415
        from bayplan.analysis.answers.moving.defrag import SECONDS  # noqa: PLC0415

        asking = Asking.about(self, config, feature_gates, foreign_victims, tell, with_groups=True)
        return consolidate(asking, Wish(selector, max_nodes, max_moves, SECONDS if seconds is None else seconds))

    def plan(
        self,
        catalog: str | Path | list[Any],
        *,
        survive: str = "",
        seconds: float | None = None,
        config: ConfigSource = None,
        feature_gates: GateSettings = None,
        foreign_victims: str | None = None,
        tell: Tell | None = None,
    ) -> NodePlan:
        """The cheapest nodes of a catalog that hold all pending pods, with a lower bound for their price.

        Args:
            catalog: a file, or its entries as plain dicts: `name`, `capacity`, `price`, and if need be `labels`,
                `taints`, `zones`, `max`.
            survive: "node" or "zone": the pods must also fit when any new node, or any zone, is gone.
            seconds: how long to search for cheaper nodes.
        """
        from bayplan.analysis.answers.asking import Asking  # noqa: PLC0415
        from bayplan.analysis.answers.planning.catalog import catalog_of, read_catalog  # noqa: PLC0415
        from bayplan.analysis.answers.planning.plan import SECONDS, plan  # noqa: PLC0415

        types = catalog_of(catalog) if isinstance(catalog, list) else read_catalog(catalog)
        asking = Asking.about(self, config, feature_gates, foreign_victims, tell, with_groups=True)
        return plan(asking, types, survive=survive, seconds=SECONDS if seconds is None else seconds)

    def capacity(
        self,
        pods: Sequence[str | Mapping[str, Any]] = (),
        workloads: Sequence[str] = (),
        config: ConfigSource = None,
        *,
        namespace: str = DEFAULT_NAMESPACE,
        replicas: int | None = None,
        nodes: Sequence[str] = (),
        evicting: bool = True,
        pool_labels: Sequence[str] = (),
        feature_gates: GateSettings = None,
        foreign_victims: str | None = None,
    ) -> Capacity:
        """How many more of these pods fit, where, what runs out first, and how many nodes would be needed.

        Args:
            pods: objects, files with one pod or workload each, or requests such as `cpu=500m,memory=1Gi`; texts may
                end in `=N`, the number of these pods in each set.
            workloads: of this cluster, as for `explain`; also with `=N`.
            replicas: how many are wanted; if they do not fit, the answer has the number of nodes of each kind it takes.
            nodes: the kinds of nodes to add (`8cpu,32Gi`, or a file with nodes); none: those in the cluster.
            evicting: count once more, with pods of lower priority evicted.
            pool_labels: labels of nodes that make a pool; none: instance type and taints.
        """
        from bayplan.analysis.answers.asking import Asking  # noqa: PLC0415
        from bayplan.analysis.answers.capacity import capacity  # noqa: PLC0415

        asking = Asking.about(self, config, feature_gates, foreign_victims)
        return capacity(
            asking,
            pods,
            workloads,
            namespace=namespace,
            replicas=replicas,
            nodes=nodes,
            evicting=evicting,
            pool_labels=pool_labels,
        )

    def audit(
        self,
        config: ConfigSource = None,
        *,
        ignored: Collection[str] = (),
        feature_gates: GateSettings = None,
        foreign_victims: str | None = None,
        processes: int = 1,
        tell: Tell | None = None,
    ) -> Audit:
        """Problems found before they hurt; `ignored` are names of rules to skip. What happens if a node fails is
        tried for every node, in up to this many `processes` (on Linux); `tell` is told how many are done.
        """
        from bayplan.analysis.answers.asking import Asking  # noqa: PLC0415
        from bayplan.analysis.answers.audit.auditing import audit  # noqa: PLC0415

        asking = Asking.about(self, config, feature_gates, foreign_victims, tell, with_groups=True)
        return audit(asking, ignored=ignored, processes=processes)

    def upgrade(
        self,
        to: str | None = None,
        config: ConfigSource = None,
        *,
        rules: Sequence[str] = (),
        feature_gates: GateSettings = None,
        foreign_victims: str | None = None,
        tell: Tell | None = None,
    ) -> Upgrade:
        """What changes when the cluster's Kubernetes becomes another version, by default the newest that is known?

        Each pending pod, and each running one as if it were new, is decided on by both schedulers. `rules` are files
        with Prometheus rules and Grafana dashboards. Raises InvalidObject if the cluster has that version already.
        """
        from bayplan.analysis.answers.asking import Asking  # noqa: PLC0415
        from bayplan.analysis.answers.upgrading.upgrade import upgrade  # noqa: PLC0415

        release = NEWEST_RELEASE if to is None else release_named(to)
        start = self.upgraded_from(release)
        asking = Asking.about(start, config, feature_gates, foreign_victims, tell)
        return upgrade(asking, release, config, feature_gates, rules)

    def upgraded_from(self, to: KubernetesRelease) -> Cluster:
        """The cluster before it becomes that version: of its own, or if that is not known, of the one next to it."""
        if not self.version_is_assumed:
            if to is self.release:
                raise InvalidObject([Fault("", "", "", f"the cluster has Kubernetes v{to.version} already")])
            return self
        return self.under(next_to(to))

    def under(self, release: KubernetesRelease) -> Cluster:
        """These objects under the scheduler of another version."""
        other = copy(self)
        other._chosen = ChosenRelease(release)
        return other

    def after(self, placement: Placement) -> Cluster:
        """The cluster after the placed pods run and their victims are gone."""
        gone = {victim for placed in placement.decisions for victim in placed.victims}
        claims = {object_key(claim): claim for claim in placement.claims}
        nodes = {placed.pod: placed.node for placed in placement.decisions if placed.node and placed.pod not in gone}
        planned = [new for key in nodes if (new := self.planned(key)) is not None]
        along = {id(new.origin): new.origin.along for new in planned}
        objects: list[Object] = [obj for obj in self.objects if not (isinstance(obj, Pod) and object_key(obj) in gone)]
        objects += [obj for brought in along.values() for obj in brought]
        objects += [new.pod for new in planned]
        objects = [obj for obj in objects if not (isinstance(obj, ResourceClaim) and object_key(obj) in claims)]
        return self.like([*(_bound(obj, nodes) if isinstance(obj, Pod) else obj for obj in objects), *claims.values()])

    def exposure(
        self,
        pod: str,
        config: ConfigSource = None,
        *,
        namespace: str = DEFAULT_NAMESPACE,
        against: Sequence[Given] = (),
        feature_gates: GateSettings = None,
        foreign_victims: str | None = None,
    ) -> Exposure:
        """What could evict this running pod, or the pods of this workload or of `podgroup/NAME`?

        `against` takes files, directories and objects as plain dicts: would the pods and workloads in them evict it?
        Each is decided on its own. Raises InvalidObject.
        """
        from bayplan.analysis.answers.asking import Asking  # noqa: PLC0415
        from bayplan.analysis.answers.changes import read_given  # noqa: PLC0415
        from bayplan.analysis.answers.exposure.subjects import exposure_of  # noqa: PLC0415

        if group_named(pod, namespace):
            self._with_groups(config, feature_gates)
        asking = Asking.about(self, config, feature_gates, foreign_victims, with_groups=True)
        return exposure_of(asking, pod, namespace, read_given(against) if against else None)

    def exposure_ranking(
        self,
        config: ConfigSource = None,
        *,
        top: int = 20,
        namespace: str = "",
        priority_class: str = "",
        feature_gates: GateSettings = None,
        foreign_victims: str | None = None,
    ) -> ExposureRanking:
        """The workloads whose pods are evicted most easily, most exposed first; all, or of a namespace or class."""
        from bayplan.analysis.answers.asking import Asking  # noqa: PLC0415
        from bayplan.analysis.answers.exposure.ranking import ranking_of  # noqa: PLC0415

        asking = Asking.about(self, config, feature_gates, foreign_victims, with_groups=True)
        return ranking_of(asking, top, namespace, priority_class)

    def fix(
        self,
        pod: str,
        config: ConfigSource = None,
        *,
        namespace: str = DEFAULT_NAMESPACE,
        feature_gates: GateSettings = None,
        foreign_victims: str | None = None,
        tell: Tell | None = None,
    ) -> Fixes:
        """Which changes would let this pending pod, or the next pod of this workload, run? The smallest come first.

        Of `podgroup/NAME`, and where pod groups are on of a pod that belongs to one: which would let the group run?
        """
        from bayplan.analysis.answers.asking import Asking  # noqa: PLC0415
        from bayplan.analysis.answers.fixing.fixing import fixes_of  # noqa: PLC0415
        from bayplan.analysis.answers.gangs.fixing import fixes_of_group  # noqa: PLC0415

        if group := group_named(pod, namespace):
            self._with_groups(config, feature_gates)
        asking = Asking.about(self, config, feature_gates, foreign_victims, tell, with_groups=True)
        if not group and asking.configuration.gates.generic_workload:
            group = group_key(self.wanted(pod, namespace).pod)
        if group:
            return fixes_of_group(asking, group)
        return fixes_of(asking, pod, namespace)


def _group_key(name: str, namespace: str) -> str:
    return name if "/" in name else f"{namespace}/{name}"


def _bound(pod: Pod, nodes: Mapping[str, str]) -> Pod:
    node = nodes.get(object_key(pod))
    if node is None:
        return pod
    bound = copy(pod)
    bound.spec, bound.status = copy(pod.spec), copy(pod.status)
    bound.spec.node_name = node
    bound.status.nominated_node_name = ""
    return bound
