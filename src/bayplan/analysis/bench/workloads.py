"""The workloads, as data: which nodes, what runs already, what is to be placed.

The shapes follow upstream's scheduler benchmarks: one template, many templates, spreading, affinity both ways, a
full cluster where every pod must push others out, and a queue of pods that fit nowhere.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from bayplan.model.well_known import HOSTNAME, ZONE

ZONES = ("zone-a", "zone-b", "zone-c")


@dataclass(frozen=True, slots=True)
class PodTemplate:
    """What pods of a workload look like; `variants` gives that many templates that differ in requests and labels."""

    cpu_milli: int
    memory_mib: int
    priority: int = 0
    variants: int = 1
    step: tuple[int, int] = (10, 8)  # milli-cores and MiB that each variant asks for more than the one before
    labels: tuple[tuple[str, str], ...] = ()
    spread: tuple[str, Literal["DoNotSchedule", "ScheduleAnyway"]] | None = None  # topology key, action
    affinity: tuple[str, Literal["near", "apart"]] | None = None  # topology key, to pods like itself
    node_label_in: tuple[str, tuple[str, ...]] | None = None
    replicas: int = 1  # so many pods of one template come in a row
    own_labels: bool = False  # every pod has a label of its own, as pods of StatefulSets and indexed Jobs do
    behind_services: bool = False  # each template is a Deployment behind a Service
    partner_every: int = 0  # every so manieth template prefers the zone of the template before it
    pooled_every: int = 0  # every so manieth template runs in two pools only
    own_volume: bool = False  # every pod has a bound claim of its own, usable in one zone
    own_device: bool = False  # every pod has a resource claim of its own, for one device


@dataclass(frozen=True, slots=True)
class NodeShape:
    """All nodes of a workload are alike but for their name, zone and pool."""

    cpu_milli: int = 32_000
    memory_mib: int = 256 * 1024
    pods: int = 110
    pools: int = 10
    devices: int = 0


@dataclass(frozen=True, slots=True)
class Workload:
    """A cluster and what is asked of it."""

    name: str
    about: str
    pods: PodTemplate
    count: int  # pods to decide on, by default
    nodes: NodeShape = field(default_factory=NodeShape)
    running: tuple[PodTemplate, ...] = ()  # on every node, one of each
    target: int = 0  # decisions a second to reach with `node_count` nodes
    node_count: int = 5_000  # by default
    on_request: bool = False  # takes minutes and gigabytes: measured only where it is asked for by name
    relabel_every: int = 0  # a node's labels change, or its taints, each time this many pods have been decided on
    scale_every: int = 0  # a node joins or leaves each time this many pods have been decided on
    nominated: int = 0  # pods that wait for their victims to leave while others are decided on


_FULL = NodeShape(cpu_milli=4_000, memory_mib=16 * 1024)

WORKLOADS: dict[str, Workload] = {
    workload.name: workload
    for workload in (
        Workload("basic", "one template", PodTemplate(100, 500), 10_000, target=20_000),
        Workload("mixed", "120 templates, in turn", PodTemplate(100, 256, variants=120), 10_000, target=8_000),
        Workload("mixed-600", "600 templates, in turn", PodTemplate(100, 256, variants=600), 10_000, target=8_000),
        Workload(
            "mixed-relabeled",
            "mixed; every 50 decisions a node changes",
            PodTemplate(100, 256, variants=120),
            10_000,
            relabel_every=50,
        ),
        Workload(
            "autoscaled",
            "mixed; every 50 decisions a node joins, or one that was tainted leaves",
            PodTemplate(100, 256, variants=120),
            10_000,
            scale_every=50,
        ),
        Workload(
            "mixed-nominated",
            "mixed; 500 nominated pods wait",
            PodTemplate(100, 256, variants=120),
            10_000,
            nominated=500,
        ),
        Workload(
            "unique",
            "every pod has labels and requests of its own",
            PodTemplate(100, 256, variants=10_000, step=(1, 8), own_labels=True),
            10_000,
            target=5_000,
        ),
        Workload(
            "services",
            "300 Deployments of 20 behind Services",
            PodTemplate(*(100, 256), variants=300, replicas=20, behind_services=True, partner_every=4, pooled_every=5),
            6_000,
            target=6_000,
        ),
        Workload(
            "spread",
            "DoNotSchedule over three zones",
            PodTemplate(100, 256, labels=(("app", "spread"),), spread=(ZONE, "DoNotSchedule")),
            5_000,
            target=5_000,
        ),
        Workload(
            "spread-soft",
            "ScheduleAnyway over hosts",
            PodTemplate(100, 256, labels=(("app", "soft"),), spread=(HOSTNAME, "ScheduleAnyway")),
            5_000,
            target=5_000,
        ),
        Workload(
            "anti-affinity",
            "no two on one host",
            PodTemplate(100, 256, labels=(("app", "apart"),), affinity=(HOSTNAME, "apart")),
            4_500,
            target=5_000,
        ),
        Workload(
            "affinity",
            "all in one zone",
            PodTemplate(100, 256, labels=(("app", "near"),), affinity=(ZONE, "near")),
            5_000,
            target=5_000,
        ),
        Workload(
            "node-affinity",
            "two of ten pools",
            PodTemplate(100, 256, node_label_in=("pool", ("pool-1", "pool-2"))),
            10_000,
        ),
        Workload(
            "preempt",
            "every node full, each pod must evict three",
            PodTemplate(3_000, 3_072, priority=1_000),
            2_000,
            nodes=_FULL,
            running=(PodTemplate(1_000, 1_024, priority=10),) * 4,
            target=1_500,
        ),
        Workload(
            "preempt-spread",
            "preempt, with DoNotSchedule over three zones",
            PodTemplate(*(3_000, 3_072), priority=1_000, labels=(("app", "spread"),), spread=(ZONE, "DoNotSchedule")),
            1_000,
            nodes=_FULL,
            running=(PodTemplate(1_000, 1_024, priority=10),) * 4,
            target=1_000,
        ),
        Workload(
            "preempt-apart",
            "preempt, with no two on one host",
            PodTemplate(3_000, 3_072, priority=1_000, labels=(("app", "apart"),), affinity=(HOSTNAME, "apart")),
            1_000,
            nodes=_FULL,
            running=(PodTemplate(1_000, 1_024, priority=10),) * 4,
            target=1_000,
        ),
        Workload(
            "unschedulable",
            "no room even if others leave; 50 templates",
            PodTemplate(3_000, 1_024, priority=1_000, variants=50),
            10_000,
            nodes=_FULL,
            running=(
                PodTemplate(2_000, 1_024, priority=2_000),
                PodTemplate(1_000, 1_024, priority=10),
                PodTemplate(1_000, 1_024, priority=10),
            ),
            target=2_000,
        ),
        Workload(
            "volumes",
            "every pod with a bound claim of its own",
            PodTemplate(100, 256, own_volume=True),
            1_000,
            target=4_000,
        ),
        Workload(
            "devices",
            "every pod with a resource claim for one of eight devices",
            PodTemplate(100, 256, own_device=True),
            1_000,
            nodes=NodeShape(devices=8),
            target=200,
        ),
        Workload(
            "mixed-100k",
            "mixed, on 100,000 nodes",
            PodTemplate(100, 256, variants=120),
            20_000,
            target=5_000,
            node_count=100_000,
            on_request=True,
        ),
        Workload(
            "million",
            "one template, a million pods on a million nodes",
            PodTemplate(100, 500),
            1_000_000,
            target=16_700,
            node_count=1_000_000,
            on_request=True,
        ),
    )
}

#: What is measured where nobody says what.
USUAL = tuple(workload.name for workload in WORKLOADS.values() if not workload.on_request)
