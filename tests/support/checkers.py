"""What must hold of a simulated world, whatever happens in it. Each checker raises AssertionError with what is wrong.

`check_always` holds after every step. `check_quiet` holds when nothing is under way: the scheduler has been told of
every write, and no action waits for its answer. `check_settled` holds when, besides, nothing went wrong lately: then a
pod that could run must be running.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator

from bayplan.config.feature_gates import DEFAULT_GATES
from bayplan.core.cache import Cache
from bayplan.core.columns.resources import allocatable_amounts, pod_requests
from bayplan.core.deciding import Decider
from bayplan.core.decision import Fits
from bayplan.core.feature_gates import FeatureGates
from bayplan.core.framework.requeue import Wakeups
from bayplan.core.framework.verdict import CycleError
from bayplan.core.lifecycle import PodState
from bayplan.core.queue.pre_enqueue import run_pre_enqueue
from bayplan.core.scheduler import Scheduler
from bayplan.core.snapshot import HOLDING, Objects
from bayplan.model.kinds import Object, object_key
from bayplan.model.node import Node
from bayplan.model.pod import FINISHED_PHASES, Pod
from bayplan.model.resource_claims import ResourceClaim
from bayplan.store import Store


def check_always(scheduler: Scheduler) -> None:
    check_one_state(scheduler)
    check_cache_accounts(scheduler.cache)
    check_nominations(scheduler)


def check_one_state(scheduler: Scheduler) -> None:
    """A pod is in exactly one place: the queue, on its way to a node, or on a node."""
    places: Counter[str] = Counter()
    places.update(queued.key for queued in scheduler.queue.queued_pods() if queued.state is not PodState.GONE)
    on_the_way = scheduler.pods_on_the_way()
    on_nodes = {
        key for key, row in scheduler.cache.pods.rows_by_key.items() if scheduler.cache.pods.node_rows[row] >= 0
    }
    assert set(on_the_way) <= on_nodes, f"on the way but on no node: {sorted(set(on_the_way) - on_nodes)}"
    flying = {r.key for r in scheduler.queue.queued_pods() if r.state in (PodState.ASSUMED, PodState.WAITING)}
    places.update(key for key in on_nodes if key not in flying)
    twice = sorted(key for key, times in places.items() if times > 1)
    assert not twice, f"in two places at once: {twice}"


def check_cache_accounts(cache: Cache) -> None:
    """What the node columns say is the sum of what the pod columns say."""
    nodes, pods = cache.nodes, cache.pods
    for row, on_node in enumerate(nodes.pod_rows):
        assert int(nodes.pod_counts[row]) == len(on_node), f"{nodes.names[row]}: wrong number of pods"
        taken = pods.requests[on_node].sum(axis=0)
        width = min(len(taken), nodes.requested.shape[1])
        assert (nodes.requested[row, :width] == taken[:width]).all(), f"{nodes.names[row]}: wrong sums"


def check_nominations(scheduler: Scheduler) -> None:
    """The cache counts the pods for which the queue has a node kept, in the same order, and no others."""
    cache, nominations = scheduler.cache, scheduler.queue.nominations
    counted = {node: [cache.pods.keys[row] for row in rows] for node, rows in cache.nominated.items()}
    kept = {node: [info.key for info in nominations.on(node)] for node in counted}
    assert counted == kept, f"nominated in the cache: {counted}, in the queue: {kept}"
    assert len(nominations) == sum(map(len, counted.values())), f"not in the cache: {nominations.keys()}"


def check_not_overcommitted(
    store: Store, except_nodes: Collection[str] = (), gates: FeatureGates = DEFAULT_GATES
) -> None:
    """No node holds more than it has, but for nodes that have shrunk, or were given pods by somebody else."""
    taken: dict[str, Counter[str]] = {}
    as_devices: dict[str, set[str]] = {}  # by node, what pods there may have as devices
    for pod in store.list(Pod):
        if pod.spec.node_name and pod.status.phase not in FINISHED_PHASES:
            used = taken.setdefault(pod.spec.node_name, Counter())
            used.update(pod_requests(pod, gates).used)
            used["pods"] += 1
            if pod.status.extended_resource_claim_status is not None:
                as_devices.setdefault(pod.spec.node_name, set()).update(used)
    for node in store.list(Node):
        if node.metadata.name in except_nodes:
            continue
        amounts, allowed_pods = allocatable_amounts(node.status.allocatable)
        for name, amount in taken.get(node.metadata.name, Counter()).items():
            if name not in amounts and name in as_devices.get(node.metadata.name, ()):
                continue
            limit = allowed_pods if name == "pods" else amounts.get(name, 0)
            assert amount <= limit, f"{node.metadata.name} holds {amount} of {name}, and has {limit}"


def check_devices_not_shared(store: Store) -> None:
    """No device is given to two claims, but for administrators' access and devices that are meant to be shared."""
    given: Counter[tuple[str, str, str]] = Counter()
    for claim in store.list(ResourceClaim):
        allocation = claim.status.allocation
        for result in allocation.devices.results if allocation is not None else ():
            is_whole = not result.admin_access and result.share_id is None
            given[result.driver, result.pool, result.device] += is_whole
    twice = sorted(device for device, times in given.items() if times > 1)
    assert not twice, f"given to two claims: {twice}"


def check_quiet(store: Store, scheduler: Scheduler) -> None:
    """The cache is what the store says, and nothing is left over."""
    check_pods_quiet(store, scheduler)
    check_objects(store, scheduler.cache)


def check_pods_quiet(store: Store, scheduler: Scheduler) -> None:
    """Of pods, and the nodes they are on or wait for."""
    cache = scheduler.cache
    expected = {
        object_key(pod): pod.spec.node_name
        for pod in store.list(Pod)
        if pod.spec.node_name and pod.status.phase not in FINISHED_PHASES
    }
    held = {
        key: cache.nodes.names[cache.pods.node_rows[row]]
        for key, row in cache.pods.rows_by_key.items()
        if cache.pods.node_rows[row] >= 0
    }
    assert held == expected, f"cache and store differ: {sorted(set(held.items()) ^ set(expected.items()))}"
    for key in held:
        shape = cache.pods.shape(cache.pods.rows_by_key[key])
        stored = store.get(Pod, *key.split("/"))
        assert shape.labels == stored.metadata.labels, f"{key}: counted with labels {shape.labels}"
    alive = {cache.nodes.names[row] for row in range(cache.nodes.count) if cache.nodes.alive[row]}
    assert alive == {node.metadata.name for node in store.list(Node)}
    assert not scheduler.pods_on_the_way(), f"still on the way: {scheduler.pods_on_the_way()}"
    pending = [
        pod
        for pod in store.list(Pod)
        if not pod.spec.node_name
        and pod.status.phase not in FINISHED_PHASES
        and pod.spec.scheduler_name in scheduler.profiles
    ]
    leaving = {object_key(pod) for pod in pending if pod.metadata.deletion_timestamp}  # in the queue until tried
    waiting = {object_key(pod) for pod in pending} - leaving
    in_queue = {queued.key for queued in scheduler.queue.queued_pods()}
    assert in_queue - leaving == waiting, f"queue and store differ: {sorted((in_queue - leaving) ^ waiting)}"
    nominated = {cache.pods.keys[row] for rows in cache.nominated.values() for row in rows}
    assert nominated <= waiting | leaving, f"nominated but not waiting: {sorted(nominated - waiting)}"


def check_objects(store: Store, cache: Cache) -> None:
    """What plugins look up is what is stored: nothing that was assumed for a pod is left over."""
    stored = Objects(gates=DEFAULT_GATES)
    for obj in store.list_and_watch().objects:
        stored.put(obj)
    expected, known = _by_place(stored), _by_place(cache.objects)
    wrong = sorted(place for place in expected.keys() | known.keys() if expected.get(place) != known.get(place))
    assert not wrong, f"not known as they are stored: {wrong}"


def _by_place(objects: Objects) -> dict[tuple[str, str], Object]:
    return {(type(obj).__name__, object_key(obj)): obj for obj in looked_up(objects)}


def looked_up(objects: Objects) -> Iterator[Object]:
    """All objects that plugins can look up, kind by kind in the order of their arrival."""
    for kind in HOLDING:
        yield from getattr(objects, kind).values()


#: Plugins that, as upstream's, sleep through some changes that help a pod they rejected; it then waits for the flush.
#: tests/oracle/test_known_missed_wakeups.py lists the changes.
SLEEPERS = frozenset(
    {
        "DynamicResources",
        "InterPodAffinity",
        "NodeVolumeLimits",
        "PodTopologySpread",
        "VolumeBinding",
        "VolumeRestrictions",
    }
)


def check_settled(store: Store, scheduler: Scheduler) -> None:
    """Every pod that waits is one that fits nowhere, judged from scratch by what the store holds.

    Not asked of pods that one of the SLEEPERS rejected, unless no wake-up may be missed; nor of those that have to wait
    out their backoff, because the gate that would let an idle scheduler take them earlier is off.
    """
    waits_out_backoff = not scheduler.cache.gates.scheduler_pop_from_backoff_q
    exempt = SLEEPERS if scheduler.wakeups is Wakeups.UPSTREAM else frozenset()
    cache = Cache(scheduler.cache.gates, scheduler.cache.pods.own_schedulers)
    objects = store.list_and_watch().objects
    for obj in sorted(objects, key=lambda obj: not isinstance(obj, Node)):
        cache.add(obj)
    decider = Decider(scheduler.profiles, reuse=False)
    for queued in scheduler.queue.queued_pods():
        if queued.pod.metadata.deletion_timestamp:
            continue
        info = cache.info(queued.pod)
        if queued.state is PodState.GATED:
            profile = scheduler.profiles[info.scheduler_name]
            assert not run_pre_enqueue(profile.pre_enqueue, info).ok, f"{queued.key} waits though no gate is shut"
            continue
        if queued.state is PodState.UNSCHEDULABLE and not exempt.isdisjoint(queued.rejectors):
            continue
        if queued.state is PodState.BACKOFF and waits_out_backoff:
            continue
        try:
            choice = decider.decide(info, cache.view())
        except CycleError:
            continue  # an attempt that ends in an error places nothing
        assert not isinstance(choice, Fits), f"{queued.key} waits but fits on {cache.nodes.names[choice.row]}"
