"""What a Job's policies say: what the failure of a pod means, and when enough indexes have succeeded.

Takes Jobs and pods that have ended; gives actions and messages in upstream's words. Nothing is counted or written here.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import NamedTuple

from bayplan.controllers.ownership import is_terminal
from bayplan.controllers.workloads.job_pods import indexes_of
from bayplan.model.pod import ContainerStatus, Pod
from bayplan.model.workloads import Job, PodFailurePolicyOnExitCodes, PodFailurePolicyRule, SuccessPolicyRule

FAIL_JOB, FAIL_INDEX, IGNORE, COUNT = "FailJob", "FailIndex", "Ignore", "Count"
_ACTIONS = frozenset({FAIL_JOB, FAIL_INDEX, IGNORE, COUNT})


class Reaction(NamedTuple):
    """What the failure of a pod means."""

    action: str = COUNT
    message: str = ""
    """Why the Job fails, if it does."""


_COUNTED = Reaction()


def only_failed_pods_are_replaced(job: Job) -> bool:
    """Whether a pod that is being deleted counts, and is replaced, only when it has ended."""
    return job.spec.pod_replacement_policy == "Failed" or job.spec.pod_failure_policy is not None


def has_failed(job: Job, pod: Pod) -> bool:
    """Whether the pod counts as failed now."""
    if is_terminal(pod):
        return pod.status.phase == "Failed"
    return pod.metadata.deletion_timestamp is not None and not only_failed_pods_are_replaced(job)


def reaction_to(job: Job, pod: Pod) -> Reaction:
    """What the first rule that matches says of the pod's failure."""
    # Upstream: pkg/controller/job/pod_failure_policy.go matchPodFailurePolicy (v1.36).
    policy = job.spec.pod_failure_policy
    for number, rule in enumerate(policy.rules if policy is not None else ()):
        why = _why_it_matches(rule, pod)
        if why is not None and rule.action in _ACTIONS:
            message = f"{why} matching {rule.action} rule at index {number}" if rule.action == FAIL_JOB else ""
            return Reaction(rule.action, message)
    return _COUNTED


def _why_it_matches(rule: PodFailurePolicyRule, pod: Pod) -> str | None:
    key = f"{pod.metadata.namespace}/{pod.metadata.name}"
    if rule.on_exit_codes is not None:
        statuses = (*pod.status.container_statuses, *pod.status.init_container_statuses)
        found = _first_exit(statuses, rule.on_exit_codes)
        return None if found is None else f"Container {found[0]} for pod {key} failed with exit code {found[1]}"
    wanted = {(pattern.type, pattern.status) for pattern in rule.on_pod_conditions}
    for condition in pod.status.conditions:
        if (condition.type, condition.status) in wanted:
            return f"Pod {key} has condition {condition.type}"
    return None


def _first_exit(statuses: Iterable[ContainerStatus], wanted: PodFailurePolicyOnExitCodes) -> tuple[str, int] | None:
    """The first container that ended as the rule says, with its exit code."""
    for status in statuses:
        ended = None if status.state is None else status.state.terminated
        if ended is None or not ended.exit_code or wanted.container_name not in (None, status.name):
            continue
        is_listed = ended.exit_code in wanted.values
        if (wanted.operator == "In" and is_listed) or (wanted.operator == "NotIn" and not is_listed):
            return status.name, ended.exit_code
    return None


def success_message(job: Job, succeeded: Collection[int]) -> str | None:
    """Which rule of its success policy the Job meets by these indexes; None if it meets none."""
    policy = job.spec.success_policy
    if policy is None or not succeeded:
        return None
    completions = job.spec.completions or 0
    for number, rule in enumerate(policy.rules):
        if _is_met(rule, succeeded, completions):
            return f"Matched rules at index {number}"
    return None


def _is_met(rule: SuccessPolicyRule, succeeded: Collection[int], completions: int) -> bool:
    # Upstream: pkg/controller/job/success_policy.go matchSuccessPolicy (v1.36).
    number = rule.succeeded_count
    if rule.succeeded_indexes is None:
        return number is not None and len(succeeded) >= number
    required = indexes_of(rule.succeeded_indexes, completions)
    reached = len(required.intersection(succeeded))
    return bool(required) and (reached == len(required) or (number is not None and reached >= number))
