"""What is to be done for a chosen candidate: as actions or, where no time passes, to the cache at once."""

from __future__ import annotations

from collections.abc import Sequence

from bayplan.core.actions import ClearNomination, Evict
from bayplan.core.cache import Cache
from bayplan.core.columns import RowArray
from bayplan.core.columns.nominated import is_known_by_name
from bayplan.core.columns.shapes import PodInfo
from bayplan.core.snapshot import View
from bayplan.model.resource_claims import left_to

CONDITION_REASON = "PreemptionByScheduler"


def prepare(pod: PodInfo, view: View, node_row: int, victim_rows: RowArray) -> list[ClearNomination | Evict]:
    """Nominations of lower priority on the node end first; then the victims go.

    Victims that are leaving already are left alone, and if none but those are there nothing changes. The pod's own
    nomination goes out with its condition.
    """
    node = view.nodes.names[node_row]
    whom, note = "a higher priority pod", f"Preempted by pod {pod.uid} on node {node}"
    rows = [int(row) for row in victim_rows if not view.pods.terminating[row]]
    evictions = [evict(view, row, pod.scheduler_name, whom, note) for row in rows]
    overtakes = [ClearNomination(key, node) for key in overtaken(pod, view, node)] if evictions else []
    return [*overtakes, *evictions]


def make_room(cache: Cache, pod: PodInfo, view: View, node: str, victim_rows: RowArray) -> list[str]:
    """Where no time passes: the victims leave the cache, and so do nominations of lower priority; the victims' keys."""
    victims = [view.pods.keys[row] for row in victim_rows.tolist()]
    overtakes = overtaken(pod, view, node)
    let_go(cache, victims)
    for key in overtakes:
        cache.remove_pod(key)
    return victims


def let_go(cache: Cache, keys: Sequence[str]) -> None:
    """The pods leave the cache, and what they reserved is free."""
    pods = cache.pods
    _give_back_devices(cache, {pods.uids[pods.rows_by_key[key]] for key in keys})
    for key in keys:
        cache.remove_pod(key)


def _give_back_devices(cache: Cache, uids: set[str]) -> None:
    """As the claim controller does once pods are gone."""
    for claim in list(cache.objects.resource_claims.values()):
        users = claim.status.reserved_for
        left = [user for user in users if user.uid not in uids]
        if len(left) < len(users):
            cache.objects.put(left_to(claim, left))


def overtaken(pod: PodInfo, view: View, node: str) -> list[str]:
    """Pods nominated to the node that are of lower priority. Of those known by name nobody knows where they are."""
    pods = view.pods
    lower = [row for row in view.nominated.get(node, ()) if pods.priorities[row] < pod.priority]
    return [pods.keys[row] for row in lower if not is_known_by_name(pods.shape(row).spec)]


def evict(view: View, victim_row: int, scheduler_name: str, whom: str, note: str) -> Evict:
    """Have the pod evicted to accommodate `whom`."""
    pods = view.pods
    return Evict(
        pod=pods.keys[victim_row],
        uid=pods.uids[victim_row],
        node=view.nodes.names[pods.node_rows.item(victim_row)],
        condition_reason=CONDITION_REASON,
        condition_message=f"{scheduler_name}: preempting to accommodate {whom}",
        note=note,
        scheduler_name=scheduler_name,
    )
