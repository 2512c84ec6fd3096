"""The recorded stories of the real scheduler hold in the simulated world.

Each is played from the same objects and actions at the same times, and every condition, nomination, binding, eviction
and event must be seen as it was recorded: in its words, in its order and, within a tolerance for a recorder and a
server that were slow at times, at its time. `Apart` names what bayplan does otherwise on purpose.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import pytest
from tests.scenarios.transcript import Seen
from tests.stories.comparing import Apart, Terms, compare
from tests.stories.extending import EXTENDERS, Extended
from tests.stories.player import Play
from tests.stories.recording import Story, read_stories
from tests.stories.special import Foreign, Restart

ONE_EVICTION = "a victim that two preemptors choose is evicted once, and tells of it once"
NO_ERROR_ON_RUNNING = "a pod that runs is bound; whose binding it was is no failure of the pod's"
NO_LAST_WORDS = "of a pod that is gone nobody is told that it could not be bound"
GOES_AT_ONCE = "the simulated watch shows that a pod is to go and that it is gone at the same time"
NO_POLLING = "goes on when its claims are bound; upstream looks once a second"
#: A pod that is deleted as soon as it is bound may or may not be started before it goes.
STARTED = ("Running",)

STORIES: dict[str, Terms] = {
    "a": Terms(),
    "b_nonodes": Terms(),
    "b_unsched": Terms(),
    "b_repeat": Terms(),
    "c_one": Terms(tolerance_ms=80, ties=("n1", "n2")),
    "c_two": Terms(ties=("n1", "n2")),
    "d_same": Terms(),
    "d_clear": Terms(),
    "d_race": Terms(
        tolerance_ms=80,
        apart=(
            Apart("low1", "Normal Preempted: Preempted by pod s-d-race/mid on node n1 (again)", ONE_EVICTION),
            Apart("low2", "Normal Preempted: Preempted by pod s-d-race/mid on node n1 (again)", ONE_EVICTION),
        ),
    ),
    "d_over": Terms(),
    "e": Terms(),
    "f_alone": Terms(),
    "f_other": Terms(),
    "f_nodel": Terms(),
    "g": Terms(),
    "h": Terms(sooner=(("db", 1000, NO_POLLING), ("db2", 1000, NO_POLLING))),
    "h_missing": Terms(),
    "i_anti": Terms(),
    "i_misc": Terms(),
    "j": Terms(),
    "j_foreign": Terms(
        apart=(
            Apart("byhand", 'Warning FailedScheduling: running Bind plugin "DefaultBinder": ', NO_ERROR_ON_RUNNING),
            Apart("byhand", 'PodScheduled=False SchedulerError: running Bind plugin "Default', NO_ERROR_ON_RUNNING),
        )
    ),
    "p_prebind": Terms(),
    "p_delete": Terms(apart=(Apart("vol", "Warning FailedScheduling: running PreBind plugin", NO_LAST_WORDS),)),
    "q_order": Terms(),
    "r_restart": Terms(),
    "flush": Terms(),
    "l_nodes": Terms(apart=(Apart("p3", "Warning FailedScheduling: skip schedule deleting pod", GOES_AT_ONCE),)),
    "l_names": Terms(apart=(Apart("p3", "Warning FailedScheduling: skip schedule deleting pod", GOES_AT_ONCE),)),
    "l_err": Terms(),
    "l_managed": Terms(),
    "l_refused": Terms(),
    "x_flush": Terms(),
    "x_scores": Terms(equal=("n1", "n2"), racing=STARTED),
    "x_ties1": Terms(racing=STARTED),
    "x_ties16": Terms(equal=("n1", "n2", "n3", "n4"), racing=STARTED),
}
CROWDED = "c_many"

PLAYS: dict[str, type[Play]] = {"j_foreign": Foreign, "r_restart": Restart, **dict.fromkeys(EXTENDERS, Extended)}


@pytest.fixture(scope="module")
def stories(recordings: Path) -> dict[str, Story]:
    return read_stories(recordings / "stories.jsonl.xz", {*STORIES, CROWDED})


@pytest.mark.parametrize("name", STORIES)
def test_a_story_holds(name: str, stories: dict[str, Story]) -> None:
    story = stories[name]
    differences = compare(story, PLAYS.get(name, Play)(story).run(), STORIES[name])
    assert not differences, "\n".join(differences)


class Outcome(NamedTuple):
    """What remains of a story when its races are left out."""

    victims: int
    preemptors: list[str]
    bound_where_nominated: bool
    preemptors_on_a_node: list[int]
    words: set[str]
    bound: int
    waiting: int


def test_three_preemptors_at_once(stories: dict[str, Story]) -> None:
    """Who takes which node and which victims is a race; how many go, what is said and who waits at the end is not."""
    story = stories[CROWDED]
    played = Play(story).run()
    assert outcome(played) == outcome(story.seen)
    evicted = Counter(one.pod for one in played if one.what.startswith("Normal Preempted"))
    assert set(evicted.values()) == {1}, ONE_EVICTION


def outcome(seen: Sequence[Seen]) -> Outcome:
    nominated = {one.pod: one.what.split()[-1] for one in seen if one.what.startswith("nominated to")}
    bound = {one.pod: one.what.split()[-1] for one in seen if one.channel == "binding"}
    evicted = {one.pod for one in seen if one.what.startswith("DisruptionTarget")}
    preemptors = [pod for pod in bound if pod in nominated]
    words = {one.what for one in seen if one.what.startswith(("PodScheduled=False", "Warning"))}
    return Outcome(
        victims=len(evicted),
        preemptors=sorted(nominated),
        bound_where_nominated=all(bound[pod] == nominated[pod] for pod in preemptors),
        preemptors_on_a_node=sorted(Counter(bound[pod] for pod in preemptors).values()),
        words={word.removesuffix(" (again)") for word in words},
        bound=len(bound),
        waiting=len({one.pod for one in seen} - bound.keys()),
    )
