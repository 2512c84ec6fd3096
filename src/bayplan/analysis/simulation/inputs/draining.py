"""Draining a node: its pods are evicted one after another, as far as their budgets allow.

As `kubectl drain --ignore-daemonsets --force` and the eviction API do: a pod whose budget is exhausted stays for
now, and the caller retries it; a pod that can never be evicted (it has two budgets) is given up. Finished pods, mirror
pods and pods of a DaemonSet are ignored.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from bayplan.controllers.budgets.evicting import evict_by_request, is_daemon, is_mirror
from bayplan.controllers.ownership import is_active
from bayplan.model.kinds import object_key
from bayplan.store import ApiError, Store
from bayplan.store.errors import TooManyRequests


@dataclass(slots=True)
class Remaining:
    """The pods that stay on the node."""

    to_retry: bool = False  # some only wait for their budgets
    refused: dict[str, str] = field(default_factory=dict)  # the others: key -> what the API server says


def drain_node(store: Store, name: str, now: int) -> Remaining:
    """Evicts the pods that may be evicted now."""
    remaining = Remaining()
    for pod in store.pods_on_node(name):
        if not is_active(pod) or is_daemon(pod) or is_mirror(pod):
            continue
        try:
            evict_by_request(store, pod, now)
        except TooManyRequests:
            remaining.to_retry = True
        except ApiError as error:
            remaining.refused[object_key(pod)] = str(error)
    return remaining
