"""Upstream's families about pod groups: as `families`, of v1.37, and shown only where groups are on."""

from __future__ import annotations

from bayplan.serving.metrics.families import FROM_1_MS, doubling
from bayplan.serving.metrics.tallies import Family

#: What labels call a pod group.
POD_GROUP_TYPE = "podgroup"
GROUP_ATTEMPTS = Family(
    "scheduler_podgroup_schedule_attempts_total",
    "counter",
    "Attempts to place a pod group, by result: scheduled, unschedulable, waiting_on_preemption or error.",
    ("result", "profile"),
)
GROUP_ATTEMPT_DURATION = Family(
    "scheduler_podgroup_scheduling_attempt_duration_seconds",
    "histogram",
    "Time of an attempt on a pod group, without binding.",
    ("result", "profile"),
    FROM_1_MS,
)
GROUP_ALGORITHM_DURATION = Family(
    "scheduler_podgroup_scheduling_algorithm_duration_seconds",
    "histogram",
    "Time to decide on a pod group.",
    (),
    FROM_1_MS,
)
GROUP_PREEMPTIONS = Family(
    "scheduler_workload_preemption_attempts_total",
    "counter",
    "Attempts in which preemption was asked to make room for a pod group, by the code that it gave.",
    ("result",),
)
GROUP_VICTIMS = Family(
    "scheduler_workload_preemption_victims",
    "histogram",
    "Victims of a preemption for a pod group.",
    (),
    doubling(1, 11),
)
GROUP_DISRUPTIONS = Family(
    "scheduler_preemption_workload_disruptions",
    "histogram",
    "Units of pod groups that a preemption evicted: a whole group, or a pod of one that goes pod by pod.",
    ("preemptor",),
    doubling(1, 11),
)
BUDGET_VIOLATIONS = Family(
    "scheduler_preemption_pdb_violations_total",
    "counter",
    "Victims whose eviction broke a disruption budget.",
    ("preemptor",),
)
GENERATED_PLACEMENTS = Family(
    "scheduler_generated_placements_total",
    "counter",
    "Placements that were tried for pod groups.",
    ("profile",),
)
PLACEMENT_DURATION = Family(
    "scheduler_placement_evaluation_duration_seconds",
    "histogram",
    "Time to try a pod group in one placement, by result: feasible or infeasible.",
    ("result", "profile"),
    FROM_1_MS,
)
PREEMPTION_EVALUATION_DURATION = Family(
    "scheduler_preemption_evaluation_duration_seconds",
    "histogram",
    "Time to find out who has to go, by the code that this gave.",
    ("preemptor", "result"),
    doubling(0.001, 16),
)
PREEMPTION_EXECUTION_DURATION = Family(
    "scheduler_preemption_execution_duration_seconds",
    "histogram",
    "From the choice of victims until the API server has answered for all of them: success or error.",
    ("preemptor", "result"),
    doubling(0.001, 16),
)
PLACEMENT_EVALUATIONS = Family(
    "scheduler_placement_evaluations_total",
    "counter",
    "Placements that were tried for pod groups, by result: feasible or infeasible.",
    ("result", "profile"),
)
