"""A search for the best points, with Optuna."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import pytest
from tests.support.node_pools import pool

import bayplan
from bayplan.analysis.sweeping.sweep_result import SweepResult
from bayplan.model.errors import InvalidObject
from bayplan.testing.builders import deployment, pod

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("optuna") is None, reason="Optuna is not installed (bayplan[optuna])"
)

WEB = deployment("web").replicas(8).selects(app="web").template(pod("web").labels(app="web").cpu("1"))
#: More nodes cost more, and leave fewer pods pending: four pods fit on each.
AXES = {"seed": [1, 2], "pool.a.max": {"from": 1, "to": 4}, "pool.a.price": [1.0, 2.0]}
BOTH = {"search": 12, "objectives": ["pods.pending", "cost"]}


def searched(sample: dict[str, Any], **settings: Any) -> SweepResult:
    cluster = bayplan.Cluster([pool("a"), WEB.manifest().obj()])
    return bayplan.sweep(cluster, AXES, until="10m", sample=sample, processes=1, **settings)


def rows(result: SweepResult) -> list[tuple[str, ...]]:
    return [tuple(map(str, row)) for row in zip(*result.table.values(), strict=True)]


def best(result: SweepResult) -> list[dict[str, Any]]:
    return [result.summary.points[place].settings for place in result.summary.front]


def test_one_objective_has_a_best_point() -> None:
    assert {"pool.a.max": 1, "pool.a.price": 1.0} in best(searched({"search": 12, "objectives": ["cost"]}))


def test_two_objectives_have_a_front() -> None:
    found = best(searched(BOTH))
    assert {"pool.a.max": 1, "pool.a.price": 1.0} in found
    assert all(settings["pool.a.price"] == 1.0 for settings in found)
    assert len(found) >= 2


def test_more_may_be_better() -> None:
    found = best(searched({"search": 12, "objectives": ["max pods.placed"]}))
    assert all(settings["pool.a.max"] != 1 for settings in found)


def test_the_same_seed_proposes_the_same_points() -> None:
    assert rows(searched({**BOTH, "seed": 3})) == rows(searched({**BOTH, "seed": 3}))


def test_a_search_that_is_resumed_does_nothing_twice(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    first = searched(BOTH, out=tmp_path / "out")
    done: list[int] = []
    again = searched(BOTH, out=tmp_path / "out", resume=True, progress=lambda *_: done.append(1))
    assert rows(again) == rows(first)
    assert done == []


@pytest.mark.parametrize(
    ("sample", "message"),
    [
        ({"search": 5}, "sample.objectives: expected a list of figures"),
        ({"search": 0, "objectives": ["cost"]}, "sample.search: expected a number of points, not 0"),
        ({"search": 5, "objective": ["cost"]}, "sample.objective: unknown field"),
        ({"search": 5, "objectives": ["costs"]}, "no run has a figure 'costs'; did you mean cost?"),
    ],
)
def test_a_search_that_cannot_be_is_refused(sample: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidObject, match=message):
        searched(sample)
