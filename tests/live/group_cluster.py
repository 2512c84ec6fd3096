"""A cluster without a scheduler, served over HTTP, to which random things happen that concern pod groups.

Takes a seed. PodGroups come before, between and after their pods; they are deleted, and their quorum changes; pods and
nodes go, with members of groups on them; important groups come when the others have their nodes. Pods that are gone are
not made again, so that it all comes to an end. Times are seconds of the wall.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from random import Random
from typing import Self

from tests.live.random_cluster import TOKEN

from bayplan.apiserver.projected_store import ProjectedStore
from bayplan.apiserver.schema.versions import serving
from bayplan.config.loading import Configuration, load_configuration
from bayplan.config.releases import RELEASES
from bayplan.core.groups.feasible import min_count
from bayplan.model.cluster import PriorityClass
from bayplan.model.groups import GangPolicy, GroupSchedulingPolicy, PodGroup
from bayplan.model.kinds import Object
from bayplan.model.meta import ObjectMeta
from bayplan.model.node import Node
from bayplan.model.pod import Pod, PodSchedulingGroup, group_key
from bayplan.model.structs import replace
from bayplan.store import ApiError, Store
from bayplan.testing import builders as make
from bayplan.worlds.hosting import HostedCluster, Hosting

NAMESPACE = "default"
PRIORITIES = {"low": 0, "high": 100}
LASTS_S = 6.0
#: From here on the important ones come.
_STAKES_RISE_S = 2.0
_SETTINGS = {
    "apiVersion": "kubescheduler.config.k8s.io/v1",
    "kind": "KubeSchedulerConfiguration",
    "podInitialBackoffSeconds": 1,
    "podMaxBackoffSeconds": 2,
}
GATES = "GenericWorkload=true,TopologyAwareWorkloadScheduling=true"


class GroupCluster:
    """One seed's cluster; it serves while its block lasts, and things happen in it until `calm_at`."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.configuration: Configuration = load_configuration(
            _SETTINGS, GATES, release=RELEASES["1.37"], with_groups=True
        )
        self._hosted = HostedCluster(
            Hosting(token=TOKEN, configuration=self.configuration, speed=20.0, with_scheduler=False)
        )
        self.port = self._hosted.port
        self.store: Store = ProjectedStore(self._hosted.registry, "kubectl")
        self.calm_at = float("inf")
        self.torn: set[str] = set()  # groups of which a pod has gone, or whose quorum has changed
        self.changed_at = time.time()  # when a pod or a group was written last
        self._log = self.store.log.cursor(kinds=["Pod", "PodGroup"])
        for name, value in PRIORITIES.items():
            self._create(PriorityClass(metadata=ObjectMeta(name=name), value=value))
        for number in range(self.random.randint(3, 5)):
            self._add_node(f"n{number}")

    async def __aenter__(self) -> Self:
        self._running = asyncio.ensure_future(self._hosted.run())
        await self._hosted.started()
        self._acting = asyncio.ensure_future(self._act())
        return self

    async def __aexit__(self, *_: object) -> None:
        self._acting.cancel()
        await asyncio.gather(self._acting, return_exceptions=True)
        self._hosted.stop()
        await self._running

    def look(self) -> None:
        """Takes in what has been written. To be called often enough that the log has not forgotten it."""
        for event in self._log.read():
            self.changed_at = time.time()
            is_going = event.type == "DELETED" or event.new.metadata.deletion_timestamp is not None
            if isinstance(event.new, Pod) and is_going:
                self.torn.add(group_key(event.new))

    def gangs(self) -> dict[str, tuple[int, int]]:
        """Quorum and pods on nodes, of gangs that nothing has happened to."""
        self.look()
        quorums = {
            f"{NAMESPACE}/{group.metadata.name}": min_count(group)
            for group in self.store.list(PodGroup)
            if group.spec.scheduling_policy.gang is not None
        }
        bound = [group_key(pod) for pod in self.store.list(Pod) if pod.spec.node_name]
        return {key: (quorum, bound.count(key)) for key, quorum in quorums.items() if key not in self.torn}

    # ------------------------------------------------------------------ what happens

    async def _act(self) -> None:
        random, begins_at = self.random, time.time()
        plan: list[tuple[float, Callable[[], None]]] = []
        for number in range(random.randint(4, 8)):
            plan += self._planned_group(f"g{number}", random.uniform(0.0, LASTS_S - 2.0))
        for number in range(random.randint(0, 3)):
            plan.append((random.uniform(0.0, LASTS_S), partial(self._add_pod, f"single{number}", "", "low")))
        for change in random.choices(_CHANGES, k=random.randint(1, 5)):
            plan.append((random.uniform(1.0, LASTS_S), partial(change, self)))
        for at, act in sorted(plan, key=lambda each: each[0]):
            await asyncio.sleep(max(0.0, begins_at + at - time.time()))
            await self._hosted.registry.turns.free()
            with suppress(ApiError), serving(self.configuration.release.version, self.configuration.changed_gates):
                act()
        self.calm_at = time.time()

    def _planned_group(self, name: str, at: float) -> list[tuple[float, Callable[[], None]]]:
        random, size = self.random, self.random.randint(1, 4)
        priority = "high" if at > _STAKES_RISE_S and random.random() < 0.6 else "low"
        group = make.pod_group(name)
        if random.random() < 0.8:
            group = group.gang(random.randint(1, size))
        if random.random() < 0.4:
            group = group.disrupted_as_a_whole()
        if random.random() < 0.25:
            group = group.within("rack")
        made = group.manifest().obj()
        made.spec.priority, made.spec.priority_class_name = None, priority
        cpu = random.choice(("500m", "1", "2", "3"))
        things: list[Callable[[], None]] = [partial(self._create, made)]
        things += [partial(self._add_pod, f"{name}-{number}", name, priority, cpu) for number in range(size)]
        if random.random() < 0.5:
            random.shuffle(things)
        return [(at + random.uniform(0.0, 0.3) * number, act) for number, act in enumerate(things)]

    def _create(self, obj: Object) -> None:
        with serving(self.configuration.release.version, self.configuration.changed_gates):
            self.store.create(obj, self._now())

    def _add_node(self, name: str) -> None:
        built = make.node(name).capacity(cpu="4", memory="16Gi", pods=20).labels(rack=self.random.choice("ab"))
        self._create(built.manifest().obj())

    def _add_pod(self, name: str, group: str, priority: str, cpu: str = "1") -> None:
        pod = make.pod(name).cpu(cpu).image("registry/app:1").priority_class(priority).grace(2).manifest().obj()
        if group:
            pod.spec.scheduling_group = PodSchedulingGroup(pod_group_name=group)
        self._create(pod)

    def _delete_group(self) -> None:
        groups = self.store.list(PodGroup)
        if groups:
            name = self.random.choice(groups).metadata.name
            self.torn.add(f"{NAMESPACE}/{name}")
            self.store.delete(PodGroup, NAMESPACE, name, self._now())

    def _delete_pod(self) -> None:
        pods = self.store.list(Pod)
        if pods:
            self.store.delete(Pod, NAMESPACE, self.random.choice(pods).metadata.name, self._now())

    def _delete_node(self) -> None:
        nodes = self.store.list(Node)
        if len(nodes) > 1:
            self.store.delete(Node, "", self.random.choice(nodes).metadata.name, self._now())

    def _bring_node(self) -> None:
        self._add_node(f"late{self.random.randint(0, 99)}")

    def _change_quorum(self) -> None:
        gangs = [group for group in self.store.list(PodGroup) if group.spec.scheduling_policy.gang is not None]
        if gangs:
            name = self.random.choice(gangs).metadata.name
            self.torn.add(f"{NAMESPACE}/{name}")
            policy = GroupSchedulingPolicy(gang=GangPolicy(min_count=self.random.randint(1, 4)))
            self.store.modify(
                PodGroup,
                NAMESPACE,
                name,
                lambda group: replace(group, spec=replace(group.spec, scheduling_policy=policy)),
                self._now(),
            )

    def _now(self) -> int:
        return self._hosted.clock()


_CHANGES: tuple[Callable[[GroupCluster], None], ...] = (
    GroupCluster._delete_group,
    GroupCluster._delete_pod,
    GroupCluster._delete_node,
    GroupCluster._bring_node,
    GroupCluster._change_quorum,
)
