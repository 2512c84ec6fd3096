"""The objects of a cluster, and the pods among them: those that exist, and those that workloads would create.

Objects go through admission as in an API server. Finds pods by what users call them, puts pending ones into the order
of the queue, and builds the cache in which they are decided on. Decides nothing itself.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import count

from bayplan.admission import admit
from bayplan.analysis.answers.owners import belongs_to
from bayplan.analysis.default_storage_class import missing_default_class
from bayplan.analysis.device_claims import Templates, templates_among, with_claims_made
from bayplan.analysis.explanation import Siblings, Subject
from bayplan.analysis.input_gaps import Gap, gaps_in, may_lack_budgets
from bayplan.analysis.profiles import fault_of
from bayplan.analysis.references import POD, Reference, close_matches, misread_kind, not_found, parse_reference, written
from bayplan.analysis.workload_pods import NewPod, WorkloadPods, expand_workloads, label, next_of
from bayplan.config.registry import queue_order
from bayplan.config.releases import KubernetesRelease, choose_release
from bayplan.controllers.budgets.status import fill_budget_status
from bayplan.controllers.ownership import WORKLOADS, Ownership
from bayplan.controllers.workloads.job_pods import is_finished
from bayplan.core.cache import Cache
from bayplan.core.feature_gates import FeatureGates
from bayplan.core.framework.profile import Profile
from bayplan.core.groups.member import Member
from bayplan.core.queue.pre_enqueue import run_pre_enqueue
from bayplan.model.errors import Fault, InvalidObject
from bayplan.model.groups import PodGroup
from bayplan.model.kinds import Object, object_key
from bayplan.model.near_matches import did_you_mean, near
from bayplan.model.pod import FINISHED_PHASES, Pod, group_key
from bayplan.model.reading import Sources, locating, without_garbage_collection
from bayplan.model.resource_claims import ResourceClaim
from bayplan.model.storage import StorageClass
from bayplan.model.well_known import DEFAULT_NAMESPACE
from bayplan.model.workloads import CronJob, Job


@dataclass(slots=True)
class PodQueue:
    """Pending pods in scheduling order, and those that the scheduler would skip."""

    keys: list[str] = field(default_factory=list)
    gated: dict[str, str] = field(default_factory=dict)  # key -> what holds it back
    foreign: dict[str, str] = field(default_factory=dict)  # key -> the scheduler it asks for, which is not configured


@dataclass(slots=True)
class Wanted:
    """A pod somebody named, and the plan it comes from if it does not exist yet."""

    pod: Pod
    subject: Subject
    origin: NewPod | None = None


class ClusterObjects:
    """Nodes, pods and everything else that affects scheduling."""

    def __init__(
        self,
        objects: list[Object],
        skipped: Counter[str] | None = None,
        sources: Sources | None = None,
        *,
        is_whole: bool = False,
        kubernetes_version: str | None = None,
        recorded_version: str | None = None,
    ) -> None:
        """Raises InvalidObject for objects that an API server would not admit, UnknownReleaseError for the version.

        `is_whole` says that the objects are everything a cluster has, so that what is not there does not exist.
        `kubernetes_version` is what somebody asked for, `recorded_version` what the cluster says of itself.
        """
        self._chosen = choose_release(kubernetes_version, recorded_version)
        _name_pods(objects)
        #: What claims without a class get where the input says nothing about storage.
        self.assumed_class: StorageClass | None = missing_default_class(objects)
        if self.assumed_class is not None:
            objects = [*objects, self.assumed_class]
        self.skipped: Counter[str] = skipped or Counter()  # kinds that were ignored
        self.sources: Sources = sources or {}
        with locating(self.sources):
            self.objects = admit(objects)
        self._is_whole = is_whole
        fill_budget_status(self.objects)
        self.pods: dict[str, Pod] = {object_key(obj): obj for obj in self.objects if isinstance(obj, Pod)}

    @property
    def release(self) -> KubernetesRelease:
        """The version of Kubernetes whose scheduler decides."""
        return self._chosen.release

    @property
    def version_is_assumed(self) -> bool:
        """Whether neither the input nor anybody else says which version the cluster has."""
        return self._chosen.is_assumed

    @property
    def version_note(self) -> str:
        """What a reader of an answer should know about the choice of that version; "" if it was not in doubt."""
        return self._chosen.note

    @property
    def kubernetes_version(self) -> str:
        """The minor version whose scheduler decides."""
        return self.release.version

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
        infos = {key: cache.info(self.claiming(self.find_pod(key), cache)) for key in keys}
        arrival = {key: position for position, key in enumerate(keys)}
        groups = self._groups_of(keys) if gates.generic_workload else {}
        place = {key: (infos[key], arrival[key]) for key in keys}
        for members, priority in groups.values():  # they come together, with the priority of their group
            first = copy(infos[members[0]])
            first.priority = priority
            place.update(dict.fromkeys(members, (first, arrival[members[0]])))
        for key in sorted(keys, key=lambda key: (order(*place[key]), arrival[key])):
            pod = self.find_pod(key)
            profile = profiles.get(pod.spec.scheduler_name)
            if profile is None:
                found.foreign[key] = pod.spec.scheduler_name
                continue
            admitted = run_pre_enqueue(profile.pre_enqueue, infos[key])
            if admitted.ok or gated:
                found.keys.append(key)
            else:
                found.gated[key] = admitted.message
        for members, _ in groups.values():  # one that may not enter keeps the others out
            held_back = [found.gated[key] for key in members if key in found.gated]
            if held_back:
                found.gated |= {key: held_back[0] for key in members if key in found.keys}
        found.keys = [key for key in found.keys if key not in found.gated]
        return found

    def _groups_of(self, keys: Sequence[str]) -> dict[str, tuple[list[str], int]]:
        """The groups of these pods: their pods in order of arrival, and the priority of the group."""
        known = {object_key(obj): obj for obj in self.objects if isinstance(obj, PodGroup)}
        found: dict[str, tuple[list[str], int]] = {}
        for key in keys:
            name = group_key(self.find_pod(key))
            if name:
                group = known.get(name)
                found.setdefault(name, ([], group.spec.priority or 0 if group is not None else 0))[0].append(key)
        return found

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
                if is_pending(obj):
                    keys.append(object_key(obj))
            elif isinstance(obj, WORKLOADS):
                keys += self._workload_pods.by_workload.get(id(obj), ())
        return keys

    def find_pod(self, key: str) -> Pod:
        """The pod `namespace/name`; also one that a workload would create. Raises InvalidObject."""
        new = self.planned(key)
        pod = new.pod if new is not None else self.pods.get(key)
        return pod if pod is not None else self._find(Reference(POD, *_split(key))).pod

    def pending_pod(self, text: str, cache: Cache, namespace: str = DEFAULT_NAMESPACE) -> Pod:
        """The pod that a reference means (`web-0`, `prod/deployment/web`: its next one), as if it were pending.

        What would be made along with it, volume claims and resource claims, goes into the cache.
        """
        wanted = self.wanted(text, namespace)
        add_along(cache, [wanted.origin] if wanted.origin else [])
        return self.claiming(unbound(wanted.pod), cache)

    def prepared(self, keys: Sequence[str], cache: Cache) -> list[Pod]:
        """The pending pods as they are tried. The cache gets what would be made along with them."""
        add_along(cache, [new for key in keys if (new := self.planned(key)) is not None])
        return [self.claiming(self.find_pod(key), cache) for key in keys]

    def build_cache(
        self,
        without: str = "",
        profiles: Mapping[str, Profile] | None = None,
        *,
        gates: FeatureGates,
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
                    or (profiles is not None and is_pending(obj) and not _may_be_nominated(obj, profiles, cache))
                ):
                    continue
                cache.add(obj)
        return cache

    def claiming(self, pod: Pod, cache: Cache) -> Pod:
        """The pod with the resource claims that would be made for it, which the cache gets."""
        knowing, claims = with_claims_made(pod, self.claim_templates)
        for claim in claims:
            cache.add(claim)
        return knowing

    def group_members(
        self, key: str, profiles: Mapping[str, Profile], cache: Cache
    ) -> tuple[PodGroup | None, list[Member]]:
        """A PodGroup, None if it is not there, and the pods of it that wait for one of these profiles."""
        group = cache.objects.pod_groups.get(_split(key))
        waiting = [each for each in self._arrivals() if group_key(self.find_pod(each)) == key]
        waiting = [each for each in waiting if self.find_pod(each).spec.scheduler_name in profiles]
        members = [
            Member(pod, cache.info(pod), queued_at=position)
            for position, pod in enumerate(self.prepared(waiting, cache))
        ]
        if group is None and not members and not any(group_key(pod) == key for pod in self.pods.values()):
            raise not_found(f"podgroup/{key}", f"not found in the input{did_you_mean(near(key, self.group_keys))}")
        if group is not None and group.spec.parent_composite_pod_group_name:
            parent = group.spec.parent_composite_pod_group_name
            raise not_found(
                f"podgroup/{key}", f"it is part of CompositePodGroup {parent}, and those are not known here"
            )
        return group, members

    @property
    def group_keys(self) -> list[str]:
        """All PodGroups, and those that are missing and that pods belong to."""
        known = [object_key(obj) for obj in self.objects if isinstance(obj, PodGroup)]
        return list(dict.fromkeys([*known, *(key for pod in self.pods.values() if (key := group_key(pod)))]))

    def groups_of_workload(self, key: str) -> list[str]:
        """The PodGroups of a Workload. Raises InvalidObject if there are none."""
        namespace, name = _split(key)
        references = {
            object_key(obj): obj.spec.workload_ref.workload_name
            for obj in self.objects
            if isinstance(obj, PodGroup) and obj.metadata.namespace == namespace and obj.spec.workload_ref is not None
        }
        found = [group for group, workload in references.items() if workload == name]
        if not found:
            named = [f"{namespace}/{workload}" for workload in dict.fromkeys(references.values())]
            meant = did_you_mean(near(key, named)) or self._same_name(namespace, name)
            raise not_found(f"workload/{key}", f"no PodGroup in the input refers to it{meant}")
        return found

    def _same_name(self, namespace: str, name: str) -> str:
        """What else of this name there is to be asked about."""
        known = (obj for obj in self.objects if isinstance(obj, (*WORKLOADS, PodGroup)))
        same = [obj for obj in known if (obj.metadata.namespace, obj.metadata.name) == (namespace, name)]
        return did_you_mean([f"{type(obj).__name__.lower()}/{name}" for obj in same])

    @property
    def refused_workloads(self) -> list[Fault]:
        """Workloads of a dump that lack pods which an API server would reject, and why."""
        return self._workload_pods.refused

    @cached_property
    def gaps(self) -> list[Gap]:
        """Kinds that the input refers to and does not have."""
        return [] if self._is_whole else gaps_in(self.objects)

    @property
    def may_lack_budgets(self) -> bool:
        """Whether there are no PodDisruptionBudgets, perhaps because the input leaves them out."""
        return not self._is_whole and may_lack_budgets(self.objects)

    @cached_property
    def claim_templates(self) -> Templates:
        return templates_among(self.objects)

    @cached_property
    def _workload_pods(self) -> WorkloadPods:
        return expand_workloads(self.objects, self.ownership)

    @cached_property
    def ownership(self) -> Ownership:
        """Who controls whom."""
        return Ownership(self.objects)

    def planned(self, key: str) -> NewPod | None:
        """The pod of this name that a workload would create; a pod that exists comes first, unless it is over."""
        pod = self.pods.get(key)
        return None if pod is not None and not is_over(pod) else self._workload_pods.by_key.get(key)

    def lacking_pods(self, workload: Object) -> list[str]:
        """Keys of the pods that the workload, one of the objects, has yet to create."""
        return self._workload_pods.by_workload.get(id(workload), [])

    def wanted(self, text: str, namespace: str) -> Wanted:
        """The pod that a user means by this text. Of a workload, its first pending pod, or else the next one.

        Raises InvalidObject.
        """
        reference = parse_reference(text, namespace)
        if reference.kind != POD:
            waiting = self._first_pending_of(reference)
            if waiting is not None:
                return waiting
            with locating(self.sources):
                new = next_of(self.objects, reference.kind, reference.namespace, reference.name)
            if new is not None:
                return _wanted(new.pod, new, str(reference))
            # A namespace may be called `job`.
            pod = self.pods.get(text)
            return _wanted(pod) if pod is not None else self._find(reference)
        return self._find(reference)

    def _first_pending_of(self, reference: Reference) -> Wanted | None:
        """With how many of the workload's pods are pending."""
        members = self._pods_of(reference)
        pending = [key for key, pod in members.items() if is_pending(pod)]
        if not pending:
            return None
        found = _wanted(members[pending[0]], self.planned(pending[0]))
        return replace(found, subject=replace(found.subject, siblings=Siblings(len(pending), len(members))))

    def _pods_of(self, reference: Reference) -> dict[str, Pod]:
        """Pods of the workload that exist and are not over, and those that it lacks, in order of arrival."""
        namespace, owners = reference.namespace, self.ownership
        existing = {
            key: pod
            for key, pod in self.pods.items()
            if pod.metadata.namespace == namespace and not is_over(pod) and belongs_to(pod, reference, owners)
        }
        workload = owners.workloads.get((reference.kind, namespace, reference.name))
        lacking = self.lacking_pods(workload) if workload is not None else []
        return existing | {key: self._workload_pods.by_key[key].pod for key in lacking}

    def _find(self, reference: Reference) -> Wanted:
        if reference.kind == POD:
            new = self.planned(reference.key)
            if new is not None:
                return _wanted(new.pod, new)
            pod = self.pods.get(reference.key)
            if pod is not None:
                return _wanted(pod)
        message = f"not found in the input{misread_kind(reference)}"
        raise not_found(str(reference), f"{message}{did_you_mean(close_matches(reference, self._references()))}")

    def _references(self) -> list[str]:
        workloads = (obj for obj in self.objects if isinstance(obj, (*WORKLOADS, CronJob)))
        return [
            *self.pods,
            *self._workload_pods.by_key,
            *(
                written(type(workload).__name__, workload.metadata.namespace, workload.metadata.name)
                for workload in workloads
            ),
        ]

    def pending_among(self, named: Iterable[str], namespace: str) -> list[str]:
        """Keys of the named pods, and of those that the named workloads lack, in order of arrival."""
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
                self.wanted(text, reference.namespace)  # raises if there is no such workload
                raise not_found(str(reference), self._why_no_pods(reference))
            return lacking
        key = text if reference.kind != POD else reference.key
        check_pending(self.find_pod(key))
        return [key]

    def _why_no_pods(self, reference: Reference) -> str:
        """Of a workload that creates none now."""
        if reference.kind == CronJob.__name__:
            return "creates pods only when its schedule is due; `bayplan explain` shows where the next one would go"
        if str(reference) in map(label, self.suspended_jobs):
            return "is suspended, so it creates no pods; `bayplan explain` shows where they would go"
        return "already has all its pods, so there is nothing to place"

    @property
    def cron_jobs(self) -> list[CronJob]:
        """They create no pods until they are due."""
        return [obj for obj in self.objects if isinstance(obj, CronJob)]

    @property
    def suspended_jobs(self) -> list[Job]:
        """They create no pods until somebody resumes them."""
        return [obj for obj in self.objects if isinstance(obj, Job) and obj.spec.suspend and not is_finished(obj)]


def _may_be_nominated(pod: Pod, profiles: Mapping[str, Profile], cache: Cache) -> bool:
    """Whether a node can be kept for the pending pod. As upstream: not for another scheduler, nor while it is gated.

    Since v1.37 a gate does not matter.
    """
    profile = profiles.get(pod.spec.scheduler_name)
    if profile is None or not pod.status.nominated_node_name:
        return False
    return cache.gates.release.gated_pods_keep_nodes or run_pre_enqueue(profile.pre_enqueue, cache.info(pod)).ok


def _wanted(pod: Pod, origin: NewPod | None = None, workload: str = "") -> Wanted:
    subject = Subject(
        key=object_key(pod),
        priority=pod.spec.priority or 0,
        preemption_policy=pod.spec.preemption_policy or "PreemptLowerPriority",
        runs_on=pod.spec.node_name,
        phase=pod.status.phase,
        workload=workload or (label(origin.origin.workload) if origin else ""),
    )
    return Wanted(pod, subject, origin)


def unbound(pod: Pod) -> Pod:
    """The pod as it was before it got its node."""
    if not pod.spec.node_name:
        return pod
    free = copy(pod)
    free.spec, free.status = copy(pod.spec), copy(pod.status)
    free.spec.node_name = ""
    free.status.nominated_node_name = ""
    return free


def check_pending(pod: Pod) -> None:
    if pod.spec.node_name:
        raise fault_of(pod, "spec.nodeName", f"already has node {pod.spec.node_name}, so it is not pending")
    if is_over(pod):
        raise fault_of(pod, "status.phase", f"{pod.status.phase}: the pod has finished")


def is_pending(pod: Pod) -> bool:
    return not pod.spec.node_name and not is_over(pod)


def is_over(pod: Pod) -> bool:
    return pod.status.phase in FINISHED_PHASES


def add_along(cache: Cache, planned: Iterable[NewPod]) -> None:
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
