"""A cluster to ask questions about: files or objects in, explanations and placements out.

Objects go through admission as in an API server; workloads count as the pods they would create in addition to the
existing ones. Nothing is written, and answering a question does not change the cluster.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field
from functools import cached_property
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bayplan.admission import admit
from bayplan.analysis.device_claims import Templates, templates_among, with_claims_made
from bayplan.analysis.explanation import PodExplanation, Subject
from bayplan.analysis.extenders import asking_extenders
from bayplan.analysis.placement import Placement, place_pods
from bayplan.analysis.references import POD, Reference, close_matches, not_found, parse_reference, written
from bayplan.analysis.tie_breaks import tie_break
from bayplan.analysis.workload_pods import NewPod, WorkloadPods, expand_workloads, label, next_of
from bayplan.config.feature_gates import GateSettings
from bayplan.config.loading import ConfigSource, Configuration, load_configuration
from bayplan.config.own_settings import with_settings
from bayplan.config.registry import build_profiles, queue_order
from bayplan.controllers.budgets.status import fill_budget_status
from bayplan.controllers.ownership import WORKLOADS
from bayplan.core.cache import Cache
from bayplan.core.cycle import attempt
from bayplan.core.explain import Explanation
from bayplan.core.feature_gates import DEFAULT_GATES, FeatureGates
from bayplan.core.framework.profile import Profile
from bayplan.core.queue.entrance import may_enter
from bayplan.model.errors import Fault, InvalidObject
from bayplan.model.kinds import Object, object_key
from bayplan.model.pod import FINISHED_PHASES, Pod
from bayplan.model.reading import ReadResult, Sources, from_dicts, locating, read, without_garbage_collection
from bayplan.model.resource_claims import ResourceClaim
from bayplan.model.well_known import DEFAULT_NAMESPACE

if TYPE_CHECKING:
    from bayplan.analysis.answers.audit.auditing import Audit
    from bayplan.analysis.answers.capacity import Capacity
    from bayplan.analysis.answers.changes import Given
    from bayplan.analysis.answers.drain import Draining
    from bayplan.analysis.answers.exposure.answer import Exposure, Ranking
    from bayplan.analysis.answers.fixing.answer import Fixes
    from bayplan.analysis.answers.whatif import WhatIf


@dataclass(slots=True)
class PodQueue:
    """Pending pods in scheduling order, and those that the scheduler would skip."""

    keys: list[str] = field(default_factory=list)
    gated: dict[str, str] = field(default_factory=dict)  # key -> what holds it back
    foreign: dict[str, str] = field(default_factory=dict)  # key -> the scheduler it asks for, which is not configured


@dataclass(slots=True)
class _Wanted:
    """A pod somebody named, and the plan it comes from if it does not exist yet."""

    pod: Pod
    subject: Subject
    origin: NewPod | None = None


class Cluster:
    """Nodes, pods and everything else that affects scheduling."""

    def __init__(
        self, objects: list[Object], skipped: Counter[str] | None = None, sources: Sources | None = None
    ) -> None:
        """Raises InvalidObject for objects that an API server would not admit."""
        _name_pods(objects)
        self.skipped: Counter[str] = skipped or Counter()  # kinds that were ignored
        self.sources: Sources = sources or {}
        with locating(self.sources):
            self.objects = admit(objects)
        fill_budget_status(self.objects)
        self.pods: dict[str, Pod] = {object_key(obj): obj for obj in self.objects if isinstance(obj, Pod)}

    @classmethod
    def load(cls, *paths: str | Path) -> Cluster:
        """From YAML or JSON files and directories; `-` is standard input. Raises InvalidObject."""
        return cls.of(read(paths))

    @classmethod
    def from_objects(cls, objects: Iterable[Mapping[str, Any]]) -> Cluster:
        """From Kubernetes objects as plain dicts. Raises InvalidObject."""
        return cls.of(from_dicts(list(objects)))

    @classmethod
    def of(cls, result: ReadResult) -> Cluster:
        """From what has been read."""
        return cls(result.objects, result.skipped, result.sources)

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
        Extenders of the configuration are asked only with `call_extenders`.
        """
        wanted = self._wanted(pod, namespace)
        configuration = load_configuration(config, feature_gates)
        pending = _unbound(wanted.pod)
        with asking_extenders(configuration, [*self.objects, pending], called=call_extenders) as extenders:
            profiles = build_profiles(configuration, extenders)
            profile = profile_of(profiles, wanted.pod)
            own_schedulers = own_schedulers_of(configuration, foreign_victims)
            cache = self.build_cache(wanted.subject.key, profiles, configuration.gates, own_schedulers)
            _add_along(cache, [wanted.origin] if wanted.origin else [])
            info = cache.info(self._claiming(pending, cache))
            view = cache.view()
            found = attempt(profile, info, view)
        return PodExplanation(wanted.subject, Explanation(found, view, may_enter(profile.pre_enqueue, info)), profile)

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

        Pods that PreEnqueue holds back get no node, unless `gated` says to place them as if it did not. With
        `foreign_victims="never"`, pods of schedulers that the configuration does not have are not evicted. Extenders
        of the configuration are asked only with `call_extenders`; none is asked to bind.
        """
        keys = self.queue(config, gated=gated, feature_gates=feature_gates).keys if pods is None else pods
        configuration = load_configuration(config, feature_gates)
        pending = [self.find_pod(key) for key in keys]
        with asking_extenders(configuration, [*self.objects, *pending], called=call_extenders) as extenders:
            profiles = build_profiles(configuration, extenders)
            for pod in pending:
                _check_pending(pod)
                profile_of(profiles, pod)
            own_schedulers = own_schedulers_of(configuration, foreign_victims)
            cache = self.build_cache(profiles=profiles, gates=configuration.gates, own_schedulers=own_schedulers)
            return place_pods(cache, profiles, self.prepared(keys, cache), tie_break(ties), gated=gated)

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
        configuration = load_configuration(config, feature_gates)
        profiles = build_profiles(configuration)
        if named is None:
            return self.queue_under(profiles, configuration.gates, gated=gated)
        keys = self._pending_among(named, namespace)
        for key in keys:
            profile_of(profiles, self.find_pod(key))  # raises: somebody asked for this very pod
        return self.queue_under(profiles, configuration.gates, keys, gated=gated)

    def queue_under(
        self,
        profiles: Mapping[str, Profile],
        gates: FeatureGates,
        keys: Sequence[str] | None = None,
        *,
        gated: bool = False,
    ) -> PodQueue:
        """As `queue`, for profiles that have been built; of these pods, or of all pending ones."""
        keys = self.pending_pods() if keys is None else keys
        found, cache = PodQueue(), Cache(gates)
        order = queue_order(profiles)
        for claim in self.objects:
            if isinstance(claim, ResourceClaim):
                cache.add(claim)
        infos = {key: cache.info(self._claiming(self.find_pod(key), cache)) for key in keys}
        arrival = {key: position for position, key in enumerate(keys)}
        for key in sorted(keys, key=lambda key: order(infos[key], arrival[key])):
            pod = self.find_pod(key)
            profile = profiles.get(pod.spec.scheduler_name)
            if profile is None:
                found.foreign[key] = pod.spec.scheduler_name
                continue
            admitted = may_enter(profile.pre_enqueue, infos[key])
            if admitted.ok or gated:
                found.keys.append(key)
            else:
                found.gated[key] = admitted.message
        return found

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
        """What is different if this is done: which pods get a node, are evicted by whom, or stay pending?

        `apply` takes files, directories and objects as plain dicts; `delete` KIND/NAME; `drain` names of nodes;
        `add_nodes` `NODE=N`, `FILE=N` or `8cpu,32Gi=N`. Raises InvalidObject.
        """
        from bayplan.analysis.answers.asking import Asking  # noqa: PLC0415
        from bayplan.analysis.answers.changes import read_change  # noqa: PLC0415
        from bayplan.analysis.answers.whatif import whatif  # noqa: PLC0415

        asking = Asking.about(self, config, feature_gates, foreign_victims)
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
        """Would everything on these nodes fit elsewhere, and may it leave?

        `selector` adds all nodes with these labels (`pool=a`). With `rolling`, each node is back before the next one
        is drained. Raises InvalidObject.
        """
        from bayplan.analysis.answers.asking import Asking  # noqa: PLC0415
        from bayplan.analysis.answers.drain import drain, nodes_named  # noqa: PLC0415

        asking = Asking.about(self, config, feature_gates, foreign_victims)
        return drain(asking, nodes_named(self, nodes, selector), rolling=rolling)

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
        feature_gates: GateSettings = None,
        foreign_victims: str | None = None,
    ) -> Capacity:
        """How many more of these pods fit, where, what runs out first, and how many nodes would be needed.

        Args:
            pods: objects, files with one pod or workload each, or requests such as `cpu=500m,memory=1Gi`; texts may
                end in `=N`, the share of these pods among several.
            workloads: of this cluster, as for `explain`; also with `=N`.
            replicas: how many are wanted; if they do not fit, the answer says how many nodes of which kind it takes.
            nodes: the kinds of nodes to add (`8cpu,32Gi`, or a file with nodes); none: those of the cluster.
            evicting: count once more with pods of lower priority evicted.
        """
        from bayplan.analysis.answers.asking import Asking  # noqa: PLC0415
        from bayplan.analysis.answers.capacity import capacity  # noqa: PLC0415

        asking = Asking.about(self, config, feature_gates, foreign_victims)
        return capacity(asking, pods, workloads, namespace=namespace, replicas=replicas, nodes=nodes, evicting=evicting)

    def audit(
        self,
        config: ConfigSource = None,
        *,
        ignored: Collection[str] = (),
        feature_gates: GateSettings = None,
        foreign_victims: str | None = None,
    ) -> Audit:
        """What is wrong before it hurts; `ignored` are names of rules to leave out. What happens if a node fails is
        tried for every node.
        """
        from bayplan.analysis.answers.asking import Asking  # noqa: PLC0415
        from bayplan.analysis.answers.audit.auditing import audit  # noqa: PLC0415

        return audit(Asking.about(self, config, feature_gates, foreign_victims), ignored=ignored)

    def after(self, placement: Placement) -> Cluster:
        """The cluster after the placed pods run and their victims are gone."""
        gone = {victim for placed in placement.decisions for victim in placed.victims}
        claims = {object_key(claim): claim for claim in placement.claims}
        nodes = {placed.pod: placed.node for placed in placement.decisions if placed.node and placed.pod not in gone}
        planned = [new for key in nodes if (new := self._planned(key)) is not None]
        along = {id(new.origin): new.origin.along for new in planned}
        objects: list[Object] = [obj for obj in self.objects if not (isinstance(obj, Pod) and object_key(obj) in gone)]
        objects += [obj for brought in along.values() for obj in brought]
        objects += [new.pod for new in planned]
        objects = [obj for obj in objects if not (isinstance(obj, ResourceClaim) and object_key(obj) in claims)]
        return Cluster([*(_bound(obj, nodes) if isinstance(obj, Pod) else obj for obj in objects), *claims.values()])

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
        """What could evict this running pod, or the pods of this workload?

        `against` takes files, directories and objects as plain dicts: would the pods and workloads in them do it? Each
        is decided alone. Raises InvalidObject.
        """
        from bayplan.analysis.answers.asking import Asking  # noqa: PLC0415
        from bayplan.analysis.answers.changes import read_given  # noqa: PLC0415
        from bayplan.analysis.answers.exposure.subjects import exposure_of  # noqa: PLC0415

        asking = Asking.about(self, config, feature_gates, foreign_victims)
        return exposure_of(asking, pod, namespace, read_given(against) if against else None)

    def exposure_ranking(
        self,
        config: ConfigSource = None,
        *,
        top: int = 20,
        feature_gates: GateSettings = None,
        foreign_victims: str | None = None,
    ) -> Ranking:
        """The workloads whose pods are evicted most easily, most exposed first."""
        from bayplan.analysis.answers.asking import Asking  # noqa: PLC0415
        from bayplan.analysis.answers.exposure.ranking import ranking_of  # noqa: PLC0415

        return ranking_of(Asking.about(self, config, feature_gates, foreign_victims), top)

    def fix(
        self,
        pod: str,
        config: ConfigSource = None,
        *,
        namespace: str = DEFAULT_NAMESPACE,
        feature_gates: GateSettings = None,
        foreign_victims: str | None = None,
    ) -> Fixes:
        """Which changes would let this pending pod, or the next pod of this workload, run? The smallest come first."""
        from bayplan.analysis.answers.asking import Asking  # noqa: PLC0415
        from bayplan.analysis.answers.fixing.fixing import fixes_of  # noqa: PLC0415

        return fixes_of(Asking.about(self, config, feature_gates, foreign_victims), pod, namespace)

    # Parts.

    def pending_pods(self) -> list[str]:
        """Keys of the pods without a node, including those that workloads would create, in order of arrival."""
        with locating(self.sources):
            if self._workload_pods.faults:
                raise InvalidObject(self._workload_pods.faults)
        return self._arrivals()

    def _arrivals(self) -> list[str]:
        keys: list[str] = []
        for obj in self.objects:
            if isinstance(obj, Pod):
                if _is_pending(obj):
                    keys.append(object_key(obj))
            elif isinstance(obj, WORKLOADS):
                keys += self._workload_pods.by_workload.get(id(obj), ())
        return keys

    def find_pod(self, key: str) -> Pod:
        """The pod `namespace/name`; also one that a workload would create. Raises InvalidObject."""
        new = self._planned(key)
        pod = new.pod if new is not None else self.pods.get(key)
        return pod if pod is not None else self._find(Reference(POD, *_split(key))).pod

    def pending_pod(self, text: str, cache: Cache, namespace: str = DEFAULT_NAMESPACE) -> Pod:
        """The pod that a reference means (`web-0`, `prod/deployment/web`: its next one), as if it were pending.

        What would be made along with it, volume claims and resource claims, goes into the cache.
        """
        wanted = self._wanted(text, namespace)
        _add_along(cache, [wanted.origin] if wanted.origin else [])
        return self._claiming(_unbound(wanted.pod), cache)

    def prepared(self, keys: Sequence[str], cache: Cache) -> list[Pod]:
        """The pending pods as they are tried. The cache gets what would be made along with them."""
        _add_along(cache, [new for key in keys if (new := self._planned(key)) is not None])
        return [self._claiming(self.find_pod(key), cache) for key in keys]

    def build_cache(
        self,
        without: str = "",
        profiles: Mapping[str, Profile] | None = None,
        gates: FeatureGates = DEFAULT_GATES,
        own_schedulers: frozenset[str] | None = None,
    ) -> Cache:
        """The cluster as the scheduler sees it, leaving one pod out.

        With `profiles`, only pods that wait in the queue of one of them count as nominated. With `own_schedulers`,
        only their pods may be preempted.
        """
        cache = Cache(gates, own_schedulers)
        with without_garbage_collection():
            for obj in self.objects:
                if isinstance(obj, Pod) and (
                    (without and object_key(obj) == without)
                    or (profiles is not None and _is_pending(obj) and not _may_be_nominated(obj, profiles, cache))
                ):
                    continue
                cache.add(obj)
        return cache

    def _claiming(self, pod: Pod, cache: Cache) -> Pod:
        """The pod with the resource claims that would be made for it, which the cache gets."""
        knowing, claims = with_claims_made(pod, self._claim_templates)
        for claim in claims:
            cache.add(claim)
        return knowing

    @cached_property
    def _claim_templates(self) -> Templates:
        return templates_among(self.objects)

    @cached_property
    def _workload_pods(self) -> WorkloadPods:
        return expand_workloads(self.objects)

    def _planned(self, key: str) -> NewPod | None:
        """The pod of this name that a workload would create; a pod that exists comes first, unless it is over."""
        pod = self.pods.get(key)
        return None if pod is not None and not _is_over(pod) else self._workload_pods.by_key.get(key)

    def _wanted(self, text: str, namespace: str) -> _Wanted:
        reference = parse_reference(text, namespace)
        if reference.kind != POD:
            with locating(self.sources):
                new = next_of(self.objects, reference.kind, reference.namespace, reference.name)
            if new is not None:
                return _wanted(new.pod, new)
            # A namespace may be called `job`.
            pod = self.pods.get(text)
            return _wanted(pod) if pod is not None else self._find(reference)
        return self._find(reference)

    def _find(self, reference: Reference) -> _Wanted:
        if reference.kind == POD:
            new = self._planned(reference.key)
            if new is not None:
                return _wanted(new.pod, new)
            pod = self.pods.get(reference.key)
            if pod is not None:
                return _wanted(pod)
        message = "not found in the input"
        close = close_matches(reference, self._references())
        raise not_found(str(reference), f"{message}; did you mean {' or '.join(close)}?" if close else message)

    def _references(self) -> list[str]:
        workloads = (obj for obj in self.objects if isinstance(obj, WORKLOADS))
        return [
            *self.pods,
            *self._workload_pods.by_key,
            *(
                written(type(workload).__name__, workload.metadata.namespace, workload.metadata.name)
                for workload in workloads
            ),
        ]

    def _pending_among(self, named: Iterable[str], namespace: str) -> list[str]:
        keys: dict[str, None] = {}
        for text in named:
            reference = parse_reference(text, namespace)
            keys |= dict.fromkeys(self._pending_of(reference, text))
        arrival = {key: position for position, key in enumerate(self._arrivals())}
        return sorted(keys, key=lambda key: arrival.get(key, len(arrival)))

    def _pending_of(self, reference: Reference, text: str) -> list[str]:
        """The pod itself, or all that the workload lacks."""
        if reference.kind != POD and text not in self.pods:
            lacking = [
                key for key, new in self._workload_pods.by_key.items() if label(new.origin.workload) == str(reference)
            ]
            if not lacking:
                self._wanted(text, reference.namespace)  # raises if there is no such workload
                raise not_found(str(reference), "already has all its pods, so there is nothing to place")
            return lacking
        key = text if reference.kind != POD else reference.key
        _check_pending(self.find_pod(key))
        return [key]


def own_schedulers_of(configuration: Configuration, foreign_victims: str | None) -> frozenset[str] | None:
    """Those whose pods may be preempted, None: all. Raises ValueError for a setting that does not exist."""
    safety = with_settings(
        configuration.safety, None if foreign_victims is None else {"foreign_victims": foreign_victims}
    )
    return safety.own_schedulers(spec.scheduler_name for spec in configuration.profiles)


def profile_of(profiles: Mapping[str, Profile], pod: Pod) -> Profile:
    name = pod.spec.scheduler_name
    if name not in profiles:
        message = f"no profile for scheduler {name!r}; known profiles: {', '.join(sorted(profiles))}"
        raise _fault_of(pod, "spec.schedulerName", message)
    return profiles[name]


def _may_be_nominated(pod: Pod, profiles: Mapping[str, Profile], cache: Cache) -> bool:
    """Whether a node can be kept for the pending pod. As upstream: not while it is gated, nor for another scheduler."""
    profile = profiles.get(pod.spec.scheduler_name)
    if profile is None or not pod.status.nominated_node_name:
        return False
    return may_enter(profile.pre_enqueue, cache.info(pod)).ok


def _wanted(pod: Pod, origin: NewPod | None = None) -> _Wanted:
    subject = Subject(
        key=object_key(pod),
        priority=pod.spec.priority or 0,
        preemption_policy=pod.spec.preemption_policy or "PreemptLowerPriority",
        runs_on=pod.spec.node_name,
        phase=pod.status.phase,
        workload=label(origin.origin.workload) if origin else "",
    )
    return _Wanted(pod, subject, origin)


def _unbound(pod: Pod) -> Pod:
    """The pod as it was before it got its node."""
    if not pod.spec.node_name:
        return pod
    free = copy(pod)
    free.spec, free.status = copy(pod.spec), copy(pod.status)
    free.spec.node_name = ""
    free.status.nominated_node_name = ""
    return free


def _bound(pod: Pod, nodes: Mapping[str, str]) -> Pod:
    node = nodes.get(object_key(pod))
    if node is None:
        return pod
    bound = copy(pod)
    bound.spec, bound.status = copy(pod.spec), copy(pod.status)
    bound.spec.node_name = node
    bound.status.nominated_node_name = ""
    return bound


def _check_pending(pod: Pod) -> None:
    if pod.spec.node_name:
        raise _fault_of(pod, "spec.nodeName", f"already has node {pod.spec.node_name}, so it is not pending")
    if _is_over(pod):
        raise _fault_of(pod, "status.phase", f"{pod.status.phase}: the pod has finished")


def _fault_of(pod: Pod, field_path: str, message: str) -> InvalidObject:
    return InvalidObject([Fault("", f"Pod {object_key(pod)}", field_path, message)])


def _is_pending(pod: Pod) -> bool:
    return not pod.spec.node_name and not _is_over(pod)


def _is_over(pod: Pod) -> bool:
    return pod.status.phase in FINISHED_PHASES


def _add_along(cache: Cache, planned: Iterable[NewPod]) -> None:
    """What workloads would create together with these pods."""
    for origin in {id(new.origin): new.origin for new in planned}.values():
        for obj in origin.along:
            cache.add(obj)


def _name_pods(objects: Iterable[Object]) -> None:
    """A pod that leaves its name to the API server gets one, always the same."""
    numbers: dict[tuple[str, str], Iterable[int]] = {}
    for obj in objects:
        meta = obj.metadata
        if isinstance(obj, Pod) and not meta.name:
            numbered = numbers.setdefault((meta.namespace, meta.generate_name), count(1))
            meta.name = f"{meta.generate_name}new-{next(iter(numbered))}"


def _split(key: str) -> tuple[str, str]:
    namespace, _, name = key.rpartition("/")
    return namespace or DEFAULT_NAMESPACE, name
