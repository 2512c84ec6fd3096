"""PodDisruptionBudget: how many pods of a set may be unavailable at once.

`status` is None if the input has none: it has not been computed yet, which is not the same as zero allowed
disruptions. `selector` None selects no pod, an empty one every pod of the namespace. See `meta` for the rest.
"""

import msgspec

from bayplan.model.meta import Condition, Int32, Int64, LabelSelector, ObjectPart, TopLevel


class PodDisruptionBudgetSpec(ObjectPart, kw_only=True):
    selector: LabelSelector | None = None
    min_available: Int32 | str | None = None
    max_unavailable: Int32 | str | None = None
    unhealthy_pod_eviction_policy: str | None = None


class PodDisruptionBudgetStatus(ObjectPart, kw_only=True):
    disruptions_allowed: Int32 = 0
    disrupted_pods: dict[str, str | None] = {}
    current_healthy: Int32 = 0
    desired_healthy: Int32 = 0
    expected_pods: Int32 = 0
    observed_generation: Int64 = 0
    conditions: list[Condition] = []


class PodDisruptionBudget(TopLevel, kw_only=True):
    spec: PodDisruptionBudgetSpec = msgspec.field(default_factory=PodDisruptionBudgetSpec)
    status: PodDisruptionBudgetStatus | None = None
