"""A shadow beside the scheduler of random worlds without faults: it agrees, whatever happens to the cluster."""

from __future__ import annotations

import io
from contextlib import suppress
from dataclasses import replace

import pytest
from tests.random_worlds.world import STARTED_AT, GoesInCircles, RandomWorld
from tests.support.checkers import check_always
from tests.support.shadow_stage import VirtualShadow

from bayplan.config.loading import Configuration, load_configuration
from bayplan.config.releases import DEFAULT_RELEASE
from bayplan.model.time_units import SECOND
from bayplan.worlds.journal import JournalWriter, Player, read_head, scheduler_for
from bayplan.worlds.shadow_findings import AGREED, Findings

#: Seeds of worlds without faults, in which pods do not go round in circles, and few preemptors come at one instant.
#: Faults are the other scheduler's alone, and of many at once it decides some before the shadow has heard of the first.
SEEDS = (1, 11, 19, 23, 29, 41, 47, 57, 67, 86)
MOST_ALLOCATED = {
    "apiVersion": "kubescheduler.config.k8s.io/v1",
    "kind": "KubeSchedulerConfiguration",
    "profiles": [
        {
            "schedulerName": "default-scheduler",
            "pluginConfig": [
                {
                    "name": "NodeResourcesFit",
                    "args": {
                        "scoringStrategy": {
                            "type": "MostAllocated",
                            "resources": [{"name": "cpu", "weight": 1}, {"name": "memory", "weight": 1}],
                        }
                    },
                }
            ],
        }
    ],
}


def configuration_of(random_world: RandomWorld) -> Configuration:
    character = random_world.character
    return replace(
        load_configuration(character.configuration, character.feature_gates, release=DEFAULT_RELEASE),
        wakeups=random_world.wakeups,
    )


def watched(seed: int, configuration: Configuration | None = None, journal: JournalWriter | None = None) -> Findings:
    beside = VirtualShadow(configuration or configuration_of(RandomWorld(seed)), STARTED_AT, journal)
    random_world = RandomWorld(seed, on_event=beside.event)
    assert not random_world.character.has_faults
    with suppress(GoesInCircles):
        for second in range(random_world.seconds + 60):
            random_world.world.run_until(STARTED_AT + second * SECOND)
            beside.decide(random_world.world.now)
            check_always(beside.scheduler)
    return beside.shadow.finish(random_world.world.now)


def share_agreed(counts: dict[str, int]) -> float:
    return sum(counts[kind.value] for kind in AGREED) / sum(counts.values())


@pytest.mark.slow
def test_two_schedulers_that_are_alike_agree() -> None:
    """But for a few: bindings are seen in another order than they were decided in."""
    documents = [watched(seed).to_dict() for seed in SEEDS]
    counts = {
        what: {kind: sum(document[what][kind] for document in documents) for kind in documents[0][what]}
        for what in ("placements", "preemptions", "messages")
    }
    assert sum(counts["placements"].values()) > 400
    assert share_agreed(counts["placements"]) > 0.98
    assert sum(counts["preemptions"].values()) > 40
    assert share_agreed(counts["preemptions"]) > 0.85
    assert sum(counts["messages"].values()) > 1000
    assert share_agreed(counts["messages"]) > 0.98


@pytest.mark.parametrize("seed", [6, 9])
def test_a_journal_of_the_shadow_replays(seed: int) -> None:
    """It holds what the scheduler was shown, pods that were set aside and brought back included."""
    out, character = io.StringIO(), RandomWorld(seed).character
    head = {"config": character.configuration, "featureGates": character.feature_gates, "startedAt": STARTED_AT}
    watched(seed, journal=JournalWriter(out, {**head, "wakeups": character.wakeups.value}))
    lines = iter(out.getvalue().splitlines())
    assert list(Player(scheduler_for(read_head(lines))).play(lines)) == []


def test_two_schedulers_that_are_not_alike_are_told_apart() -> None:
    """And for the right reason."""
    found = watched(23, load_configuration(MOST_ALLOCATED, release=DEFAULT_RELEASE))
    assert len(found.placement_differences) > 3
    assert all("NodeResourcesFit" in difference.why for difference in found.placement_differences)
