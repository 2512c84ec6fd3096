"""The answer to "what would let this pod run"."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from bayplan.admission.priority import PriorityClasses
from bayplan.analysis.answers.asking import Asking, Tell
from bayplan.analysis.answers.exposure.probing import ProbeOutcome
from bayplan.analysis.answers.fixing.answer import Fix, Fixes, RemedyKind
from bayplan.analysis.answers.fixing.daemons import left_out
from bayplan.analysis.answers.fixing.edits import without_device_claim, without_gates
from bayplan.analysis.answers.fixing.idle import started, with_resuming
from bayplan.analysis.answers.fixing.patches import Origin, patches_for
from bayplan.analysis.answers.fixing.rehearsing import Rehearsal
from bayplan.analysis.answers.fixing.searching import Searching
from bayplan.analysis.answers.fixing.supplies import certain_lacks, supplies, supply_device_claims
from bayplan.analysis.answers.fixing.surroundings import Edits, WorkingChange
from bayplan.analysis.answers.fixing.trying import Trying
from bayplan.analysis.answers.fixing.typos import corrected_claims
from bayplan.analysis.answers.owners import short_name, workload_of
from bayplan.analysis.answers.playing import cluster_after, settled
from bayplan.analysis.answers.stage import Stage
from bayplan.analysis.cluster import Cluster
from bayplan.analysis.cluster_objects import is_pending
from bayplan.analysis.input_gaps import missing_for
from bayplan.analysis.references import POD, Reference, parse_reference
from bayplan.controllers.ownership import is_terminal, key_of
from bayplan.model.cluster import PriorityClass
from bayplan.model.errors import Fault, InvalidObject
from bayplan.model.kinds import object_key
from bayplan.model.node import Node
from bayplan.model.pod import Pod
from bayplan.model.well_known import DEFAULT_NAMESPACE
from bayplan.model.workloads import CronJob, DaemonSet

#: Fixes in an answer, the best ones.
FIXES_MAX = 5
#: Fixes that are rehearsed, each with the whole cluster.
REHEARSED_MAX = 12


def fixes_of(asking: Asking, text: str, namespace: str = DEFAULT_NAMESPACE) -> Fixes:
    """For the pod, or the pods of the workload, that the text names. Raises InvalidObject.

    Whatever else is pending is placed first, as it will be: a fix for a node that another pod takes would be none.
    """
    answer = _fixes_if_started(asking, text, namespace)
    pod = asking.cluster.pods.get(answer.pod)
    missing = missing_for(pod, asking.cluster.gaps) if pod is not None and not answer.runs_on else []
    return replace(answer, unsure=tuple(gap.kind.__name__ for gap in missing))


def _fixes_if_started(asking: Asking, text: str, namespace: str) -> Fixes:
    running = started(asking.cluster, text, namespace)
    if running is None:
        return _fixes_when_settled(asking, text, namespace)
    begun = asking.of(running)
    answer = _fixes_when_settled(begun, text, namespace)
    reference = parse_reference(text, namespace)
    if reference.kind == CronJob.__name__:
        return replace(answer, is_one_more=True)
    return with_resuming(answer, reference, _nodes_of(begun, reference) if answer.is_fine else ())


def _fixes_when_settled(asking: Asking, text: str, namespace: str) -> Fixes:
    pending = _pending(asking.cluster, text, namespace)
    stage = Stage(asking)
    if not pending:
        return _fixes_of(stage, text, namespace)
    with stage.course() as course:
        course.settle()
        later = cluster_after(course, asking.cluster)
    left = _pending(later, text, namespace)
    if not left:
        return replace(_fixes_of(stage, text, namespace), pending=pending)
    return replace(_fixes_of(Stage(asking.of(later)), text, namespace), fitting=pending - left)


def _nodes_of(asking: Asking, reference: Reference) -> tuple[str, ...]:
    """Where the workload's pods run once everything is placed."""
    later = cluster_after(settled(asking), asking.cluster)
    own = (pod for pod in later.pods.values() if workload_of(pod, later.ownership) == reference)
    return tuple(dict.fromkeys(pod.spec.node_name for pod in own if pod.spec.node_name))


def _pending(cluster: Cluster, text: str, namespace: str) -> int:
    """How many pods that the text means are pending. Raises InvalidObject."""
    wanted = cluster.wanted(text, namespace)
    if wanted.subject.siblings is not None:
        return wanted.subject.siblings.pending
    return int(parse_reference(text, namespace).kind == POD and is_pending(wanted.pod))


def _fixes_of(stage: Stage, text: str, namespace: str) -> Fixes:
    asking = stage.asking
    cache = asking.cache()
    pod = asking.pending(text, cache, namespace)
    origin = origin_of(asking, pod)
    stored = asking.cluster.pods.get(object_key(pod))
    name = short_name(origin.reference)
    if stored is not None and is_terminal(stored):
        message = f"{stored.status.phase}: the pod has finished"
        raise InvalidObject([Fault("", f"Pod {object_key(pod)}", "status.phase", message)])
    if stored is not None and stored.spec.node_name:
        return Fixes(object_key(pod), name, stored.spec.node_name, "", (), "")
    nodes = [obj for obj in asking.cluster.objects if isinstance(obj, Node)]
    rehearsal = Rehearsal(stage, pod, origin)
    alike = 1 if isinstance(origin.workload, DaemonSet) else rehearsal.pending  # daemons have a node each
    trying = Trying(cache, asking.profile_of(pod), pod, nodes, asking.cluster.pods, alike)
    base: Edits = (without_gates(pod.spec),) if pod.spec.scheduling_gates else ()
    held_back = trying.held_back(base)
    outcome = ProbeOutcome() if held_back else trying.decide(base)
    found = _released(trying, base) if held_back else _found(asking, trying, base, outcome)
    fixes = rehearsed_fixes(rehearsal, found, origin, asking.tell) if found else []
    return Fixes(
        pod=object_key(pod),
        workload=name,
        runs_on="",
        fits_on="" if base else outcome.node,
        victims=() if base else outcome.victims,
        message=held_back or trying.message(base),
        pending=max([rehearsal.pending, *(fix.fixed for fix in fixes)]),
        running=rehearsal.running,
        is_one_more=rehearsal.is_about_one_more,
        left_out=left_out(origin.workload, nodes) if isinstance(origin.workload, DaemonSet) else {},
        fixes=tuple(fixes),
    )


def rehearsed_fixes(rehearsal: Rehearsal, found: Sequence[WorkingChange], origin: Origin, tell: Tell) -> list[Fix]:
    """Fixes that help the workload and harm none of its pods; the more pods they help, and the fewer are evicted, the
    earlier they come.
    """
    fixes: dict[tuple[tuple[RemedyKind, str], ...], Fix] = {}  # of changes that differ in their measure alone, the best
    for number, each in enumerate(found[:REHEARSED_MAX]):
        tell("changes played to their end", number, min(len(found), REHEARSED_MAX))
        came = rehearsal.rehearse(each)
        if came is None or not came.fixed or came.harms_own:
            continue
        if rehearsal.evicts_anyway and len(came.victims) >= rehearsal.evicts_anyway:
            continue
        identity = tuple((change.kind, change.what) for change in each.changes)
        if identity in fixes and fixes[identity].fixed >= came.fixed:
            continue
        patches = patches_for(rehearsal.pod, origin, each.edits, each.around, rehearsal.waiting)
        fixes[identity] = Fix(each.changes, came.nodes, came.fixed, came.victims, came.left_pending, patches)
        if sum(fix.fixed >= rehearsal.pending for fix in fixes.values()) == FIXES_MAX:
            break
    cheapest = sorted(fixes.values(), key=lambda fix: fix.price)
    if rehearsal.evicts_anyway:
        return sorted(cheapest, key=lambda fix: (-fix.fixed, len(fix.victims)))[:FIXES_MAX]
    return sorted(cheapest, key=lambda fix: (-fix.fixed, len(fix.left_pending) > 0))[:FIXES_MAX]


def _released(trying: Trying, base: Edits) -> list[WorkingChange]:
    """What lets a pod be tried that waits for its claims."""
    with_claims = supply_device_claims(trying, base)
    dropped = (*base, *(without_device_claim(entry.name) for entry in trying.pod.spec.resource_claims))
    outcome = ProbeOutcome() if trying.held_back(dropped) else trying.decide(dropped)
    return [
        *([with_claims] if with_claims is not None else ()),
        *([WorkingChange(dropped, outcome)] if outcome.node else ()),
    ]


def _found(asking: Asking, trying: Trying, base: Edits, outcome: ProbeOutcome) -> list[WorkingChange]:
    lacks = certain_lacks(trying)
    if not lacks:
        return _searched(asking, trying, base, outcome, is_enough=bool(base))
    objects = supplies(lacks)
    with trying.objects_there(objects):
        found = _searched(asking, trying, base, trying.decide(base), is_enough=True)
    changes = tuple(lack.change for lack in lacks)
    supplied = [replace(each, around=(*changes, *each.around), objects=(*objects, *each.objects)) for each in found]
    return [*corrected_claims(trying, base), *supplied]


def _searched(
    asking: Asking, trying: Trying, base: Edits, outcome: ProbeOutcome, *, is_enough: bool
) -> list[WorkingChange]:
    """`is_enough` if something is done already, so that a pod which fits now is a fix."""
    as_it_is = [WorkingChange(base, outcome)] if is_enough and outcome.node else []
    if outcome.node and not outcome.victims:
        return as_it_is
    asking.tell("looking for changes", 0, 0)
    classes = PriorityClasses(obj for obj in asking.cluster.objects if isinstance(obj, PriorityClass)).by_value()
    return as_it_is + Searching(trying, base, classes, preempts=bool(outcome.node)).fixes()


def origin_of(asking: Asking, pod: Pod) -> Origin:
    reference = workload_of(pod, asking.cluster.ownership)
    wanted = (reference.kind, reference.namespace, reference.name)
    workload = next((obj for obj in asking.cluster.objects if key_of(obj) == wanted), None)
    return Origin(reference, None if isinstance(workload, Pod) else workload)
