"""What the status of a DeviceTaintRule says: whether pods are leaving because of it, and how many there are.

Takes a rule and what was counted for it; returns its condition EvictionInProgress. Nothing is counted or written here.
"""

# Upstream: pkg/controller/devicetainteviction/device_taint_eviction.go maybeUpdateRuleStatus (v1.37).

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from bayplan.model.conditions import FALSE, TRUE, find_condition
from bayplan.model.meta import Condition
from bayplan.model.resource_claims import DeviceTaintRule, DeviceTaintRuleStatus
from bayplan.model.structs import replace
from bayplan.model.time_units import SECOND
from bayplan.model.timestamps import format_time, parse_time
from bayplan.model.tolerations import NO_EXECUTE

EVICTION_IN_PROGRESS: Final = "EvictionInProgress"
#: An effect for those who only want to know what the rule would do.
NO_EFFECT: Final = "None"
STATUS_PERIOD_NS: Final = 10 * SECOND
"""A condition that is younger than this stays as it is, unless the rule itself was changed."""


@dataclass(frozen=True, slots=True)
class RuleCounts:
    """What a rule means for the cluster; of rules without an effect, what it would mean with one."""

    pods: int = 0
    namespaces: int = 0
    published: int = 0  # devices of slices
    allocated: int = 0  # devices that claims hold
    evicted: int = 0


def standing_until(rule: DeviceTaintRule) -> int:
    """When the condition may be written anew; 0 for at once."""
    standing = find_condition(rule.status.conditions, EVICTION_IN_PROGRESS)
    if standing is None or standing.observed_generation != rule.metadata.generation:
        return 0
    return parse_time(standing.last_transition_time) + STATUS_PERIOD_NS if standing.last_transition_time else 0


def with_eviction_condition(rule: DeviceTaintRule, counts: RuleCounts, now: int) -> DeviceTaintRule:
    """The rule with the condition that these numbers mean; the same rule if it has that already."""
    wanted = replace(_condition(rule, counts), observed_generation=rule.metadata.generation)
    standing = find_condition(rule.status.conditions, EVICTION_IN_PROGRESS)
    if standing is not None and replace(standing, last_transition_time=None) == wanted:
        return rule
    wanted.last_transition_time = format_time(now)
    others = [condition for condition in rule.status.conditions if condition is not standing]
    return replace(rule, status=DeviceTaintRuleStatus(conditions=[*others, wanted]))


def _condition(rule: DeviceTaintRule, counts: RuleCounts) -> Condition:
    effect = rule.spec.taint.effect
    status, message = FALSE, ""
    if effect == NO_EXECUTE and counts.pods:
        status, reason = TRUE, "PodsPendingEviction"
        verb = "needs" if counts.pods == 1 else "need"
        message = f"{_pods(counts.pods)} {verb} to be evicted in {_namespaces(counts.namespaces)}."
    elif effect == NO_EXECUTE:
        reason = "Completed" if counts.evicted else "NotStarted"
    elif effect == NO_EFFECT:
        reason, message = "NoEffect", _what_it_would_do(counts)
    else:
        reason, message = "OtherEffect", "Eviction only happens for the NoExecute effect."
    if counts.evicted:
        message = f"{message} {_pods(counts.evicted)} evicted since starting the controller.".lstrip()
    return Condition(type=EVICTION_IN_PROGRESS, status=status, reason=reason, message=message)


def _what_it_would_do(counts: RuleCounts) -> str:
    return (
        f"{_devices(counts.published, 'published')} selected. {_devices(counts.allocated, 'allocated')} selected. "
        f"{_pods(counts.pods)} would be evicted in {_namespaces(counts.namespaces)} if the effect was NoExecute. "
        "This information will not be updated again. Recreate the DeviceTaintRule to trigger an update."
    )


def _devices(count: int, which: str) -> str:
    return f"{count} {which} device{'' if count == 1 else 's'}"


def _pods(count: int) -> str:
    return f"{count} pod{'' if count == 1 else 's'}"


def _namespaces(count: int) -> str:
    return "1 namespace" if count == 1 else f"{count} different namespaces"
