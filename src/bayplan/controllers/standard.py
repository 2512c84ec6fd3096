"""The controllers that every simulated cluster has, and the one list of them.

Takes where delays come from; gives the controllers by their part in the cluster, so that whoever needs one of them
finds it, and all of them in the order in which they act at the same instant. A caller that wants one to behave
differently replaces it (`dataclasses.replace`). Nothing is run here.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

from bayplan.controllers.budgets.disruption_controller import DisruptionController
from bayplan.controllers.contract import Controller
from bayplan.controllers.delays import Delays
from bayplan.controllers.device_driver import DeviceDriver
from bayplan.controllers.device_taint_eviction import DeviceTaintEvictionController
from bayplan.controllers.garbage_collector import GarbageCollector
from bayplan.controllers.namespace import NamespaceController
from bayplan.controllers.nodes.kubelet import Kubelet
from bayplan.controllers.nodes.node_lifecycle import NodeLifecycleController
from bayplan.controllers.resource_claims import ResourceClaimController
from bayplan.controllers.volumes.ephemeral_volume import EphemeralVolumeController
from bayplan.controllers.volumes.persistent_volume import PersistentVolumeController
from bayplan.controllers.workloads.adoption import AdoptionController
from bayplan.controllers.workloads.cron_job import CronJobController
from bayplan.controllers.workloads.daemon_set import DaemonSetController
from bayplan.controllers.workloads.deployment import DeploymentController
from bayplan.controllers.workloads.job import JobController
from bayplan.controllers.workloads.replica_set import ReplicaSetController, ReplicationManager
from bayplan.controllers.workloads.stateful_set import StatefulSetController
from bayplan.core.feature_gates import FeatureGates

WorkloadController: TypeAlias = (
    DeploymentController
    | ReplicaSetController
    | StatefulSetController
    | DaemonSetController
    | JobController
    | CronJobController
)


@dataclass(frozen=True, slots=True)
class Controllers:
    """All controllers of a cluster; iterating gives them in the order in which they act."""

    adopters: tuple[Controller, ...]  # of what nobody controls
    workloads: tuple[WorkloadController, ...]
    collectors: tuple[Controller, ...]  # of what nobody owns any more, and of namespaces that go
    budgets: Controller
    volumes: tuple[Controller, ...]
    devices: tuple[Controller, ...]  # the resource claims that stand for them, their drivers, and who leaves them
    kubelet: Kubelet
    lifecycle: NodeLifecycleController
    autoscaler: Controller | None = None  # where there are pools of nodes

    def __iter__(self) -> Iterator[Controller]:
        yield from self.adopters
        yield from self.workloads
        yield from self.collectors
        yield self.budgets
        yield from self.volumes
        yield from self.devices
        yield self.kubelet
        yield self.lifecycle
        if self.autoscaler is not None:
            yield self.autoscaler


def standard_controllers(
    delays: Delays, gates: FeatureGates, kubelet: Kubelet | None = None, *, has_users: bool = False
) -> Controllers:
    """A fresh set, as Kubernetes runs them.

    Args:
        delays: how long things take.
        gates: which of DeviceTaintRules and groups of Jobs there are.
        kubelet: all of them; one that knows no more than annotations if it is left out.
        has_users: whether anybody writes what they like, such as labels that change.
    """
    return Controllers(
        adopters=(AdoptionController(),) if has_users else (),
        workloads=(
            DeploymentController(),
            ReplicaSetController(),
            ReplicationManager(),
            StatefulSetController(),
            DaemonSetController(),
            JobController(makes_groups=gates.workload_with_job),
            CronJobController(),
        ),
        collectors=(GarbageCollector(), NamespaceController()),
        budgets=DisruptionController(),
        volumes=(EphemeralVolumeController(), PersistentVolumeController(delays)),
        devices=(
            ResourceClaimController(makes_group_claims=gates.dra_workload_resource_claims),
            DeviceDriver(),
            DeviceTaintEvictionController(has_rules=gates.dra_device_taint_rules),
        ),
        kubelet=kubelet or Kubelet(delays),
        lifecycle=NodeLifecycleController(),
    )
