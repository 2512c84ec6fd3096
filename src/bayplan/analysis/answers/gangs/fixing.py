"""The answer to "what would let this group be scheduled".

What is pending besides is placed first, as for a single pod. Proposals are changes of nodes, of the pods' own requests
and constraints, and of the group's `minCount`, each with which enough members fit when the scheduler's algorithm tries
them. All are then played to their end with the whole cluster; only those that hold are in the answer.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from bayplan.analysis.answers.asking import Asking
from bayplan.analysis.answers.exposure.probing import ProbeOutcome
from bayplan.analysis.answers.fixing.answer import Fixes, Remedy, RemedyKind
from bayplan.analysis.answers.fixing.edits import Edit, without_gates
from bayplan.analysis.answers.fixing.fixing import origin_of, rehearsed_fixes
from bayplan.analysis.answers.fixing.rehearsing import Rehearsal
from bayplan.analysis.answers.fixing.searching import knobs_of
from bayplan.analysis.answers.fixing.surroundings import WorkingChange
from bayplan.analysis.answers.fixing.trying import edited_spec
from bayplan.analysis.answers.gangs.explaining import ExplainedGroup, explained_group
from bayplan.analysis.answers.gangs.remedies import GroupTrying, Improvement, RemedyChoice, best_changes
from bayplan.analysis.answers.owners import short_name, workload_of
from bayplan.analysis.answers.playing import cluster_after
from bayplan.analysis.answers.stage import Stage
from bayplan.analysis.cluster import Cluster
from bayplan.analysis.group_explanation import GroupPlace
from bayplan.analysis.references import POD, Reference
from bayplan.core.groups.member import Member
from bayplan.model.groups import GangPolicy, PodGroup
from bayplan.model.kinds import object_key
from bayplan.model.pod import Pod, group_key
from bayplan.model.structs import replace

#: Nodes of one kind that are added or uncordoned at once, at most.
NODES_MAX = 32
_NAMED = 3


class GroupRehearsal(Rehearsal):
    """Rehearses fixes for all pods of a group, whoever made them."""

    def members_among(self, pods: Iterable[Pod]) -> set[str]:
        group = group_key(self.pod)
        return {object_key(pod) for pod in pods if group_key(pod) == group}


def fixes_of_group(asking: Asking, key: str) -> Fixes:
    """Raises InvalidObject for a group that neither exists nor has pods."""
    before = explained_group(asking.cluster, asking.configuration, key)
    name = _reference(key)
    pending = len(before.members)
    stage = Stage(asking)
    with stage.course() as course:
        course.settle()
        nodes = [course.node_of(member.key) for member in before.members]
        own = {member.key for member in before.members}
        victims = [each.pod for each in course.departures if each.by in own]
        later = cluster_after(course, asking.cluster)
    if not pending:
        running = before.scheduled
        return Fixes(name, name, _nodes_of(asking.cluster, key), "", (), before.waits_for, running=running)
    if any(nodes):
        first = next(node for node in nodes if node)
        return Fixes(name, name, "", first, tuple(victims), "", pending=pending, running=before.scheduled)
    return _fixes_of(asking.of(later), key, name, pending)


def _reference(key: str) -> str:
    namespace, _, name = key.partition("/")
    return short_name(Reference("podgroup", namespace, name))


def _nodes_of(cluster: Cluster, key: str) -> str:
    """Where its pods run."""
    found = (pod.spec.node_name for pod in cluster.pods.values() if group_key(pod) == key and pod.spec.node_name)
    names = sorted(set(found))
    return ", ".join(names[:_NAMED]) + (f" and {len(names) - _NAMED:,} more" if len(names) > _NAMED else "")


def _fixes_of(asking: Asking, key: str, name: str, pending: int) -> Fixes:
    why = explained_group(asking.cluster, asking.configuration, key)
    first = asking.cluster.find_pod(why.members[0].key)
    origin = origin_of(asking, first)
    rehearsal = GroupRehearsal(Stage(asking), first, origin)
    asking.tell("looking for changes", 0, 0)
    origins = {workload_of(member.pod, asking.cluster.ownership) for member in why.members}
    may_edit = len(origins) == 1 or all(each.kind == POD for each in origins)  # or it would take several templates
    found = sorted(_proposals(why, may_edit=may_edit), key=lambda each: each.price)
    fixes = rehearsed_fixes(rehearsal, found, origin, asking.tell) if found else []
    return Fixes(
        pod=name,
        workload=name,
        runs_on="",
        fits_on="",
        victims=(),
        message=why.waits_for,
        pending=pending,
        running=rehearsal.running,
        fixes=tuple(fixes),
    )


def _proposals(why: ExplainedGroup, *, may_edit: bool) -> Iterator[WorkingChange]:
    if why.group is None:
        return
    gated = [member for member in why.members if member.pod.spec.scheduling_gates]
    if gated:
        yield WorkingChange((without_gates(gated[0].pod.spec),), ProbeOutcome())
        return
    there = len(why.members) + why.scheduled
    if why.place is GroupPlace.GATED and there < why.needed:
        yield from _with_fewer(why.group, there)
        return
    if why.shortfall is None:
        return
    fitting, enough = len(why.shortfall.fitting), why.needed - why.scheduled
    yield from _with_fewer(why.group, why.scheduled + fitting)
    trying = GroupTrying(why.stage, why.nodes, why.pods, NODES_MAX)
    for choice in trying.choices():
        yield from _least_of(trying, choice, enough)
    yield from (_around(each) for each in best_changes(trying, enough) if each.fitting >= enough)
    if may_edit:
        yield from _edited(why, trying, enough)


def _with_fewer(group: PodGroup, count: int) -> Iterator[WorkingChange]:
    """The group with a lower quorum, if that is possible."""
    gang = group.spec.scheduling_policy.gang
    if gang is None or not 0 < count < gang.min_count:
        return
    policy = replace(group.spec.scheduling_policy, gang=GangPolicy(min_count=count))
    generation = (group.metadata.generation or 0) + 1
    lowered = replace(
        group,
        metadata=replace(group.metadata, generation=generation),
        spec=replace(group.spec, scheduling_policy=policy),
    )
    extent = (gang.min_count - count) / gang.min_count
    change = Remedy(RemedyKind.MIN_COUNT, object_key(group), before=gang.min_count, after=count, extent=extent)
    yield WorkingChange((), ProbeOutcome(), (change,), objects=(lowered,))


def _least_of(trying: GroupTrying, choice: RemedyChoice, enough: int) -> Iterator[WorkingChange]:
    """As few of the same change as let enough members fit; none if all of them do not."""
    if trying.fitting(choice) < enough:
        return
    too_few, good = 0, len(choice)
    while good - too_few > 1:
        middle = (too_few + good) // 2
        if trying.fitting(choice[:middle]) >= enough:
            good = middle
        else:
            too_few = middle
    yield _around(Improvement(choice[:good], enough))


def _around(improvement: Improvement) -> WorkingChange:
    changes = tuple(remedy.change for remedy in improvement.remedies)
    return WorkingChange((), ProbeOutcome(), changes, objects=tuple(improvement.objects))


def _edited(why: ExplainedGroup, trying: GroupTrying, enough: int) -> Iterator[WorkingChange]:
    """Each single change of all members at once, as mild as may be."""
    unfit = why.shortfall.unfit if why.shortfall is not None else None
    first = next((each for each in why.members if unfit is not None and each.key == unfit.pod), why.members[0])

    def fits(edit: Edit) -> bool:
        return trying.fitting((), [_with(why, member, edit) for member in why.members]) >= enough

    for knob in knobs_of(first.pod.spec, trying.nodes.values(), why.cache.gates):
        if fits(knob.most):
            yield WorkingChange((knob.nearest(fits),), ProbeOutcome())


def _with(why: ExplainedGroup, member: Member, edit: Edit) -> Member:
    pod = replace(member.pod, spec=edited_spec(member.pod.spec, (edit,)))
    return Member(pod, why.cache.info(pod), member.attempts, member.queued_at)
