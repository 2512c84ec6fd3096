"""The JSON documents that commands print, as types: the schemas in `docs/schemas` are made of them.

Simulations and comparisons are not here: `run_format.py` and `differences.py` define them. Amounts are integers in the
smallest unit: CPU in milli, memory in bytes. Pods are `namespace/name`.
"""

from __future__ import annotations

from typing import Literal, NotRequired, TypedDict

from bayplan.analysis.simulation.results.differences import Comparison

Amounts = dict[str, int]  # by resource


class Status(TypedDict):
    """What a plugin returned."""

    code: str
    plugin: str
    reasons: list[str]


class Shortage(TypedDict):
    """A resource that nodes have too little of."""

    resource: str
    asked: int
    mostFree: int
    mostFreeOn: str
    mostOffered: int


class WaitingPod(TypedDict):
    """A pod without a node, and why."""

    pod: str
    message: str


# ---------------------------------------------------------------- explain


class ExplainedPod(TypedDict):
    """The pod in question."""

    key: str
    priority: int
    preemptionPolicy: str
    node: str | None
    phase: str
    workload: str | None
    pending: NotRequired[int]
    wanted: NotRequired[int]
    requests: Amounts


class PreFilter(TypedDict):
    """What PreFilter plugins returned; `nodes` if they restricted the search."""

    code: str
    plugin: str
    reasons: list[str]
    nodes: list[str] | None


class CandidateVictims(TypedDict):
    """What a preemption on one node would cost."""

    victims: list[str]
    numPDBViolations: int


class PostFilterStatus(TypedDict):
    """A status without the plugin that returned it."""

    code: str
    reasons: list[str]


class Victim(TypedDict):
    """A pod that would be evicted; `breaks` names the budgets that this violates."""

    pod: str
    priority: int
    startTime: str | None
    breaks: list[str]


class Reprieve(TypedDict):
    """A potential victim that was put back; if it was not kept, what stopped that."""

    pod: str
    priority: int
    startTime: str | None
    budgetUsedUp: bool
    kept: bool
    together: NotRequired[list[str]]
    stoppedBy: NotRequired[str]
    reasons: NotRequired[list[str]]


class Candidate(TypedDict):
    """A node on which evicting pods makes room."""

    node: str
    numPDBViolations: int
    victims: list[Victim]
    reprieves: list[Reprieve]


class Criterion(TypedDict):
    """One step of the choice between candidates: their values, and which remained."""

    criterion: str
    values: dict[str, int | str | None]
    kept: list[str]


class PreemptionRecord(TypedDict):
    """What preemption tried, in order."""

    candidates: list[Candidate]
    foreignPods: int
    choice: list[Criterion]


class Preemption(TypedDict):
    """Whether evicting pods would help."""

    ran: bool
    eligible: bool
    ineligibleReason: str
    candidates: dict[str, CandidateVictims]  # by node
    nodeStatuses: dict[str, PostFilterStatus]  # by node
    selected: list[str]
    postFilter: PostFilterStatus
    record: PreemptionRecord | None
    withoutVictims: list[str]


class Selector(TypedDict):
    """A CEL expression that selects devices."""

    of: Literal["class", "request"]
    cel: str


class DeviceObstacle(TypedDict):
    """Why some devices of a node cannot be used."""

    reason: str
    selector: NotRequired[Selector]
    count: int
    devices: list[str]
    usedBy: NotRequired[list[str]]


class DeviceRequest(TypedDict):
    """A request for devices that the closest node cannot meet."""

    claim: str
    request: str
    deviceClass: str
    mode: str
    count: int
    node: str
    available: int
    obstacles: list[DeviceObstacle]


class Cause(TypedDict):
    """What keeps the pod off some nodes."""

    count: int
    cause: str
    plugin: str
    reasons: list[str]
    nodes: list[str]
    deviceRequests: NotRequired[list[DeviceRequest]]


class HeldDevice(TypedDict):
    """A device, and the claims that hold it."""

    device: str
    heldBy: NotRequired[list[str]]


class DeviceGroup(TypedDict):
    """Devices that are available, or not for the same reason."""

    reason: str
    selector: NotRequired[Selector]
    count: int
    devices: list[HeldDevice]


class MostAvailable(TypedDict):
    """The node with the most devices for a request."""

    node: str
    devices: int


class ClaimRequest(TypedDict):
    """A request of a claim, and the devices of the cluster."""

    request: str
    deviceClass: str
    mode: str
    count: int
    devices: list[DeviceGroup]
    mostAvailable: MostAvailable | None


class DeviceConstraint(TypedDict, total=False):
    """An attribute that all devices must share, or that must differ."""

    matchAttribute: str
    distinctAttribute: str


class AllocatedDevice(TypedDict):
    """A device that a claim already has, and conditions that its pod waits for."""

    request: str
    device: str
    waitsFor: NotRequired[list[str]]
    failed: NotRequired[list[str]]


class Claim(TypedDict):
    """A resource claim of the pod: allocated, or with its open requests."""

    claim: str
    allocated: NotRequired[list[AllocatedDevice]]
    usedBy: NotRequired[list[str]]
    requests: NotRequired[list[ClaimRequest]]
    constraints: NotRequired[list[DeviceConstraint]]


class Nominated(TypedDict):
    """The node that the pod is nominated to."""

    node: str
    fits: bool


class Disruption(TypedDict):
    """The cost of an eviction."""

    numPDBViolations: int
    victims: int


class LeastDisruption(TypedDict):
    """The fewest victims that any preemption needs."""

    atLeast: Disruption | None
    node: str | None
    victims: list[str]
    fits: bool
    complete: bool


class Explanation(TypedDict):
    """`bayplan explain POD`: one attempt to schedule the pod."""

    format: Literal["bayplan explanation v1"]
    kubernetesVersion: str  # whose scheduler's answer it is
    pod: ExplainedPod
    prefilter: PreFilter | None
    filter: dict[str, Status]  # nodes that do not fit
    feasible: list[str]
    scores: dict[str, dict[str, int]]  # node -> plugin -> score
    totals: dict[str, int]  # by node
    best: list[str]
    preemption: Preemption | None
    message: str
    nominated: NotRequired[Nominated]
    error: NotRequired[str]
    preEnqueue: NotRequired[Status]
    claims: NotRequired[list[Claim]]
    allReasons: NotRequired[dict[str, list[Status]]]  # by node
    leastDisruption: NotRequired[LeastDisruption]
    causes: list[Cause]
    shortages: list[Shortage]


class CountedCause(TypedDict):
    """What keeps a pod off this many nodes."""

    count: int
    cause: str


class Preempting(TypedDict):
    """Where preemption would make room; for a pod group on several nodes, which are not named."""

    node: str | None
    victims: list[str]


class PendingGroup(TypedDict):
    """Pending pods of one workload that look alike."""

    workload: str
    pods: list[str]
    priority: int
    gate: str | None
    message: str
    fitting: NotRequired[int]
    causes: list[CountedCause]
    feasible: int
    preemption: Preempting | None


class PendingPods(TypedDict):
    """`bayplan explain` without a pod: all pending pods."""

    format: Literal["bayplan pending pods v1"]
    kubernetesVersion: str  # whose scheduler's answer it is
    namespace: str | None
    selector: str | None
    pending: int
    groups: list[PendingGroup]


# ---------------------------------------------------------------- explain podgroup/NAME


class GroupCondition(TypedDict):
    """The condition PodGroupInitiallyScheduled as it would be."""

    status: str
    reason: str
    message: str
    observedGeneration: int | None


class GroupPod(TypedDict):
    """What a member would be told."""

    node: str | None
    nominated: str | None
    reason: str | None
    message: str | None
    event: str | None
    eventMessage: NotRequired[str]


class GroupPlacement(TypedDict):
    """A topology domain that was tried."""

    name: str
    nodes: list[str]
    feasible: bool
    message: str
    pods: dict[str, str | None]
    scores: NotRequired[dict[str, int]]
    total: NotRequired[int]


class GroupPreemption(TypedDict):
    """Which pods would have to go."""

    ran: bool
    code: str
    message: str
    victims: list[str]
    numPDBViolations: int
    proposed: dict[str, str]
    evicted: list[str]
    placements: NotRequired[list[GroupPlacement]]
    chosen: NotRequired[str | None]


class GroupLack(TypedDict):
    """A resource of which too little is free."""

    resource: str
    asked: int
    free: int
    mostFree: int


class UnfitMember(TypedDict):
    """The first member that fits nowhere, and why: by cause, and node by node."""

    pod: str
    message: str
    causes: list[Cause]
    nodes: dict[str, GroupHeldBack]
    lacks: list[GroupLack]


class GroupDomain(TypedDict):
    """A topology domain, and how many members find a node in it."""

    name: str
    nodes: int
    fitting: int


class GroupImprovement(TypedDict):
    """Changes of nodes, and how many members fit with them."""

    changes: list[Change]
    fitting: int


class GroupUnit(TypedDict):
    """Pods of lower priority that are evicted together, or spared."""

    group: str | None
    pods: list[str]
    nodes: list[str]
    priority: int
    budgetViolations: int
    stays: bool


class GroupHeldBack(TypedDict):
    """Why a member may not enter the queue."""

    code: str
    plugin: str
    reasons: list[str]


class ExplainedGroup(TypedDict):
    """What would become of a group if it were tried now."""

    group: str
    needed: int
    scheduled: int
    waiting: int
    within: str | None
    queued: Literal["active", "gated", "incomplete", "absent"]
    order: list[str]
    condition: GroupCondition | None
    pods: dict[str, GroupPod]
    preemption: GroupPreemption | None
    preEnqueue: NotRequired[dict[str, GroupHeldBack]]
    requeued: NotRequired[dict[str, str]]
    placements: NotRequired[list[GroupPlacement]]
    chosen: NotRequired[str | None]
    fitting: dict[str, str]
    firstUnfit: UnfitMember | None
    aloneOn: dict[str, int]
    domains: list[GroupDomain]
    bestChanges: list[GroupImprovement]
    units: NotRequired[list[GroupUnit]]


class GroupExplanation(ExplainedGroup):
    """`bayplan explain podgroup/NAME`: what would become of a group if it were tried now."""

    format: Literal["bayplan group explanation v1"]
    kubernetesVersion: str  # whose scheduler's answer it is


class WorkloadExplanation(TypedDict):
    """`bayplan explain workload/NAME`: the same for each PodGroup of a Workload."""

    format: Literal["bayplan workload explanation v1"]
    kubernetesVersion: str  # whose scheduler's answer it is
    workload: str
    groups: list[ExplainedGroup]


class GroupCapacity(TypedDict):
    """`bayplan capacity --workload podgroup/NAME`, or with `--gang`: how many more groups like this one fit."""

    format: Literal["bayplan group capacity v1"]
    kubernetesVersion: str  # whose scheduler's answer it is
    group: str
    new: bool
    podsInEach: int
    wanted: int
    enough: bool
    fits: int
    within: str | None
    byDomain: dict[str, int]
    byNode: dict[str, int]
    stop: str
    byEvicting: int | None
    victims: list[str]


# ---------------------------------------------------------------- place


class Placed(TypedDict):
    """What became of one pod."""

    pod: str
    node: str | None
    total: int | None
    tied: NotRequired[list[str]]
    victims: NotRequired[list[str]]
    message: NotRequired[str]


class Placement(TypedDict):
    """`bayplan place`: the pods in the order in which they were tried."""

    format: Literal["bayplan placement v1"]
    kubernetesVersion: str  # whose scheduler's answer it is
    decisions: list[Placed]


# ---------------------------------------------------------------- whatif, drain, defrag, consolidate


class Departure(TypedDict):
    """A pod that leaves its node, and why."""

    pod: str
    node: str
    cause: str
    by: str
    priority: int
    priorityClass: str
    comesBack: bool
    breaks: NotRequired[list[str]]


class Eviction(TypedDict):
    """A pod that a drain evicts, and where it goes."""

    pod: str
    step: int
    node: str | None
    returns: bool
    bare: bool
    victims: NotRequired[list[str]]
    message: NotRequired[str]


class Blocked(TypedDict):
    """A pod whose eviction a budget refuses."""

    pod: str
    budget: str
    message: str


class DrainedNode(TypedDict):
    """One node of a drain."""

    node: str
    evictions: list[Eviction]
    daemons: list[str]
    mirrors: list[str]
    blocked: list[Blocked]
    preempted: list[Departure]


class Draining(TypedDict):
    """Nodes drained one after another, or together."""

    works: bool
    rolling: bool
    nodes: list[DrainedNode]
    unreached: list[str]
    pending: list[WaitingPod]
    endsOn: dict[str, str]  # pod -> node
    kubectlOptions: list[str]


class Drain(Draining):
    """`bayplan drain`."""

    format: Literal["bayplan drain v1"]
    kubernetesVersion: str  # whose scheduler's answer it is


class Fate(TypedDict):
    """What a change means for one pod."""

    pod: str
    before: str | None
    after: str | None
    pendingBefore: NotRequired[bool]
    withoutChange: NotRequired[str | None]
    message: NotRequired[str]
    victims: NotRequired[list[str]]
    evictedAnyway: NotRequired[list[str]]
    removal: NotRequired[str]


class Update(TypedDict):
    """The rollout of a workload."""

    workload: str
    replaced: int
    left: int


class NodeUsage(TypedDict):
    """What a node has and what is requested of it."""

    pods: int
    requested: Amounts
    allocatable: Amounts


class NodeChange(TypedDict):
    """A node before and after the change."""

    node: str
    before: NodeUsage | None
    after: NodeUsage | None


class WhatIf(TypedDict):
    """`bayplan whatif`: what is different with the change."""

    format: Literal["bayplan whatif v1"]
    kubernetesVersion: str  # whose scheduler's answer it is
    evicted: list[Departure]
    removed: list[Departure]
    placed: list[Fate]
    pending: list[Fate]
    moved: list[Fate]
    lost: list[Fate]
    indirect: list[Fate]
    updates: list[Update]
    nodes: list[NodeChange]
    brokenBudgets: dict[str, list[str]]  # budget -> pods
    draining: Draining | None
    failed: dict[str, list[str]]  # gate -> why


#: A pod that moves to make room.
Move = TypedDict("Move", {"pod": str, "from": str, "to": str, "priority": int, "owner": str, "cordoned": list[str]})


class FailedProposals(TypedDict):
    """Proposals that did not hold."""

    reason: str
    proposals: int


class PodsNotMoved(TypedDict):
    """Pods that may not move."""

    reason: str
    pods: int


class Defrag(TypedDict):
    """`bayplan defrag`: the moves that make room for a pod."""

    format: Literal["bayplan defrag v1"]
    kubernetesVersion: str  # whose scheduler's answer it is
    works: bool
    pod: str
    new: bool
    fitsOn: str | None
    evicts: list[str]
    moves: list[Move] | None
    node: str | None
    cordoned: str | None
    atLeast: int | None
    proven: bool
    maxMoves: int
    failures: list[FailedProposals]
    notMoved: list[PodsNotMoved]


class GroupDefrag(TypedDict):
    """`bayplan defrag --for podgroup/NAME`: the moves that make room for a pod group."""

    format: Literal["bayplan group defrag v1"]
    kubernetesVersion: str  # whose scheduler's answer it is
    works: bool
    group: str
    needed: int
    within: str | None
    fitsOn: dict[str, str]
    evicts: list[str]
    moves: list[Move] | None
    domain: str | None
    nodes: dict[str, str]
    cordoned: list[str]
    atLeast: int | None
    proven: bool
    maxMoves: int
    failures: list[FailedProposals]
    notMoved: list[PodsNotMoved]


class KeptNodes(TypedDict):
    """Nodes that cannot be given back."""

    reason: str
    nodes: int


class Consolidation(TypedDict):
    """`bayplan consolidate`: nodes that can be given back."""

    format: Literal["bayplan consolidation v1"]
    kubernetesVersion: str  # whose scheduler's answer it is
    nodes: list[str]
    moves: int
    candidates: int
    atMost: int
    proven: bool
    kept: list[KeptNodes]
    freed: dict[str, Amounts]  # by node
    draining: Draining


# ---------------------------------------------------------------- exposure


class Threshold(TypedDict):
    """How much of a resource a preemptor must request."""

    resource: str
    amount: int
    shareOfNode: float
    victims: list[str]


class Outcome(TypedDict):
    """What the scheduler does with a pod."""

    node: str | None
    victims: list[str]


class Danger(TypedDict):
    """What a preemptor of one priority must request to evict the pod."""

    priority: int
    priorityClass: str | None
    thresholds: list[Threshold]
    unpinned: NotRequired[Outcome]


class Budget(TypedDict):
    """A PodDisruptionBudget that covers the pod."""

    name: str
    disruptionsAllowed: int


class PodExposure(TypedDict):
    """What could evict one pod."""

    pod: str
    workload: str
    node: str
    priority: int
    lowest: Danger
    hostPorts: list[str]
    sparedAfter: int
    budgets: list[Budget]
    protected: bool
    priorityClasses: list[Danger]
    reason: str


class Preemptor(TypedDict):
    """What a given pod would do."""

    pod: str
    priority: int
    node: str | None
    victims: list[str]
    evicts: list[str]
    evictsIfPinned: list[str]


class GroupExposure(TypedDict):
    """How the pod group that the pods belong to is evicted."""

    group: str
    priority: int
    disruptionMode: Literal["all", "single"]
    running: int
    minCount: int


class Exposure(TypedDict):
    """`bayplan exposure POD`: what could evict it."""

    format: Literal["bayplan exposure v1"]
    kubernetesVersion: str  # whose scheduler's answer it is
    subject: str
    podCount: int
    pods: list[PodExposure]
    waiting: list[str]
    against: list[Preemptor]
    group: NotRequired[GroupExposure]


class WorkloadExposure(TypedDict):
    """The most exposed pod of a workload."""

    workload: str
    podCount: int
    outrankedBy: int
    outrankedByUserClasses: int
    priorityClass: str | None
    mostExposed: PodExposure


class ExposureRanking(TypedDict):
    """`bayplan exposure` without a pod: the most exposed workloads first."""

    format: Literal["bayplan exposure ranking v1"]
    kubernetesVersion: str  # whose scheduler's answer it is
    podCount: int
    workloadCount: int
    workloads: list[WorkloadExposure]
    byPriority: list[WorkloadExposure]


# ---------------------------------------------------------------- fix, capacity, plan, audit


class Change(TypedDict):
    """A change that helps; `matches` counts the nodes that match then."""

    kind: str
    what: str
    before: NotRequired[int | str]
    after: NotRequired[int | str]
    matches: NotRequired[int]


class Patch(TypedDict):
    """How to make the change: a command, or a note on what to do by hand."""

    command: str | None
    note: str


class SingleFix(TypedDict):
    """Changes that together let the pod run."""

    changes: list[Change]
    price: float
    nodes: list[str]
    fixed: int
    victims: list[str]
    leftPending: list[str]
    patches: list[Patch]


class Fix(TypedDict):
    """`bayplan fix`: what would let the pod run, the smallest change first."""

    format: Literal["bayplan fix v1"]
    kubernetesVersion: str  # whose scheduler's answer it is
    pod: str
    workload: str
    runsOn: str | None
    fitsOn: str | None
    victims: list[str]
    message: str
    pending: int
    fitting: int
    running: int
    oneMore: bool
    leftOut: dict[str, str]  # node -> why
    unsure: list[str]
    fixes: list[SingleFix]


class CountedPods(TypedDict):
    """How many pods of one pattern fit."""

    name: str
    pod: str
    share: int
    priority: int
    requests: Amounts
    fits: int
    fitsEvicting: int


class FitsOnNode(TypedDict):
    """How many fit on a node, by pattern."""

    node: str
    zone: str
    fits: list[int]


class Obstacle(TypedDict):
    """What keeps the next pod off some nodes."""

    reason: str
    nodes: int
    examples: list[str]


class Stop(TypedDict):
    """The first pod that does not fit."""

    pod: str
    message: str
    obstacles: list[Obstacle]
    shortages: list[Shortage]


class Evicting(TypedDict):
    """What fits if pods of lower priority are evicted."""

    fits: int
    victims: list[str]
    victimsByOwner: dict[str, int]


class Headroom(TypedDict):
    """Free capacity of one resource, in a zone or in the cluster."""

    resource: str
    zone: str | None
    nodes: int
    allocatable: int
    requested: int
    free: int
    largestFree: int
    largestFreeOn: str
    leftOver: int


class PoolAmounts(TypedDict):
    """One resource of a pool."""

    allocatable: int
    requested: int
    free: int
    leftOver: int


class Pool(TypedDict):
    """Nodes of one kind."""

    name: str
    nodes: int
    fits: int
    open: bool
    obstacle: str
    resources: dict[str, PoolAmounts]


class NodesNeeded(TypedDict):
    """How many more nodes of a kind the replicas need; null if no number is enough."""

    kind: str
    allocatable: dict[str, str]
    existing: int
    nodes: int | None
    fits: int


class Capacity(TypedDict):
    """`bayplan capacity`: how many more pods fit."""

    format: Literal["bayplan capacity v1"]
    kubernetesVersion: str  # whose scheduler's answer it is
    fits: int
    pods: list[CountedPods]
    byNode: list[FitsOnNode]
    nodes: int
    stop: Stop
    evicting: Evicting | None
    headroom: list[Headroom]
    pools: list[Pool]
    replicas: int | None
    nodesNeeded: list[NodesNeeded]


class Bought(TypedDict):
    """Nodes of one type to buy."""

    name: str
    zone: str | None
    number: int
    price: float


class Plan(TypedDict):
    """`bayplan plan`: the cheapest nodes for the pods."""

    format: Literal["bayplan plan v1"]
    kubernetesVersion: str  # whose scheduler's answer it is
    works: bool
    pods: int
    onExistingNodes: int
    survive: str | None
    nodes: list[Bought] | None
    price: float | None
    priceAtLeast: float | None
    gap: float | None
    proven: bool
    placements: dict[str, str]  # pod -> node
    impossible: list[WaitingPod]
    failures: list[str]


class Finding(TypedDict):
    """A problem of an object."""

    rule: str
    level: Literal["error", "warning", "note"]
    object: str
    file: str | None
    why: str
    fix: str
    nodes: list[str]
    priority: int | None
    priorityClass: str | None


class Counts(TypedDict):
    """Findings by level."""

    error: int
    warning: int
    note: int


class Audit(TypedDict):
    """`bayplan audit`: problems before they hurt."""

    format: Literal["bayplan audit v1"]
    kubernetesVersion: str  # whose scheduler's answer it is
    findings: list[Finding]
    counts: Counts
    pods: int
    nodes: int


# ---------------------------------------------------------------- upgrade


class UpgradeOutcome(TypedDict):
    """What a pod gets from one scheduler; the message is empty for a pod that fits."""

    node: str | None
    victims: list[str]
    message: str


class UpgradeChange(TypedDict):
    """What the other version's scheduler does otherwise; `gate` if a feature gate switches it."""

    plugin: str
    change: str
    gate: str | None


class UpgradePod(TypedDict):
    """A pod that the schedulers do not agree on; `runsOn` is its node now."""

    pod: str
    workload: str
    runsOn: str | None
    kinds: list[Literal["node", "victims", "message"]]
    before: UpgradeOutcome
    after: UpgradeOutcome
    causes: list[UpgradeChange]


class UpgradeSetting(TypedDict):
    """A feature gate or a field of the configuration that is refused, or that has another default."""

    setting: str
    text: str
    refused: bool


class UpgradeMetric(TypedDict):
    """A name in rules or dashboards that the other version does not have."""

    file: str
    where: str
    name: str
    advice: str


class Upgrade(TypedDict):
    """`bayplan upgrade`: what another version of Kubernetes changes.

    `compared` is false if the other version refuses the configuration. `simulation` is a comparison, as `bayplan
    compare` prints it.
    """

    format: Literal["bayplan upgrade v1"]
    fromVersion: str
    toVersion: str
    pending: int
    running: int
    compared: bool
    pods: list[UpgradePod]
    configuration: list[UpgradeSetting]
    metrics: list[UpgradeMetric]
    overTime: list[UpgradeChange]
    simulation: NotRequired[Comparison]


# ---------------------------------------------------------------- bench, version


class Machine(TypedDict):
    """What was measured on."""

    date: str
    processor: str
    cores: int
    memory_gib: float
    load: float
    system: str
    python: str
    numpy: str
    bayplan: str
    compiled_loops: bool


class Measurement(TypedDict):
    """One workload on one number of nodes."""

    workload: str
    nodes: int
    running: int
    pods: int
    decisions_per_second: float
    decisions_per_cpu_second: float
    p50_us: float
    p99_us: float
    placed: int
    preempted: int
    peak_mib: float
    calibration: float
    ratio: float


class Benchmark(TypedDict):
    """`bayplan bench`: decisions per second."""

    format: Literal["bayplan benchmark v1"]
    machine: Machine
    kubernetesVersion: str
    targets: dict[str, int]  # by workload
    measurements: list[Measurement]


class Version(TypedDict):
    """`bayplan version`."""

    format: Literal["bayplan version v1"]
    bayplan: str
    kubernetes: str
    kubernetesVersions: list[str]
    python: str
    numpy: str
    compiled: bool


DOCUMENTS = (
    Explanation,
    PendingPods,
    GroupExplanation,
    WorkloadExplanation,
    GroupCapacity,
    Placement,
    WhatIf,
    Drain,
    Defrag,
    GroupDefrag,
    Consolidation,
    Exposure,
    ExposureRanking,
    Fix,
    Capacity,
    Plan,
    Audit,
    Upgrade,
    Benchmark,
    Version,
)
