"""The dry run with plain numbers finds what the one with arrays finds, on random nodes with budgets and equal pods."""

from __future__ import annotations

import random

import pytest
from tests.support.caches import cache_of
from tests.support.preemption_attempts import built, default_profile

from bayplan.config.loading import load_configuration
from bayplan.config.releases import RELEASES
from bayplan.core.filtering import filter_pod
from bayplan.core.preemption.candidates import candidates_of, dry_run
from bayplan.core.preemption.few_nodes import FewNodes, StillFailing, TriedNode, demands_alone
from bayplan.core.preemption.select import criteria_of
from bayplan.testing import builders as make

NODES = 12


@pytest.mark.parametrize("version", RELEASES)
@pytest.mark.parametrize("seed", range(20))
def test_the_same_victims_and_values_as_with_arrays(seed: int, version: str) -> None:
    drawn = random.Random(seed)
    nodes = [make.node(f"n{number}").capacity(cpu="8", memory="8Gi", pods=20) for number in range(NODES)]
    pods = []
    for number in range(NODES * 12):
        pod = make.pod(f"p{number}").cpu(f"{drawn.choice([100, 500, 900])}m").memory(drawn.choice(["128Mi", "1Gi"]))
        pod = pod.priority(drawn.choice([0, 0, 0, 5, 50])).labels(app=drawn.choice("abc"), team=drawn.choice("xy"))
        pods.append(pod.running(f"n{number % NODES}", since=f"2026-01-0{drawn.choice([1, 2, 3])}T00:00:00Z"))
    budgets = [make.budget(f"b-{app}").selects(app=app).allows(drawn.choice([0, 1, 9])) for app in "ab"]
    budgets.append(make.budget("a-team").selects(team="x").allows(drawn.choice([0, 2])))  # first, by name
    gates = load_configuration(None, release=RELEASES[version]).gates
    cache = cache_of(*map(built, (*nodes, *pods, *budgets)), gates=gates)
    asking = cache.info(make.pod("x").cpu("6").memory("2Gi").priority(10).obj())
    view = cache.view()
    filtered = filter_pod(default_profile(version), asking, view)
    demands = demands_alone(filtered)
    assert demands is not None
    rows = view.nodes.alive.nonzero()[0]
    tried = dry_run(asking, view, filtered, rows)
    expected = candidates_of(tried, view)
    assert len(expected.rows), "a test of nothing"
    values = criteria_of(expected, view)
    few = FewNodes()
    for _ in range(2):  # the second time from what is remembered
        for position, row in enumerate(expected.rows.tolist()):
            found = few.try_node(view, demands, row, 10)
            assert isinstance(found, TriedNode)
            assert found.victims == expected.victims_of(position).tolist()
            assert list(found.values) == values[:, position].tolist()
        for row, code in zip(tried.failing_rows.tolist(), tried.still_failing.codes.tolist(), strict=True):
            assert few.try_node(view, demands, row, 10) == StillFailing(code)


def test_it_does_not_apply_where_ports_decide_as_well() -> None:
    cache = cache_of(make.node("a").capacity(cpu="1").obj(), make.pod("old").port(80).running("a").obj())
    asking = cache.info(make.pod("x").port(80).cpu("1").priority(1).obj())
    assert demands_alone(filter_pod(default_profile(), asking, cache.view())) is None
