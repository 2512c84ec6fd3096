"""The state of the live world when the page is made: who leads, which watches are broken, what waits for answers.

Takes the running parts, keeps nothing. What the writer counts is shown as it is.
"""

from __future__ import annotations

from bayplan.client.leases import LeaderElector
from bayplan.client.writes import Writer
from bayplan.serving.metrics import families
from bayplan.serving.metrics.own import own_family
from bayplan.serving.metrics.tallies import Reading
from bayplan.worlds.live import LiveWorld

WRITES = own_family(
    "bayplan_writes_total",
    "counter",
    "Writes to the API server, by kind of action (Emit: Events) and what became of them.",
    ("kind", "outcome"),
)
UNANSWERED = own_family("bayplan_bindings_unanswered", "gauge", "Bindings that were sent and not answered.")
SYNCED = own_family("bayplan_synced", "gauge", "Whether all that is watched has been listed once.")
BROKEN_WATCHES = own_family(
    "bayplan_watch_broken", "gauge", "Whether the API server does not give what is to be watched.", ("kind",)
)


def state_of_world(world: LiveWorld, writer: Writer) -> tuple[Reading, ...]:
    return (
        Reading(WRITES, lambda: writer.outcomes),
        Reading(UNANSWERED, lambda: {(): world.unanswered}),
        Reading(SYNCED, lambda: {(): world.is_synced}),
        Reading(BROKEN_WATCHES, lambda: {(kind,): bool(trouble) for kind, trouble in world.troubles().items()}),
    )


def leadership(elector: LeaderElector, lease: str) -> Reading:
    return Reading(families.LEADING, lambda: {(lease,): elector.is_leading()})
