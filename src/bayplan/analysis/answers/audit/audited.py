"""A cluster seen as workloads: who owns which pod, what new pods would look like, and where it is written.

Takes the objects of a cluster once. A pod belongs to the topmost workload that is known: to a Deployment rather than to
its ReplicaSet. Looks things up and judges nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from bayplan.admission import admit
from bayplan.admission.priority import PriorityClasses
from bayplan.admission.stored import looks_stored
from bayplan.analysis.answers.asking import Asking
from bayplan.analysis.device_claims import Templates, templates_among, with_claims_made
from bayplan.analysis.input_gaps import KnownClaims
from bayplan.analysis.workload_pods import WorkloadPods, expand_workloads
from bayplan.controllers.ownership import WORKLOADS, Workload, controller_reference
from bayplan.controllers.workloads.pods_from_templates import ephemeral_claims
from bayplan.core.cache import Cache
from bayplan.core.columns.pods import owner_of
from bayplan.model.cluster import PriorityClass
from bayplan.model.kinds import Object, object_key
from bayplan.model.node import Node
from bayplan.model.pod import FINISHED_PHASES, Pod, PodSpec
from bayplan.model.storage import StorageClass
from bayplan.model.workloads import CronJob, DaemonSet, Deployment, ReplicaSet

#: Kinds of controllers whose pods are not created again on another node: daemons, and what a kubelet runs by itself.
TIED_TO_NODES = (DaemonSet.__name__, Node.__name__)


@dataclass(frozen=True, slots=True)
class Template:
    """What new pods of a workload look like, or a pod that nobody else makes."""

    object: Object
    spec: PodSpec
    owner: str = ""  # of the pod, if its workload is not among the objects

    @property
    def name(self) -> str:
        return self.owner or name_of(self.object)


class Audited:
    """The objects of a cluster."""

    def __init__(self, asking: Asking, *, processes: int = 1) -> None:
        self.asking = asking
        self.processes = processes  # that may be used, at most
        self.cluster = asking.cluster
        objects = self.cluster.objects
        self.ownership = self.cluster.ownership
        self.nodes = {node.metadata.name: node for node in objects if isinstance(node, Node)}
        self.classes = [obj for obj in objects if isinstance(obj, PriorityClass)]
        self._owner_names: dict[str, str] = {}  # by the key of a pod
        #: Pods that are not over.
        self.pods = [pod for pod in self.cluster.pods.values() if pod.status.phase not in FINISHED_PHASES]

    @cached_property
    def cache(self) -> Cache:
        """The cluster as the scheduler sees it. Whatever is tried in it is tried in a trial."""
        return self.asking.cache()

    @cached_property
    def workloads(self) -> list[Workload]:
        """Those that no other workload makes."""
        found = (obj for obj in self.cluster.objects if isinstance(obj, WORKLOADS))
        return [each for each in found if self.ownership.controller_of(each.metadata) is None]

    @cached_property
    def planned(self) -> WorkloadPods:
        """Pods that workloads would create."""
        return expand_workloads(self.cluster.objects, self.ownership)

    @cached_property
    def priorities(self) -> PriorityClasses:
        return PriorityClasses(self.classes)

    @cached_property
    def templates(self) -> list[Template]:
        """Of workloads and CronJobs; and pods that no known workload has made, one for each owner that they name."""
        return list(self._found_templates())

    def _found_templates(self) -> Iterator[Template]:
        for workload in self.workloads:
            yield Template(workload, workload.spec.template.spec)
        for obj in self.cluster.objects:
            if isinstance(obj, CronJob):
                yield Template(obj, obj.spec.job_template.spec.template.spec)
        owners: set[str] = set()
        for pod in self.pods:
            if self.owner(pod) is not None:
                continue
            reference = controller_reference(pod.metadata)
            is_made = reference is not None and reference.kind != Node.__name__
            owner = owner_of(pod.metadata) if is_made else name_of(pod)
            if owner not in owners:
                owners.add(owner)
                yield Template(pod, pod.spec, owner)

    def owner(self, pod: Pod) -> Workload | None:
        """The topmost workload behind the pod, if it is known."""
        found = self.ownership.controller_of(pod.metadata)
        if isinstance(found, ReplicaSet):
            return self.ownership.controller_of(found.metadata) or found
        return found if found is not None else self._strays.get(object_key(pod))

    def owner_name(self, pod: Pod) -> str:
        """`Deployment shop/web`; of a workload that is not among the objects what the pod calls it."""
        key = object_key(pod)
        name = self._owner_names.get(key)
        if name is None:
            found = self.owner(pod)
            name = self._owner_names[key] = name_of(found) if found is not None else owner_of(pod.metadata)
        return name

    def with_new_claims(self, pod: Pod) -> tuple[Pod, list[Object]]:
        """A new pod as it is once controllers have made its claims, and these; they replace those of a predecessor.

        Claims about which the input says nothing are left out: they must not make it look as if the pod fits nowhere.
        """
        pod = self._known_claims.only(pod)
        if looks_stored(pod):
            return pod, []
        made: list[Object] = list(ephemeral_claims(pod))
        if made:
            admit(made, beside=self._storage_classes)
        knowing, resource_claims = with_claims_made(pod, self._claim_templates)
        return knowing, [*made, *resource_claims]

    def new_priority(self, spec: PodSpec) -> int:
        """What a pod that is made of the template now would get."""
        name = spec.priority_class_name
        found = self.priorities.get(name) if name else self.priorities.default
        return found.value if found is not None else 0

    def lacks(self, kind: type[Object]) -> bool:
        """Whether objects of this kind are referred to and left out of the input, so that nothing is known of them."""
        return any(gap.kind is kind for gap in self.cluster.gaps)

    def priority_of(self, template: Template) -> int:
        """Of a pod itself, or of those that would be made of the template now."""
        own = template.object
        return (own.spec.priority or 0) if isinstance(own, Pod) else self.new_priority(template.spec)

    @cached_property
    def _storage_classes(self) -> list[Object]:
        return [obj for obj in self.cluster.objects if isinstance(obj, StorageClass)]

    @cached_property
    def _known_claims(self) -> KnownClaims:
        return KnownClaims(self.cluster.objects, self.cluster.gaps)

    @cached_property
    def _claim_templates(self) -> Templates:
        return templates_among(self.cluster.objects)

    @cached_property
    def _strays(self) -> dict[str, Deployment]:
        """Pods of Deployments whose ReplicaSets are not among the objects."""
        deployments = [workload for workload in self.workloads if isinstance(workload, Deployment)]
        return {object_key(pod): each for each in deployments for pod in self.ownership.stray_pods_of(each)}


def name_of(obj: Object) -> str:
    """`Deployment shop/web`, `PriorityClass high`."""
    return f"{type(obj).__name__} {object_key(obj).removeprefix('/')}"


def is_recreated(pod: Pod) -> bool:
    """Whether somebody makes the pod again, on any node, once it is gone."""
    reference = controller_reference(pod.metadata)
    is_leaving = pod.metadata.deletion_timestamp is not None
    return reference is not None and reference.kind not in TIED_TO_NODES and not is_leaving
