"""The Decider where an attempt ends in an error, or would if more were asked than has to be."""

from __future__ import annotations

import pytest
from tests.support.caches import cache_of, chosen_node
from tests.support.preemption_attempts import default_profile

from bayplan.config.loading import load_configuration
from bayplan.config.registry import build_profiles
from bayplan.config.releases import DEFAULT_RELEASE
from bayplan.core.cache import Cache
from bayplan.core.columns.shapes import PodInfo
from bayplan.core.deciding import Decider
from bayplan.core.decision import Fits, NeedsPreemption, Unschedulable
from bayplan.core.framework.verdict import CycleError
from bayplan.core.reuse.board import Board
from bayplan.core.reuse.preempting import PRIORITIES_MAX
from bayplan.model.kinds import Object
from bayplan.model.structs import replace
from bayplan.model.volumes import AWSElasticBlockStoreVolumeSource, Volume
from bayplan.testing.builders import budget, csi_node, node, pod

SMALL, LARGE, OTHER = (node(name).capacity(cpu=cpu).obj() for name, cpu in (("a", 1), ("b", 4), ("c", 4)))
#: Prefers nodes by a term that does not parse.
ODD = pod("p").node_affinity("gen > many", weight=1)
FAULT = (
    'running PreScore plugin "NodeAffinity": [0].matchExpressions[0].values[0]: Invalid value: "many": '
    "for 'Gt', 'Lt' operators, the value must be an integer"
)
BAD_DISK = Volume(name="v", aws_elastic_block_store=AWSElasticBlockStoreVolumeSource(volume_id="aws://bad"))


@pytest.fixture(params=[True, False], ids=["reuse", "from-scratch"])
def decider(request: pytest.FixtureRequest) -> Decider:
    return Decider(build_profiles(load_configuration(None, release=DEFAULT_RELEASE)), reuse=request.param)


def test_a_preference_that_does_not_parse_hurts_where_several_nodes_fit(decider: Decider) -> None:
    cache = cache_of(SMALL, LARGE, OTHER)
    with pytest.raises(CycleError) as raised:
        decider.decide(cache.info(ODD.cpu(2).obj()), cache.view())
    assert raised.value.message == FAULT


def test_it_hurts_nobody_where_one_node_fits(decider: Decider) -> None:
    """A lone feasible node is taken without being scored."""
    cache = cache_of(SMALL, LARGE)
    choice = decider.decide(cache.info(ODD.cpu(2).obj()), cache.view())
    assert isinstance(choice, Fits)
    assert (cache.view().nodes.names[choice.row], choice.total) == ("b", None)


def test_it_hurts_nobody_where_nothing_fits(decider: Decider) -> None:
    cache = cache_of(SMALL, LARGE)
    choice = decider.decide(cache.info(ODD.cpu(8).obj()), cache.view())
    assert isinstance(choice, Unschedulable)
    assert choice.diagnosis.message.startswith("0/2 nodes are available: 2 Insufficient cpu.")


def test_an_error_on_the_nominated_node_leaves_the_others(decider: Decider) -> None:
    """As upstream: what cannot be judged there is not judged before the other nodes, but with them."""
    objects: list[Object] = [LARGE, OTHER, csi_node("b").obj()]
    cache = cache_of(*objects)
    waiting = pod("p").volume(BAD_DISK).nominated("b").obj()
    with pytest.raises(CycleError, match='running "NodeVolumeLimits" filter plugin: converting volume'):
        decider.decide(cache.info(waiting), cache.view())
    picky = replace(waiting, spec=replace(waiting.spec, node_selector={"kubernetes.io/hostname": "c"}))
    assert chosen_node(decider, cache.info(picky), cache.view()) == "c"


@pytest.mark.parametrize("change", ["a victim has started", "a budget is used up"])
def test_an_equal_preemptor_sees_what_has_changed_for_its_victims(decider: Decider, change: str) -> None:
    """The first finds both nodes equal; before the second comes, c has become better or b worse."""
    victims = [pod(f"on-{name}").cpu(4).priority(1).labels(app=name) for name in "bc"]
    cache = cache_of(
        LARGE, OTHER, *(victim.running(name, 100).obj() for victim, name in zip(victims, "bc", strict=True))
    )
    preemptors = [cache.info(pod(f"p{number}").cpu(4).priority(9).obj()) for number in range(2)]
    assert victims_node(decider, preemptors[0], cache) == "b"
    if change == "a victim has started":
        waiting = victims[1].obj()
        started = replace(waiting.status, start_time="2026-01-01T00:00:00Z")
        cache.update_pod(replace(waiting, status=started), waiting)
    else:
        cache.add(budget("pdb").selects(app="b").allows(0).obj())
    assert victims_node(decider, preemptors[1], cache) == "c"


def test_victims_are_kept_for_a_few_priorities() -> None:
    cache = cache_of(LARGE, pod("victim").cpu(4).running("b").obj())
    decider = Decider(build_profiles(load_configuration(None, release=DEFAULT_RELEASE)))
    waiting = [cache.info(pod(f"p{number}").cpu(4).priority(1 + number).obj()) for number in range(3 * PRIORITIES_MAX)]
    for preemptor in waiting:
        assert victims_node(decider, preemptor, cache) == "b"
        kept = [answer for key in decider._answers if isinstance(answer := decider._answers.peek(key), Board)]
        assert [0 < answer.candidacy_count <= PRIORITIES_MAX for answer in kept] == [True]


def victims_node(decider: Decider, preemptor: PodInfo, cache: Cache) -> str:
    choice = decider.decide(preemptor, cache.view())
    assert isinstance(choice, NeedsPreemption)
    return cache.view().nodes.names[choice.row]


def test_a_pod_on_a_node_that_nobody_has_seen_leaves_totals_as_they_are() -> None:
    """It takes the row of a node that has left, and its name is the smallest of all."""
    cache = cache_of(*(node(name).capacity(cpu=4, memory="8Gi").obj() for name in "bcd"))
    profile = default_profile()
    reusing = Decider({profile.scheduler_name: profile})
    cache.remove_node("c")
    for number in range(4):
        if number == 3:
            cache.add_pod(pod("elsewhere").cpu(1).running("a").obj())
        info = cache.info(pod(f"p{number}").cpu(1).memory("1Gi").obj())
        found = reusing.decide(info, cache.view())
        expected = Decider({profile.scheduler_name: profile}, reuse=False).decide(info, cache.view())
        assert isinstance(found, Fits)
        assert isinstance(expected, Fits)
        assert (found.row, found.total) == (expected.row, expected.total)
