"""Nodes that can be given back where there are gangs, drained one after another in a simulation.

Afterwards they are empty and every pod runs. Of each gang no more pods have been evicted than it can spare, or all of
them at one and the same moment.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hypothesis import event, given
from hypothesis import strategies as st
from tests.support.examples import examples

from bayplan.analysis.cluster import Cluster
from bayplan.analysis.simulation.running import simulate
from bayplan.testing.builders import budget, node, pod, pod_group, replica_set

ON = "GenericWorkload=true,TopologyAwareWorkloadScheduling=true"


@st.composite
def clusters(draw: st.DrawFn) -> tuple[Cluster, dict[str, int]]:
    """A cluster with room to spare, and how many pods each of its groups can spare."""
    names = [f"n{at}" for at in range(draw(st.integers(3, 5)))]
    things: list[Any] = [node(name).capacity(cpu="6").labels(rack=draw(st.sampled_from("ab"))) for name in names]
    left = dict.fromkeys(names, 6)
    spare: dict[str, int] = {}
    for number in range(draw(st.integers(1, 3))):
        name, size, needed = f"g{number}", draw(st.integers(2, 4)), draw(st.integers(2, 4))
        is_gang = draw(st.integers(0, 4)) > 0
        group = pod_group(name).gang(min(size, needed)) if is_gang else pod_group(name)
        within = draw(st.integers(0, 3)) == 0
        whole = draw(st.integers(0, 3)) == 0
        group = group.within("rack") if within else group
        things.append(group.disrupted_as_a_whole() if whole else group)
        pattern = pod("x").labels(app=name).cpu("1").in_group(name)
        owner = replica_set(name).replicas(size).template(pattern)
        things.append(owner)
        if draw(st.integers(0, 3)) == 0:
            things.append(budget(name).selects(app=name).max_unavailable(1))
        is_together, first = draw(st.booleans()), draw(st.integers(0, len(names) - 1))
        for at in range(size):
            where = names[first if is_together or within else (first + at) % len(names)]
            if not left[where]:
                where = next(each for each in names if left[each])
            left[where] -= 1
            running = pod(f"{name}-{at}").labels(app=name).cpu("1").in_group(name).owner(owner)
            things.append(running.running(where))
        spare[f"default/{name}"] = 0 if whole else size - min(size, needed) if is_gang else size
    return Cluster.from_objects([each.dict() for each in things], "1.37"), spare


def drained(cluster: Cluster, nodes: list[str]) -> list[dict[str, Any]]:
    """All pods there ever were."""
    steps = [f"- {{at: 1m, cordon: {name}}}" for name in nodes]
    steps += [f"- {{at: {2 + number}m, drain: {name}}}" for number, name in enumerate(nodes)]
    with TemporaryDirectory() as folder:
        path = Path(folder) / "timeline.yaml"
        path.write_text("\n".join(steps), encoding="utf-8")
        pods: list[dict[str, Any]] = simulate(cluster, path, feature_gates=ON).to_dict()["pods"]
    return pods


@examples(40)
@given(clusters())
def test_gangs_keep_their_quorum_or_move_as_a_whole(setting: tuple[Cluster, dict[str, int]]) -> None:
    cluster, spare = setting
    found = cluster.consolidate(feature_gates=ON, seconds=3.0)
    if not found.nodes:
        event("nodes: 0")
        return
    before = Counter(each.spec.scheduling_group.pod_group_name for each in cluster.pods.values())  # type: ignore[union-attr]
    pods = drained(cluster, found.nodes)
    running = [each for each in pods if each["end"] == "running"]
    assert not {each["node"] for each in running} & set(found.nodes)
    assert Counter(each["group"].partition("/")[2] for each in running) == before
    evicted = defaultdict(list)
    for each in pods:
        if each["evicted"]:
            assert each["evicted"] == "drain"
            evicted[each["group"]].append(each)
    moved = "none"
    for group, gone in evicted.items():
        if len(gone) <= spare[group]:
            moved = "in part"
            continue
        assert len(gone) == before[group.partition("/")[2]], f"{group} has lost its quorum"
        assert len({each["node"] for each in gone}) == 1
        moved = "as a whole"
    event(f"nodes: {len(found.nodes)}, gangs moved: {moved}")
