"""Checks of what a Job says of the PodGroup of its pods.

Upstream: pkg/apis/batch/validation/validation.go, the declarative rules of staging/src/k8s.io/api/batch/v1, and
component-helpers/scheduling/schedulingv1/workloadbuilder/validate.go (v1.37).
"""

from __future__ import annotations

from bayplan.apiserver.admitting.documents import Document, Path
from bayplan.apiserver.admitting.validation.faults import Faults
from bayplan.apiserver.admitting.validation.pod_groups import check_claims, check_topology, check_union

_VARIANT_IS_FIXED = (
    "the basic/gang policy variant is immutable after creation; only schedulingPolicy.gang.minCount may be updated"
)
_NO_BASIC_AS_A_WHOLE = "the disruptionMode `all` is not supported with the Basic scheduling policy"


def check_job_scheduling(spec: Document, faults: Faults, path: Path) -> None:
    scheduling = spec.get("scheduling")
    if scheduling is None:
        return
    policy = scheduling.get("schedulingPolicy")
    if policy is not None:
        check_union(policy, ("basic", "gang"), faults, f"{path}.schedulingPolicy")
        _check_size(policy.get("gang") or {}, spec, faults, f"{path}.schedulingPolicy.gang.minCount")
    check_topology(scheduling.get("schedulingConstraints") or {}, faults, f"{path}.schedulingConstraints")
    check_claims(scheduling.get("resourceClaims") or [], faults, f"{path}.resourceClaims")
    mode = scheduling.get("disruptionMode")
    if mode is not None:
        check_union(mode, ("single", "all"), faults, f"{path}.disruptionMode")
        if mode.get("all") is not None and (policy is None or policy.get("basic") is not None):
            faults.invalid(f"{path}.disruptionMode", "", _NO_BASIC_AS_A_WHOLE)


def check_job_scheduling_update(spec: Document, before: Document, faults: Faults) -> None:
    """Only how many pods a gang needs may change."""
    path = "spec.scheduling"
    new, old = spec.get("scheduling"), before.get("scheduling")
    if _comes_or_goes(new, old, faults, path) or new is None or old is None:
        return
    policy, old_policy = new.get("schedulingPolicy"), old.get("schedulingPolicy")
    is_decided = _comes_or_goes(policy, old_policy, faults, f"{path}.schedulingPolicy")
    if not is_decided and policy is not None and ("basic" in policy) != ("basic" in old_policy):
        faults.invalid(f"{path}.schedulingPolicy", None, _VARIANT_IS_FIXED)
    for field in ("schedulingConstraints", "disruptionMode", "resourceClaims"):
        faults.immutable(f"{path}.{field}", new.get(field), old.get(field))


def _check_size(gang: Document, spec: Document, faults: Faults, path: Path) -> None:
    size, parallelism = gang.get("minCount"), spec.get("parallelism")
    if size is None:
        return
    if size < 1:
        faults.invalid(path, size, "must be greater than or equal to 1")
    pods = 1 if parallelism is None else parallelism
    if size > pods:
        faults.invalid(path, size, f"must not be greater than parallelism ({pods})")


def _comes_or_goes(new: Document | None, old: Document | None, faults: Faults, path: Path) -> bool:
    if (new is None) == (old is None):
        return False
    faults.invalid(
        path, None, "field cannot be set once created" if old is None else "field cannot be cleared once set"
    )
    return True
