"""What the real kube-scheduler decided on about two thousand clusters, and what bayplan decides on them.

Most were asked of v1.36.4; `v1.37/` holds those that v1.37.0-rc.1 decides or words differently, `groups/` pod groups.

Every aspect must agree: verdicts with their words, scores, totals, candidates, victims, messages. One freedom is given:
upstream lists insufficient extended resources in the random order of a Go map, so their order within a node's reasons
is not compared.
"""

from __future__ import annotations

import json
import lzma
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import bayplan
from bayplan.testing import play_group_story, try_pod, would_wake

CASES = Path(__file__).parent / "cases"
FAMILIES = sorted(str(path.relative_to(CASES)).removesuffix(".jsonl.xz") for path in CASES.glob("**/*.jsonl.xz"))
PREEMPTION_ASPECTS = ("ran", "eligible", "ineligibleReason", "candidates", "selected", "nodeStatuses", "postFilter")
BASIC_RESOURCES = ("Insufficient cpu", "Insufficient memory", "Insufficient ephemeral-storage")

Case = dict[str, Any]


def cases(path: Path) -> Iterator[Case]:
    with lzma.open(path, "rt") as lines:
        yield from map(json.loads, lines)


#: What is asked about pod groups, which only v1.37 has.
GROUP_MODES = ("group", "pod", "story")


def decide(scenario: Case) -> Case:
    version = scenario.get("kubernetesVersion", "1.37" if scenario["mode"] in GROUP_MODES else "1.36")
    if scenario["mode"] == "hint":
        asked = (scenario[key] for key in ("objects", "pod", "rejectors", "event"))
        return {"wakes": would_wake(*asked, kubernetes_version=version)}
    if scenario["mode"] == "pod":
        return try_pod(scenario["objects"], scenario["pod"], scenario.get("config"), scenario["gates"], version)
    if scenario["mode"] == "story":
        return play_group_story(scenario["objects"], scenario["steps"], scenario["gates"], version)
    cluster = bayplan.Cluster.from_objects(scenario["objects"], kubernetes_version=version)
    if scenario["mode"] == "group":
        config, gates = scenario.get("config"), scenario["gates"]
        return cluster.explain_group(scenario["group"], config=config, feature_gates=gates).to_dict()
    if scenario["mode"] == "explain":
        return cluster.explain(scenario["pod"], config=scenario.get("config")).to_dict()
    return cluster.place(scenario["pods"], config=scenario.get("config"), ties="name").to_dict()


def comparable(answer: Case) -> Case:
    """An explanation without what may differ: scores of 0 may be absent, scalar resources stand in any order."""
    preemption = answer.get("preemption")
    return {
        **{key: answer.get(key) for key in ("feasible", "prefilter", "totals", "best", "message", "preEnqueue")},
        **{key: answer.get(key) for key in ("nominated", "error")},
        "filter": {node: _ordered(status) for node, status in answer["filter"].items()},
        "scores": {node: {p: s for p, s in by.items() if s} for node, by in answer["scores"].items()},
        "preemption": preemption and {key: preemption[key] for key in PREEMPTION_ASPECTS},
    }


def _ordered(status: Case) -> Case:
    if status["plugin"] != "NodeResourcesFit":
        return status
    scalars = [r for r in status["reasons"] if r.startswith("Insufficient ") and r not in BASIC_RESOURCES]
    return {**status, "reasons": [r for r in status["reasons"] if r not in scalars] + sorted(scalars)}


def decisions(answer: Case) -> list[tuple[Any, ...]]:
    return [
        (d["pod"], d["node"], d["total"], d.get("victims") or None, d.get("message") or None)
        for d in answer["decisions"]
    ]


def assert_agrees(case: Case) -> None:
    scenario, expected = case["scenario"], case["expected"]
    got = decide(scenario)
    if scenario["mode"] == "sequence":
        assert decisions(got) == decisions(expected), scenario["id"]
    elif scenario["mode"] in ("hint", *GROUP_MODES):
        assert got == expected, scenario["id"]
    else:
        assert comparable(got) == comparable(expected), scenario["id"]


@pytest.mark.parametrize("family", FAMILIES)
def test_family_agrees_with_the_real_scheduler(family: str) -> None:
    """Every case of the family is decided as the real scheduler decided it."""
    count = 0
    for case in cases(CASES / f"{family}.jsonl.xz"):
        assert_agrees(case)
        count += 1
    assert count


@pytest.mark.slow
def test_openb_trace_agrees_with_the_real_scheduler(shared: Path) -> None:
    """8,152 pods of a production trace, with 1,524 preemptions, end where the real schedulers put them."""
    for folder in ("", "v1.37"):
        for case in cases(shared / "conformance" / folder / "openb.jsonl.xz"):
            assert_agrees(case)
