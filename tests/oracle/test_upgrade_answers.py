"""What `upgrade` says of pods, against `explain` under either version, on clusters that were recorded.

Every difference that is reported must be one, and there must be no other.
"""

from __future__ import annotations

import json
import lzma
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from bayplan import Cluster
from bayplan.analysis.answers.upgrading.outcomes import VersionOutcome
from bayplan.analysis.cluster_objects import is_over
from bayplan.model.errors import InvalidObject

#: Clusters on which the two versions do not agree, by what is special about them.
FAMILIES = (
    *("attach", "claims", "config", "config2", "dra", "errors", "features", "gates", "images2", "mix", "node_affinity"),
    *("pod_affinity", "preempt", "preempt2", "preempt_constraints", "preempt_nominated", "preempt_ties", "resize"),
    *("resources", "selectors", "volumes"),
)
CASES = 3


def scenarios(folder: Path, family: str) -> list[dict[str, Any]]:
    with lzma.open(folder / "v1.37" / f"{family}.jsonl.xz", "rt") as lines:
        return [json.loads(line)["scenario"] for line in islice(lines, CASES)]


def explained(cluster: Cluster, key: str, config: Any) -> VersionOutcome | None:
    """What `explain` says; None of a pod that is not tried."""
    plain = cluster.explain(key, config).to_dict()
    if "preEnqueue" in plain:
        return None
    if plain["best"]:
        return VersionOutcome(plain["best"][0])
    preemption = plain["preemption"]
    if preemption is None or not preemption["selected"]:
        return VersionOutcome(message=plain["message"])
    node = preemption["selected"][0]
    return VersionOutcome(node, tuple(sorted(preemption["candidates"][node]["victims"])), plain["message"])


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize(("start", "to"), [("1.36", "1.37"), ("1.37", "1.36")])
def test_all_differences_and_nothing_else_are_reported(
    conformance_cases: Path, family: str, start: str, to: str
) -> None:
    for scenario in scenarios(conformance_cases, family):
        old, new = (Cluster.from_objects(scenario["objects"], version) for version in (start, to))
        config = scenario.get("config")
        answer = old.upgrade(to, config)
        reported = {each.pod: (each.before, each.after) for each in answer.differences}
        assert all(each.causes for each in answer.differences)
        for key in [*old.pending_pods(), *(key for key, pod in old.pods.items() if not is_over(pod))]:
            try:
                pair = explained(old, key, config), explained(new, key, config)
            except InvalidObject:  # no profile is for it
                assert key not in reported
                continue
            if None in pair or pair[0] == pair[1]:
                assert key not in reported, (scenario["id"], key, reported.get(key))
            else:
                assert reported.get(key) == pair, (scenario["id"], key)
