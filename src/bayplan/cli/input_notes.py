"""Notes on what was read: kinds that are of no use, kinds that are missing, and what was assumed instead."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from bayplan.analysis.cluster import Cluster
from bayplan.analysis.default_storage_class import EXPLANATION
from bayplan.analysis.input_gaps import Gap, dump_command
from bayplan.analysis.unknown_namespaces import unknown_namespaces
from bayplan.cli.options import note, note_skipped
from bayplan.model.errors import Fault
from bayplan.model.near_matches import did_you_mean
from bayplan.report.words import counted, listed

_EXAMPLES = 3


def note_input(cluster: Cluster) -> None:
    """All that a reader of an answer should know about the input."""
    if cluster.version_note:
        note(cluster.version_note)
    note_skipped(cluster.skipped)
    note_gaps(cluster.gaps)
    if cluster.assumed_class is not None:
        note(EXPLANATION)
    note_refused(cluster.refused_workloads)
    note_unknown_namespaces(cluster)


def note_unknown_namespaces(cluster: Cluster) -> None:
    """Objects that could not be created, for their namespace does not exist."""
    for each in unknown_namespaces(cluster.objects)[:_EXAMPLES]:
        are = "is" if each.objects == 1 else "are"
        refused = f"{counted(each.objects, 'object')} {are} in it, which an API server would refuse"
        note(f"the input has no Namespace {each.name}, but {refused}{did_you_mean(each.meant)}")


def note_missing_budgets(cluster: Cluster) -> None:
    """For answers that evict pods: nothing refers to a budget, so that nobody would miss them."""
    if cluster.may_lack_budgets:
        note("the input has no PodDisruptionBudgets: if the cluster has some, they may block evictions")


def note_idle(cluster: Cluster) -> None:
    """Workloads that create no pods for now, and how to ask about them."""
    if cluster.cron_jobs:
        names = [f"{obj.metadata.namespace}/cronjob/{obj.metadata.name}" for obj in cluster.cron_jobs]
        creates = "CronJob creates" if len(names) == 1 else "CronJobs create"
        note(f"{len(names):,} {creates} no pods until due: try bayplan explain {listed(names, _EXAMPLES, last='or')}")
    if cluster.suspended_jobs:
        names = [f"{obj.metadata.namespace}/job/{obj.metadata.name}" for obj in cluster.suspended_jobs]
        creates = "suspended Job creates" if len(names) == 1 else "suspended Jobs create"
        note(f"{len(names):,} {creates} no pods: try bayplan explain {listed(names, _EXAMPLES, last='or')}")


def note_gaps(gaps: Sequence[Gap]) -> None:
    """Which kinds are missing, which answers they affect, and how to get them, in one line."""
    if gaps:
        kinds = ", ".join(map(_named, gaps))
        affected = "; ".join(dict.fromkeys(gap.affects for gap in gaps))
        note(f"the input has no {kinds}. Affected: {affected}. Complete input: {dump_command(gaps)}")


def note_refused(faults: Sequence[Fault]) -> None:
    """Workloads whose controllers try in vain, by reason."""
    reasons: defaultdict[str, list[str]] = defaultdict(list)
    for fault in faults:
        reasons[fault.message].append(fault.object)
    for reason, workloads in reasons.items():
        note(f"{listed(workloads, _EXAMPLES)} cannot create pods: {reason}")


def _named(gap: Gap) -> str:
    plural = _plural(gap.kind.__name__)
    return f"{plural} ({counted(gap.references, 'reference')})" if gap.references else plural


def _plural(kind: str) -> str:
    return f"{kind}es" if kind.endswith("s") else f"{kind}s"
