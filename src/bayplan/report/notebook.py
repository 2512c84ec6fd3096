"""Answers as a notebook shows them: one sentence for their repr, and HTML without a page around it.

Takes any answer that Python code can get; gives what the command of the same name would write.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from bayplan.analysis.answers.audit.auditing import Audit
from bayplan.analysis.answers.capacity import Capacity
from bayplan.analysis.answers.drain import Draining
from bayplan.analysis.answers.exposure.answer import Exposure, ExposureRanking
from bayplan.analysis.answers.fixing.answer import Fixes
from bayplan.analysis.answers.moving.consolidate import Consolidation
from bayplan.analysis.answers.moving.defrag import Defrag
from bayplan.analysis.answers.pending import PendingPods
from bayplan.analysis.answers.planning.plan import NodePlan
from bayplan.analysis.answers.whatif import WhatIf
from bayplan.analysis.cluster import Cluster
from bayplan.analysis.explanation import PodExplanation, RecordedExplanation
from bayplan.analysis.placement import Placement
from bayplan.analysis.simulation.results.differences import ComparedRuns
from bayplan.analysis.simulation.results.result import SimulationResult
from bayplan.analysis.sweeping.sweep_result import SweepResult
from bayplan.config.feature_gates import DEFAULT_GATES
from bayplan.model.node import Node
from bayplan.report.answers.audit import audit_parts
from bayplan.report.answers.capacity import capacity_parts
from bayplan.report.answers.consolidate import consolidation_parts
from bayplan.report.answers.defrag import defrag_parts
from bayplan.report.answers.drain import drain_parts
from bayplan.report.answers.exposure import exposure_parts, ranking_parts
from bayplan.report.answers.fix import fix_parts
from bayplan.report.answers.html import fragment
from bayplan.report.answers.parts import Part, Sentence
from bayplan.report.answers.pending import pending_parts
from bayplan.report.answers.placement import placement_parts
from bayplan.report.answers.plan import plan_parts
from bayplan.report.answers.whatif import whatif_parts
from bayplan.report.comparison.parts import comparison_parts
from bayplan.report.explain.explanation import explanation_parts
from bayplan.report.nodes import node_table
from bayplan.report.simulation.parts import simulation_parts
from bayplan.report.sweep.parts import sweep_parts
from bayplan.report.words import counted


def sentence_of(answer: Any) -> str:
    """The answer itself."""
    first = next(iter(_parts_of(answer)), None)
    return first.text if isinstance(first, Sentence) else ""


def html_of(answer: Any) -> str:
    """Everything, with a style of its own."""
    return fragment(_parts_of(answer))


def _cluster_parts(cluster: Cluster) -> Iterator[Part]:
    nodes = sum(isinstance(obj, Node) for obj in cluster.objects)
    about = f"{counted(nodes, 'node')}, {counted(len(cluster.pods), 'pod')}"
    yield Sentence(f"{about}; Kubernetes {cluster.kubernetes_version}")
    yield node_table(cluster.build_cache(gates=DEFAULT_GATES).view())


def _parts_of(answer: Any) -> Iterable[Part]:
    return next(parts for kind, parts in _PARTS.items() if isinstance(answer, kind))(answer)


_PARTS: dict[type, Callable[[Any], Iterable[Part]]] = {
    Audit: audit_parts,
    Capacity: capacity_parts,
    Cluster: _cluster_parts,
    ComparedRuns: lambda compared: comparison_parts(compared.comparison),
    Consolidation: lambda answer: consolidation_parts(answer, "bayplan consolidate"),
    Defrag: defrag_parts,
    Draining: drain_parts,
    Exposure: exposure_parts,
    Fixes: fix_parts,
    NodePlan: plan_parts,
    PendingPods: pending_parts,
    Placement: placement_parts,
    PodExplanation: lambda answer: explanation_parts(answer.document()),
    ExposureRanking: ranking_parts,
    RecordedExplanation: lambda answer: explanation_parts(answer.document()),
    SimulationResult: lambda result: simulation_parts(result.run),
    SweepResult: lambda result: sweep_parts(result.summary),
    WhatIf: lambda answer: whatif_parts(answer, {}),
}
