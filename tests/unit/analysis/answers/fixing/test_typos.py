"""Names that match nothing, and what was probably meant."""

from __future__ import annotations

from typing import Any

import pytest

from bayplan.analysis.answers.fixing.answer import Remedy, RemedyKind
from bayplan.analysis.cluster import Cluster
from bayplan.testing.builders import claim, node, pod, volume
from bayplan.testing.building import Builder

GENERAL = node("n").label("pool", "general")
DATA = claim("data-0").bound("v")
GPU = node("n").capacity({"cpu": "4", "nvidia.com/gpu": "2"})


@pytest.mark.parametrize(
    ("things", "expected"),
    [
        pytest.param(
            [GENERAL, pod("x").node_selector(pool="generall")],
            Remedy(RemedyKind.SELECTOR_TYPO, "pool=generall", after="pool=general", matches=1),
            id="a label's value",
        ),
        pytest.param(
            [GENERAL, pod("x").node_selector(pol="general")],
            Remedy(RemedyKind.SELECTOR_TYPO, "pol=general", after="pool=general", matches=1),
            id="a label's key",
        ),
        pytest.param(
            [GENERAL, pod("x").node_selector(pool="General")],
            Remedy(RemedyKind.SELECTOR_TYPO, "pool=General", after="pool=general", matches=1),
            id="upper case",
        ),
        pytest.param(
            [GENERAL, pod("x").node_affinity("pool=genera")],
            Remedy(RemedyKind.AFFINITY_TYPO, "pool=genera", after="pool=general", matches=1),
            id="node affinity",
        ),
        pytest.param(
            [node("n").taint("dedicated", "batch"), pod("x").tolerates("dedicatd", "batch")],
            Remedy(RemedyKind.TOLERATION_TYPO, "dedicatd=batch", after="dedicated=batch"),
            id="a taint's key",
        ),
        pytest.param(
            [GPU, pod("x").request({"nvidia.com/gpus": 1})],
            Remedy(RemedyKind.RESOURCE_TYPO, "nvidia.com/gpus", after="nvidia.com/gpu", matches=1),
            id="a resource",
        ),
        pytest.param(
            [node("n"), DATA, volume("v").bound_to(DATA), pod("x").claim("data-O")],
            Remedy(RemedyKind.CLAIM_TYPO, "data-O", before="data-O", after="data-0"),
            id="a claim",
        ),
    ],
)
def test_a_near_match_comes_first(things: list[Builder[Any]], expected: Remedy) -> None:
    answer = Cluster([thing.obj() for thing in things]).fix("x")
    assert answer.fixes[0].changes == (expected,)


@pytest.mark.parametrize(
    "things",
    [
        pytest.param([GENERAL, pod("x").node_selector(pool="gpu")], id="another word"),
        pytest.param([GENERAL, pod("x").node_selector(pool="general").cpu("99")], id="one that exists"),
    ],
)
def test_what_is_no_typo(things: list[Builder[Any]]) -> None:
    answer = Cluster([thing.obj() for thing in things]).fix("x")
    assert not any(change.kind.value.endswith("Typo") for fix in answer.fixes for change in fix.changes)
