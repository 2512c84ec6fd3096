"""Evictions that would not end well: workloads that push each other out, pods of other schedulers, daemons.

The queue of pending pods is placed as the scheduler would, and whoever is evicted comes back with the priority that new
pods of its workload get. Whether a daemon can be evicted is tried on one node with a pod of the highest priority in use
that needs the daemon's room.
"""

from __future__ import annotations

from collections.abc import Iterator

from bayplan.admission.priority import PREEMPT_NEVER
from bayplan.analysis.answers.audit.audited import Audited, is_recreated, name_of
from bayplan.analysis.answers.audit.cascade import Cascade, Settled, UnplacedPod, can_be_decided, renewed
from bayplan.analysis.answers.audit.rules import Finding
from bayplan.controllers.ownership import is_active
from bayplan.controllers.workloads.daemon_placement import pin
from bayplan.core.columns.resources import BASIC_NAMES, CPU_NAME
from bayplan.core.cycle import attempt
from bayplan.model.kinds import object_key
from bayplan.model.meta import ObjectMeta
from bayplan.model.pod import Container, Pod, PodSpec, ResourceRequirements, Toleration
from bayplan.model.structs import replace
from bayplan.model.workloads import DaemonSet


def eviction_findings(audited: Audited) -> Iterator[Finding]:
    """Needs nodes."""
    if not audited.nodes:
        return
    yield from _of_the_queue(audited)
    yield from _daemons(audited)


def _of_the_queue(audited: Audited) -> Iterator[Finding]:
    waiting = [pod for pod in audited.pods if not pod.spec.node_name and can_be_decided(audited.asking, pod)]
    planned = [new.pod for new in audited.planned.by_key.values() if can_be_decided(audited.asking, new.pod)]
    if not waiting and not planned:
        return
    cache = audited.cache
    origins = {id(new.origin): new.origin for new in audited.planned.by_key.values()}

    def with_new_priority(pod: Pod) -> Pod:
        new = renewed(pod)
        maker = audited.ownership.controller_of(pod.metadata)
        if maker is not None:
            new.spec.priority = audited.new_priority(maker.spec.template.spec)
        return new

    with cache.trial():
        for origin in origins.values():
            for brought in origin.along:
                cache.add(brought)
        pods = [UnplacedPod(pod, cache.info(pod)) for pod in (*waiting, *planned)]
        settled = Cascade(audited, cache, with_new_priority).settle(pods)
    yield from _said_of(audited, settled)


def _said_of(audited: Audited, settled: Settled) -> Iterator[Finding]:
    loops: dict[tuple[str, str], str] = {}
    for preemptor, victim in settled.loops:
        one, other = object_key(preemptor), object_key(victim)
        why = f"{other} would evict {one}, which would be recreated with a higher priority and evict {other}"
        loops.setdefault((audited.owner_name(preemptor), audited.owner_name(victim)), why)
    for (owner, _), why in loops.items():
        yield Finding("preemption-loop", owner, why)
    foreign: dict[tuple[str, str], str] = {}
    for preemptor, victim in settled.evictions:
        scheduler = victim.spec.scheduler_name
        if is_recreated(victim) and scheduler not in audited.asking.profiles:
            why = f"{object_key(preemptor)} would evict {object_key(victim)}, which scheduler {scheduler!r} places"
            foreign.setdefault((audited.owner_name(preemptor), scheduler), why)
    for (owner, _), why in foreign.items():
        yield Finding("foreign-victims", owner, why)


def _daemons(audited: Audited) -> Iterator[Finding]:
    strongest = _strongest(audited)
    if strongest is None:
        return
    for workload in audited.workloads:
        if not isinstance(workload, DaemonSet):
            continue
        running = [pod for pod in audited.ownership.pods_of(workload) if is_active(pod) and pod.spec.node_name]
        lower = [pod for pod in running if (pod.spec.priority or 0) < strongest[0]]
        if not lower:
            continue
        if _is_evicted(audited, lower[0], strongest[0]):
            why = (
                f"{object_key(lower[0])} on {lower[0].spec.node_name} has priority {lower[0].spec.priority or 0}, and "
                f"{strongest[1]} has {strongest[0]}"
            )
            yield Finding("evictable-daemon", name_of(workload), why)


def _strongest(audited: Audited) -> tuple[int, str] | None:
    """The highest priority of a pod that may preempt and is no daemon, and who has it."""
    found: tuple[int, str] | None = None
    for template in audited.templates:
        spec = template.spec
        if isinstance(template.object, DaemonSet) or spec.preemption_policy == PREEMPT_NEVER:
            continue
        priority = audited.priority_of(template)
        policy = audited.priorities.get(spec.priority_class_name)
        may_preempt = policy is None or policy.preemption_policy != PREEMPT_NEVER
        if may_preempt and (found is None or priority > found[0]):
            found = (priority, template.name)
    return found


def _is_evicted(audited: Audited, daemon: Pod, priority: int) -> bool:
    """Whether a pod of that priority that needs all the room of its inferiors on the node evicts the daemon."""
    cache = audited.cache
    node, profile = daemon.spec.node_name, audited.asking.profiles.get(daemon.spec.scheduler_name)
    row = cache.nodes.rows_by_name.get(node)
    if profile is None or row is None or not cache.nodes.alive[row]:
        return False
    asked = {name: amount for name, amount in cache.info(daemon).shape.requests.asked.items() if amount > 0}
    table, pods = cache.nodes, cache.pods
    above = [each for each in table.pod_rows[row] if pods.priorities[each] >= priority]
    requests: dict[str, str | int | float] = {}
    for name in asked:
        column = cache.resources.find(name)
        left = int(table.allocatable[row, column]) - sum(int(pods.requests[each, column]) for each in above)
        requests[name] = f"{left}m" if name == CPU_NAME else left
    probe = _probe(daemon, requests, priority)
    pin(probe, node)
    found = attempt(profile, cache.info(probe), cache.view())
    result = found.post_filter.found if found.post_filter is not None else None
    if result is None or row not in result.tied_rows.tolist():
        return False
    return object_key(daemon) in {pods.keys[each] for each in result.victims_on(row).tolist()}


def _probe(daemon: Pod, requests: dict[str, str | int | float], priority: int) -> Pod:
    limits = {name: amount for name, amount in requests.items() if name not in BASIC_NAMES}
    container = Container(name="probe", resources=ResourceRequirements(requests=requests, limits=limits))
    spec = PodSpec(
        scheduler_name=daemon.spec.scheduler_name,
        priority=priority,
        containers=[container],
        tolerations=[Toleration(operator="Exists")],
    )
    return Pod(metadata=ObjectMeta(name="probe-of-an-audit", namespace=daemon.metadata.namespace), spec=replace(spec))
