"""The recorded stories of the real scheduler hold in the simulated world.

Each is played from the same objects and actions at the same times, and every condition, nomination, binding, eviction
and event must be seen as it was recorded, in its words, in its order and (within 60 ms) at its time.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.stories.comparing import Terms, compare
from tests.stories.player import Play
from tests.stories.recording import Story, read_stories

STORIES: dict[str, Terms] = {
    "a": Terms(),
    "b_nonodes": Terms(),
}


@pytest.fixture(scope="module")
def stories(shared: Path) -> dict[str, Story]:
    return read_stories(shared / "reference" / "wire" / "stories.jsonl.xz", STORIES)


@pytest.mark.parametrize("name", STORIES)
def test_a_story_holds(name: str, stories: dict[str, Story]) -> None:
    story = stories[name]
    differences = compare(story, Play(story).run(), STORIES[name])
    assert not differences, "\n".join(differences)
