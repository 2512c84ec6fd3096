"""The state of the live world when the page is made: who leads, which watches are broken, what waits for answers.

Takes the running parts, keeps nothing. What the writer and the shadow count is shown as it is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from bayplan.client.leases import LeaderElector
from bayplan.config.releases import KubernetesRelease
from bayplan.model.resource_claims import ResourceClaim
from bayplan.serving.metrics import families
from bayplan.serving.metrics.own import own_family
from bayplan.serving.metrics.tallies import Family, Reading
from bayplan.worlds.live import LiveWorld
from bayplan.worlds.shadow_findings import Agreement, Findings

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


BUGS = own_family(
    "bayplan_bugs_total", "counter", "Unexpected exceptions that were survived, by where they were met.", ("where",)
)

SHADOW_DECISIONS = own_family("bayplan_shadow_decisions_total", "counter", "Decisions in the shadow.")
SHADOW_PLACEMENTS = own_family(
    "bayplan_shadow_placements_total",
    "counter",
    "Pods that both schedulers have decided on, by how the nodes compare: same, tied and moved are agreements.",
    ("agreement",),
)
SHADOW_PREEMPTIONS = own_family(
    "bayplan_shadow_preemptions_total", "counter", "Preemptions, by how the victims compare.", ("agreement",)
)
SHADOW_MESSAGES = own_family(
    "bayplan_shadow_messages_total", "counter", "Pods that fit nowhere, by how the reasons compare.", ("agreement",)
)


def state_of_world(world: LiveWorld) -> tuple[Reading, ...]:
    return (
        Reading(UNANSWERED, lambda: {(): world.unanswered}),
        Reading(SYNCED, lambda: {(): world.is_synced}),
        Reading(BROKEN_WATCHES, lambda: {(kind,): bool(trouble) for kind, trouble in world.troubles().items()}),
    )


def writes(outcomes: Counter[tuple[str, ...]]) -> Reading:
    """What the writer counts: by kind of action, and what became of it."""
    return Reading(WRITES, lambda: outcomes)


def claim_creates(created: Mapping[tuple[str, bool], int], release: KubernetesRelease) -> Reading:
    """Claims for extended resources, under the name of the version: the only ones that the scheduler creates."""
    tells_owner = release.counts_entities
    owner = ("false", "", "Pod") if tells_owner else ()

    def read() -> dict[tuple[str, ...], float]:
        return {
            ("success" if is_created else "failure", *owner): count
            for (kind, is_created), count in dict(created).items()
            if kind == ResourceClaim.__name__
        }

    return Reading(families.CLAIM_CREATES if tells_owner else families.CLAIM_CREATES_1_36, read)


def bugs(counts: Counter[tuple[str, ...]]) -> Reading:
    """What was survived, by where it was met."""
    return Reading(BUGS, lambda: counts)


def shadow_findings(findings: Findings) -> tuple[Reading, ...]:
    def compared(family: Family, counts: Counter[Agreement]) -> Reading:
        return Reading(family, lambda: {(agreement.value,): count for agreement, count in dict(counts).items()})

    return (
        Reading(SHADOW_DECISIONS, lambda: {(): findings.decisions}),
        compared(SHADOW_PLACEMENTS, findings.placements),
        compared(SHADOW_PREEMPTIONS, findings.preemptions),
        compared(SHADOW_MESSAGES, findings.messages),
    )


def leadership(elector: LeaderElector, lease: str) -> Reading:
    return Reading(families.LEADING, lambda: {(lease,): elector.is_leading()})
