"""What is said of one node holds for others in the same state, and for no others."""

from __future__ import annotations

import pytest
from tests.preempting import default_profile
from tests.support import cache_of

from bayplan.core import one_row
from bayplan.core.cache import Cache
from bayplan.core.columns.shapes import PodInfo
from bayplan.core.framework.contract import Ready, State
from bayplan.core.framework.profile import Profile
from bayplan.core.framework.verdict import CycleError
from bayplan.core.ground import following_scorers
from bayplan.core.one_row import Moving, OneRowAnswers
from bayplan.core.snapshot import View
from bayplan.model.kinds import Object
from bayplan.testing.builders import node, pod
from bayplan.testing.pods import PodBuilder

pytestmark = pytest.mark.usefixtures("either_way")

PROFILE = default_profile()


class Asked:
    """Counts how often NodeResourcesFit is asked about a row."""

    def __init__(self) -> None:
        self.rows: list[int] = []

    def moving(self, cache: Cache, info: PodInfo, profile: Profile = PROFILE) -> list[Moving]:
        position, plugin = next((i, it) for i, it in enumerate(profile.filter) if it.name == "NodeResourcesFit")
        prepared = profile.local_pre_filters[plugin.name].pre_filter(info, cache.view())
        assert isinstance(prepared, Ready)
        ask = profile.one_row_filters[plugin.name]

        def filter_one(state: State, view: View, row: int) -> int:
            self.rows.append(row)
            return ask(state, view, row)

        return [Moving(position, plugin, filter_one, prepared.state)]


@pytest.fixture
def asked() -> Asked:
    return Asked()


def answers_of(asked: Asked, cache: Cache, info: PodInfo) -> OneRowAnswers:
    return OneRowAnswers(PROFILE, asked.moving(cache, info), following_scorers(PROFILE, info, cache.view()))


def test_nodes_in_the_same_state_are_asked_about_once(asked: Asked) -> None:
    cache = cache_of(*(node(f"n{number}").capacity(cpu=4, memory="8Gi").obj() for number in range(3)))
    answers = answers_of(asked, cache, cache.info(pod("p").cpu(1).memory("1Gi").obj()))
    assert len({answers.about(cache.view(), row) for row in range(3)}) == 1
    assert asked.rows == [0]


CROWD = [pod(f"idle{number}").running("n1").obj() for number in range(3)]


@pytest.mark.parametrize(
    "other",
    [
        [node("n1").capacity(cpu=8, memory="8Gi").obj()],
        [node("n1").capacity(cpu=4, memory="8Gi", pods=2).obj()],
        [node("n1").capacity(cpu=4, memory="8Gi").obj(), pod("r").cpu(1).running("n1").obj()],
        [node("n1").capacity(cpu=4, memory="8Gi").obj(), CROWD[0]],  # what it is supposed to take counts
        [node("n1").capacity(cpu=4, memory="8Gi", pods=3).obj(), *CROWD],
    ],
    ids=["larger", "fewer pods", "a pod", "a pod that asks for nothing", "full"],
)
def test_any_difference_in_amounts_makes_another_state(asked: Asked, other: list[Object]) -> None:
    cache = cache_of(node("n0").capacity(cpu=4, memory="8Gi").obj(), *other)
    info = cache.info(pod("p").cpu(1).memory("1Gi").obj())
    answers = answers_of(asked, cache, info)
    rows = [cache.nodes.rows_by_name[name] for name in ("n0", "n1")]
    found = [answers.about(cache.view(), row) for row in rows]
    assert asked.rows == rows
    assert found == [answers_of(asked, cache, info).about(cache.view(), row) for row in rows]


@pytest.mark.parametrize(
    ("here", "there"),
    [
        ([pod("a").cpu("200m").memory("400Mi")], [pod(name).cpu("100m").memory("200Mi") for name in "bc"]),
        ([pod("a").cpu("100m").memory("200Mi")], [pod("b")]),
        ([pod("a").cpu(0).memory(0)], [pod("b")]),
    ],
    ids=["number of pods", "what they ask for", "what they are supposed to take"],
)
def test_each_amount_counts_by_itself(asked: Asked, here: list[PodBuilder], there: list[PodBuilder]) -> None:
    """All other amounts on the two nodes are the same."""
    nodes = [node(name).capacity(cpu=4, memory="8Gi", pods=2).obj() for name in ("n0", "n1")]
    running = [*(made.running("n0").obj() for made in here), *(made.running("n1").obj() for made in there)]
    cache = cache_of(*nodes, *running)
    answers = answers_of(asked, cache, cache.info(pod("p").cpu(1).memory("1Gi").obj()))
    rows = [cache.nodes.rows_by_name[name] for name in ("n0", "n1")]
    for row in rows:
        answers.about(cache.view(), row)
    assert asked.rows == rows


def test_a_node_that_grows_is_asked_about_again(asked: Asked) -> None:
    cache = cache_of(node("n0").capacity(cpu=1).obj())
    answers = answers_of(asked, cache, cache.info(pod("p").cpu(2).obj()))
    assert answers.about(cache.view(), 0).code
    cache.add_node(node("n0").capacity(cpu=4).obj())
    assert not answers.about(cache.view(), 0).code


def test_no_more_is_remembered_than_is_useful(asked: Asked, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(one_row, "ANSWERS_MAX", 2)
    cache = cache_of(*(node(f"n{number}").capacity(cpu=4 + number).obj() for number in range(3)))
    answers = answers_of(asked, cache, cache.info(pod("p").cpu(1).obj()))
    for row in (0, 1, 2, 2, 0):
        answers.about(cache.view(), row)
    assert asked.rows == [0, 1, 2, 0]


def test_an_error_is_not_remembered(asked: Asked) -> None:
    cache = cache_of(node("n0").capacity(cpu=4).obj())
    info = cache.info(pod("p").cpu(1).obj())
    following = following_scorers(PROFILE, info, cache.view())
    following[0].score_one = lambda *_: 101
    answers = OneRowAnswers(PROFILE, asked.moving(cache, info), following)
    for _ in range(2):
        with pytest.raises(CycleError, match="invalid score 101"):
            answers.about(cache.view(), 0)
