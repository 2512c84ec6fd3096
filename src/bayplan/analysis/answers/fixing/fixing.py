"""The answer to "what would let this pod run"."""

from __future__ import annotations

from dataclasses import replace

from bayplan.admission.priority import PriorityClasses
from bayplan.analysis.answers.asking import Asking
from bayplan.analysis.answers.exposure.probing import Outcome
from bayplan.analysis.answers.fixing.answer import Fix, Fixes
from bayplan.analysis.answers.fixing.edits import without_device_claim, without_gates
from bayplan.analysis.answers.fixing.patches import Origin, patches_for
from bayplan.analysis.answers.fixing.searching import Searching
from bayplan.analysis.answers.fixing.supplies import certain_lacks, supplied, supply_device_claims
from bayplan.analysis.answers.fixing.surroundings import Edits, Found
from bayplan.analysis.answers.fixing.trying import Trying
from bayplan.analysis.answers.owners import short_name, workload_of
from bayplan.analysis.references import Reference
from bayplan.controllers.ownership import Ownership, is_terminal, key_of
from bayplan.model.cluster import PriorityClass
from bayplan.model.errors import Fault, InvalidObject
from bayplan.model.kinds import object_key
from bayplan.model.node import Node
from bayplan.model.pod import Pod
from bayplan.model.well_known import DEFAULT_NAMESPACE
from bayplan.model.workloads import CronJob, Job

#: Fixes in an answer, the smallest ones.
FIXES_MAX = 10


def fixes_of(asking: Asking, text: str, namespace: str = DEFAULT_NAMESPACE) -> Fixes:
    """For the pod, or the next pod of the workload, that the text names. Raises InvalidObject."""
    cache = asking.cache()
    pod = asking.pending(text, cache, namespace)
    origin = _origin(asking, pod)
    stored = asking.cluster.pods.get(object_key(pod))
    name = short_name(origin.reference)
    if stored is not None and is_terminal(stored):
        message = f"{stored.status.phase}: the pod has finished"
        raise InvalidObject([Fault("", f"Pod {object_key(pod)}", "status.phase", message)])
    if stored is not None and stored.spec.node_name:
        return Fixes(object_key(pod), name, stored.spec.node_name, "", (), "")
    nodes = [obj for obj in asking.cluster.objects if isinstance(obj, Node)]
    trying = Trying(cache, asking.profile_of(pod), pod, nodes, asking.cluster.pods)
    base: Edits = (without_gates(pod.spec),) if pod.spec.scheduling_gates else ()
    held_back = trying.held_back(base)
    outcome = Outcome() if held_back else trying.decide(base)
    found = _released(trying, base) if held_back else _found(asking, trying, base, outcome)
    return Fixes(
        pod=object_key(pod),
        workload=name,
        runs_on="",
        fits_on="" if base else outcome.node,
        victims=() if base else outcome.victims,
        message=held_back or trying.message(base),
        fixes=tuple(
            Fix(
                each.changes, each.outcome.node, each.outcome.victims, patches_for(pod, origin, each.edits, each.around)
            )
            for each in found[:FIXES_MAX]
        ),
    )


def _released(trying: Trying, base: Edits) -> list[Found]:
    """What lets a pod be tried that waits for its claims."""
    with_claims = supply_device_claims(trying, base)
    dropped = (*base, *(without_device_claim(entry.name) for entry in trying.pod.spec.resource_claims))
    outcome = Outcome() if trying.held_back(dropped) else trying.decide(dropped)
    return [*([with_claims] if with_claims is not None else ()), *([Found(dropped, outcome)] if outcome.node else ())]


def _found(asking: Asking, trying: Trying, base: Edits, outcome: Outcome) -> list[Found]:
    lacks = certain_lacks(trying)
    if not lacks:
        return _searched(asking, trying, base, outcome, is_enough=bool(base))
    with supplied(trying, lacks):
        found = _searched(asking, trying, base, trying.decide(base), is_enough=True)
    changes = tuple(lack.change for lack in lacks)
    return [replace(each, around=(*changes, *each.around)) for each in found]


def _searched(asking: Asking, trying: Trying, base: Edits, outcome: Outcome, *, is_enough: bool) -> list[Found]:
    """`is_enough` if something is done already, so that a pod which fits now is a fix."""
    as_it_is = [Found(base, outcome)] if is_enough and outcome.node else []
    if outcome.node and not outcome.victims:
        return as_it_is
    classes = PriorityClasses(obj for obj in asking.cluster.objects if isinstance(obj, PriorityClass)).by_value()
    return as_it_is + Searching(trying, base, classes, preempts=bool(outcome.node)).fixes()


def _origin(asking: Asking, pod: Pod) -> Origin:
    reference = workload_of(pod, Ownership(asking.cluster.objects))
    wanted = (reference.kind, reference.namespace, reference.name)
    workload = next((obj for obj in asking.cluster.objects if key_of(obj) == wanted), None)
    if workload is None and reference.kind == Job.__name__:
        # The next Job of a CronJob is planned under the CronJob's name.
        wanted = (CronJob.__name__, *wanted[1:])
        workload = next((obj for obj in asking.cluster.objects if key_of(obj) == wanted), None)
        reference = Reference(*wanted) if workload is not None else reference
    return Origin(reference, None if isinstance(workload, Pod) else workload)
