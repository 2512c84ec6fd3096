"""One run of a simulation as typed data: what `simulate -o json` writes, and what every report reads.

These structs are the one definition of the format. The recording fills them, `run_files` decodes them from JSON, and
the columns for NumPy and Arrow derive from their fields. Times are seconds since the start, None for what never
happened; CPU is in milli, memory in bytes. Nothing is computed here.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Generic, TypeVar

from msgspec import UNSET, Struct, UnsetType

FORMAT = "bayplan simulation v1"
_NAMES = {"class_name": "class", "since": "from", "pdb_violations": "numPDBViolations"}


def _json_name(field: str) -> str:
    """In camel case, but for what Python or Kubernetes spells otherwise."""
    first, *rest = field.split("_")
    return _NAMES.get(field) or first + "".join(map(str.capitalize, rest))


class JsonStruct(Struct, rename=_json_name):
    """A part of a result."""


class End(StrEnum):
    """The state of a pod at the end of the run."""

    RUNNING = "running"
    PENDING = "pending"
    FINISHED = "finished"
    FAILED = "failed"
    DELETED = "deleted"
    PREEMPTED = "preempted"


class EvictionCause(StrEnum):
    """Why a pod was evicted."""

    PREEMPTION = "preemption"
    NODE = "node"
    DRAIN = "drain"
    DEVICE = "device"


class PodRow(JsonStruct, kw_only=True, gc=False):
    """A pod that existed at some time; a later pod of the same name has its own row."""

    key: str
    class_name: str  # pods without a priority class are grouped by their priority
    priority: int
    owner: str  # `Deployment shop/web`: the workload that a user knows, "" if there is none
    node: str | None
    created: float
    bound: float | None
    started: float | None
    ended: float | None
    end: End
    # Files of earlier versions lack these three.
    waiting: float | None = None  # from creation to the node; None if bound before the run began, or never
    evicted: EvictionCause | None = None
    group: str | None = None  # the pod group that it belongs to
    cpu: int
    memory: int


class NodeRow(JsonStruct):
    """A node while it existed; one that comes back has a second row."""

    name: str
    since: float
    until: float | None
    allocatable: dict[str, int]
    pool: str = ""  # the NodePool it belongs to
    price: float = 0.0  # for an hour, as the pool says


class GroupRow(JsonStruct):
    """A pod group that existed at some time, as it was last seen."""

    key: str
    created: float
    min_count: int  # 1 of a group that is no gang
    priority: int
    within: str | None  # the node label of which its pods need one value
    goes_whole: bool  # who evicts one of its pods evicts all


class ClusterSeries(JsonStruct):
    """Figures of the whole cluster: a value of each for every time in `t`."""

    t: list[float]
    queue: dict[str, list[int]]  # by place in the scheduler's queue
    used: dict[str, list[float]]  # resource -> the share of what living nodes can allocate
    running: list[int]
    fragmentation: list[float]


# ---------------------------------------------------------------- preemptions


class Victim(JsonStruct):
    pod: str
    priority: int
    breaks: list[str]  # budgets


class RecordedPod(JsonStruct):
    pod: str
    priority: int
    start_time: str | None


class RecordedVictim(RecordedPod):
    breaks: list[str]


class Reprieve(RecordedPod):
    """The attempt to leave a pod on its node."""

    budget_used_up: bool
    kept: bool
    together: list[str] | UnsetType = UNSET  # the others of its group, which go and stay with it
    stopped_by: str | UnsetType = UNSET
    reasons: list[str] | UnsetType = UNSET


class Candidate(JsonStruct):
    node: str
    pdb_violations: int
    victims: list[RecordedVictim]
    reprieves: list[Reprieve]


class Criterion(JsonStruct):
    """One step of the choice between candidates."""

    criterion: str
    values: dict[str, int | str | None]
    kept: list[str]


class PreemptionDetails(JsonStruct):
    """What was tried, and how the node was chosen."""

    candidates: list[Candidate]
    candidates_left_out: int
    choice: list[Criterion]
    foreign_pods: int = 0  # of lower priority that were not considered, as they are another scheduler's


class RecordedUnit(JsonStruct):
    """What is evicted as a whole, a pod or a group: tried for a group, in the order of reprieve."""

    group: str | None
    pods: list[str]
    priority: int
    budget_violations: int
    stays: bool


class GroupPreemptionDetails(JsonStruct):
    """How a group came to evict others: where its pods go, and what had to go for them."""

    group: str
    proposed: dict[str, str]  # pod -> node
    units: list[RecordedUnit]
    units_left_out: int  # that could stay


class PreemptionHead(JsonStruct):
    """One decision to evict."""

    t: float
    preemptor: str
    priority: int
    node: str
    victims: list[Victim]
    decided: str

    @property
    def breaks(self) -> int:
        """The number of budget violations."""
        return sum(len(victim.breaks) for victim in self.victims)

    @property
    def broken_budgets(self) -> list[str]:
        """Each budget once."""
        return list(dict.fromkeys(budget for victim in self.victims for budget in victim.breaks))


class RecordedPreemption(PreemptionHead):
    """A preemption with its record, which is long; only the first ones of a run have one."""

    record: PreemptionDetails | None
    for_group: GroupPreemptionDetails | UnsetType = UNSET  # of a group, which has no candidates of single nodes

    def without_record(self) -> PreemptionHead:
        return PreemptionHead(self.t, self.preemptor, self.priority, self.node, self.victims, self.decided)


class Chain(JsonStruct):
    """Preemptions that followed from one another."""

    t: float
    pods: list[str]
    depth: int
    victims: int
    downtime: float
    budgets_broken: int


class Loop(JsonStruct):
    """A workload that was repeatedly evicted by the same preemptor."""

    preemptor: str
    victim: str
    pods: list[str]
    priorities: list[int]
    times: int
    since: float
    until: float


class GroupWait(JsonStruct):
    """A group that has some of its pods on nodes and waits for others, which the next group keeps away."""

    group: str
    waiting: list[str]
    waits_for: str
    held_by: list[str]  # pods of that group that hold what is needed


class GroupDeadlock(JsonStruct):
    """Groups that wait for each other at the end of the run, in a circle."""

    since: float
    groups: list[GroupWait]


# ---------------------------------------------------------------- the summary


class PodFigures(JsonStruct):
    """How many pods there were, those at the start included, and what became of them."""

    created: int
    placed: int
    finished: int
    failed: int
    deleted: int
    preempted: int
    pending: int
    bound_before: int = 0  # those that had a node at the start, so that they needed none

    @property
    def needing_node(self) -> int:
        return self.created - self.bound_before


class Waits(JsonStruct):
    """How long pods waited for a node, of those that got one."""

    count: int
    p50: float
    p90: float
    p99: float
    max: float

    @property
    def quantiles(self) -> tuple[float, float, float, float]:
        return self.p50, self.p90, self.p99, self.max


class Fragmentation(JsonStruct):
    """The share of typical pods that would fit if all free capacity were on one node, but do not fit now."""

    mean: float
    max: float


class PoolFigures(JsonStruct):
    """The nodes of one pool: how many came and went, the most at a time, and what they cost."""

    added: int
    removed: int
    most: int
    node_hours: float
    cost: float


WaitsT = TypeVar("WaitsT")


class SummaryOf(JsonStruct, Generic[WaitsT]):
    """The figures of a run, or the differences between those of two."""

    pods: PodFigures
    waiting: dict[str, WaitsT]  # by class
    evictions: dict[str, int]  # by cause
    evictions_by_preemptor: dict[str, int]
    budgets_broken: int
    utilization: dict[str, float]
    fragmentation: Fragmentation
    # Files of earlier versions lack these.
    node_hours: float = 0.0
    cost: float = 0.0
    pools: dict[str, PoolFigures] = {}


Summary = SummaryOf[Waits]


# ---------------------------------------------------------------- the whole


class PendingAtEnd(JsonStruct):
    """Pods without a node at the end, and why the scheduler last refused them; "" if it never tried."""

    message: str
    pods: list[str]


class Note(JsonStruct):
    """Something that could not be done, or that was assumed because the input does not say."""

    t: float
    source: str
    message: str


class Fidelity(JsonStruct):
    """How closely a run followed the recording that it played again: numbers of recorded pods that found a node."""

    placed: int
    placed_here: int  # those of them that found one in the run, too
    same_node: int
    alike_node: int  # the same node, or one that differs from it in nothing but its name
    started: int  # those that were seen running
    started_within_second: int  # those that ran within a second of then
    started_as_soon: int  # those that ran as long after they were created, to a second: whoever created them
    preempted: int  # of all pods
    preempted_here: int
    preempted_both: int


class Run(JsonStruct, tag_field="format", tag=FORMAT):
    """Everything."""

    seed: int
    configs: str
    inputs: str  # equal for runs that were given the same
    seconds: float
    partial: bool
    classes: dict[str, int]  # with their priorities, the most important first
    summary: Summary
    series: ClusterSeries
    nodes: list[NodeRow]
    pods: list[PodRow]
    preemptions: list[RecordedPreemption]
    chains: list[Chain]
    loops: list[Loop]
    waiting: list[PendingAtEnd]
    notes: list[Note]
    fidelity: Fidelity | None = None  # of runs that play a recording again
    deadlocks: list[GroupDeadlock] = []
    spared: float = 0.0  # seconds that groups would have waited longer by their backoff alone; with complete wake-ups
    groups: list[GroupRow] = []
    kubernetes_version: str = ""  # whose scheduler decided; unknown of runs from before this was written down
    wakeups: str = "upstream"  # which changes brought rejected pods back: those of kube-scheduler, or "complete"
