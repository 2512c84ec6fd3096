"""Which of too many pods go first.

Takes the active pods of one owner and gives them in the order in which Kubernetes' controllers delete them: those that
have come least far, then those that cost least, then those that crowd a node, then the newest. Ages are compared by
their logarithm, as upstream does so that not only the youngest go; of about the same age the last to arrive goes,
where upstream in effect draws lots.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from bayplan.model.conditions import ready_since
from bayplan.model.meta import INT32_MAX
from bayplan.model.pod import Pod
from bayplan.model.timestamps import parse_time

DELETION_COST = "controller.kubernetes.io/pod-deletion-cost"

Rank: TypeAlias = tuple[bool, int, bool, int, int, int, int, int]

_PHASES = {"Pending": 0, "Unknown": 1, "Running": 2}


def first_to_delete(pods: Sequence[Pod], number: int, now: int, crowds: Mapping[str, int] | None = None) -> list[Pod]:
    """So many of the pods, which are in order of arrival; `crowds` counts related pods by node."""
    # Upstream: pkg/controller/controller_utils.go ActivePodsWithRanks (v1.36).
    if number >= len(pods):
        return [*pods]
    newest_first = [*reversed(pods)]
    newest_first.sort(key=lambda pod: _rank(pod, now, crowds or {}))
    return newest_first[:number]


def _rank(pod: Pod, now: int, crowds: Mapping[str, int]) -> Rank:
    since = ready_since(pod)
    node_name = pod.spec.node_name
    return (
        node_name != "",
        _PHASES.get(pod.status.phase, 0),
        since is not None,
        deletion_cost(pod),
        -crowds.get(node_name, 0) if node_name else 0,
        _magnitude(now, since),
        -max((status.restart_count for status in pod.status.container_statuses), default=0),
        _magnitude(now, pod.metadata.creation_timestamp),
    )


def deletion_cost(pod: Pod) -> int:
    """What its annotation says; 0 without one."""
    written = pod.metadata.annotations.get(DELETION_COST, "0")
    digits = written.removeprefix("-")
    # Whatever is no plain 32-bit number counts for nothing.
    if not (digits.isascii() and digits.isdecimal()) or int(digits) > INT32_MAX:
        return 0
    return int(written)


def _magnitude(now: int, since: str | None) -> int:
    """The whole part of the age's logarithm to base 2; -1 for what has no age yet."""
    if not since:
        return -1
    return (max(0, now - parse_time(since))).bit_length() - 1
