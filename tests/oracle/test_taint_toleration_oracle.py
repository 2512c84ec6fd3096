"""TaintToleration by distinct sets of taints against one node and one taint at a time."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from tests.support.caches import cache_of, raw_and_normal_scores, verdicts

from bayplan.config.feature_gates import DEFAULT_GATES
from bayplan.core.plugins.taint_toleration import TaintToleration
from bayplan.model.node import Node, Taint
from bayplan.model.pod import Pod, Toleration
from bayplan.testing.builders import node, pod

EFFECTS = ["NoSchedule", "NoExecute", "PreferNoSchedule"]
TAINTS = st.builds(
    Taint, key=st.sampled_from(["k", "l"]), value=st.sampled_from(["", "1", "2"]), effect=st.sampled_from(EFFECTS)
)
TOLERATIONS = st.builds(
    Toleration,
    key=st.sampled_from(["", "k", "l"]),
    operator=st.sampled_from(["", "Equal", "Exists", "Exists", "Gt"]),
    value=st.sampled_from(["", "1", "2"]),
    effect=st.sampled_from(["", *EFFECTS]),
    toleration_seconds=st.sampled_from([None, 0]),
)
TAINT_LISTS = st.lists(st.lists(TAINTS, max_size=4), min_size=1, max_size=6)


def is_tolerated(taint: Taint, tolerations: list[Toleration]) -> bool:
    for toleration in tolerations:
        if toleration.effect not in ("", taint.effect):
            continue
        if toleration.key not in ("", taint.key):
            continue
        if toleration.operator == "Exists":
            return True
        if toleration.operator in ("", "Equal") and toleration.value == taint.value:
            return True
    return False


def fits(incoming: Pod, target: Node) -> bool:
    return all(
        taint.effect == "PreferNoSchedule" or is_tolerated(taint, incoming.spec.tolerations)
        for taint in target.spec.taints
    )


def unwelcome(incoming: Pod, target: Node) -> int:
    return sum(
        taint.effect == "PreferNoSchedule" and not is_tolerated(taint, incoming.spec.tolerations)
        for taint in target.spec.taints
    )


def reversed_share(counts: dict[str, int]) -> dict[str, int]:
    worst = max(counts.values())
    return {name: 100 if worst == 0 else 100 - 100 * count // worst for name, count in counts.items()}


@given(TAINT_LISTS, TAINT_LISTS, st.lists(TOLERATIONS, max_size=4))
def test_agrees_with_the_oracle(
    before: list[list[Taint]], now: list[list[Taint]], tolerations: list[Toleration]
) -> None:
    """Verdicts and scores, also on nodes that had other taints before."""
    cache = cache_of(*(_tainted(position, taints) for position, taints in enumerate(before)))
    nodes = {position: _tainted(position, taints) for position, taints in enumerate(before)}
    for position, taints in enumerate(now):
        nodes[position] = _tainted(position, taints)
        cache.add(nodes[position])
    incoming = pod("p").obj()
    incoming.spec.tolerations = tolerations

    outcome = verdicts(TaintToleration(gates=DEFAULT_GATES), cache, incoming)
    assert {name: status.ok for name, status in outcome.items()} == {
        target.metadata.name: fits(incoming, target) for target in nodes.values()
    }

    counts = {target.metadata.name: unwelcome(incoming, target) for target in nodes.values()}
    assert raw_and_normal_scores(TaintToleration(gates=DEFAULT_GATES), cache, incoming) == (
        counts,
        reversed_share(counts),
    )


def _tainted(position: int, taints: list[Taint]) -> Node:
    made = node(f"n{position}").obj()
    made.spec.taints = taints
    return made
