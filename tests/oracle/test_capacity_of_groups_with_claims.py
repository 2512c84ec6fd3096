"""How many more groups with claims of devices fit, against a simulation in which as many and one more are created.

There the controller of claims makes them, and one group after another comes once the one before it has settled.
"""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgspec
import yaml
from hypothesis import event, given
from hypothesis import strategies as st
from tests.support.devices import asks, claim_of, claim_template, device, device_class, slice_of
from tests.support.examples import examples

from bayplan.analysis.cluster import Cluster
from bayplan.analysis.simulation.running import simulate
from bayplan.config.releases import release_named
from bayplan.model.groups import PodGroup, PodGroupResourceClaim
from bayplan.model.kinds import ALL_KINDS, Object
from bayplan.model.pod import Pod, PodResourceClaim
from bayplan.testing import builders as make

TOPOLOGY = "GenericWorkload=true,TopologyAwareWorkloadScheduling=true"
CLAIMS = f"{TOPOLOGY},DRAWorkloadResourceClaims=true"


@st.composite
def clusters(draw: st.DrawFn) -> tuple[list[Object], PodGroup, list[Pod]]:
    """Nodes with devices in racks, a gang, and its pods, with a claim for each, for the gang, or for everybody."""
    objects: list[Object] = [device_class(), claim_template("t", asks("r"))]
    for at in range(draw(st.integers(1, 4))):
        rack, cpu = draw(st.sampled_from("ab")), draw(st.sampled_from(["2", "3"]))
        objects.append(make.node(f"n{at}").capacity(cpu=cpu, memory="8Gi", pods=20).labels(rack=rack).obj())
        devices = [device(f"d{number}") for number in range(draw(st.integers(0, 3)))]
        if devices:
            objects.append(slice_of(f"n{at}", *devices))
    size = draw(st.integers(1, 3))
    group = make.pod_group("g").gang(size)
    made = (group.within("rack") if draw(st.booleans()) else group).obj()
    pods = [make.pod(f"p{at}").cpu("1").in_group("g").obj() for at in range(size)]
    kind = draw(st.sampled_from(["pod", "pod", "group", "group", "shared", "both"]))
    event(f"claims: {kind}")
    for pod in pods:
        if kind in ("pod", "both"):
            pod.spec.resource_claims.append(PodResourceClaim(name="own", resource_claim_template_name="t"))
        if kind in ("group", "both"):
            pod.spec.resource_claims.append(PodResourceClaim(name="ours", resource_claim_template_name="t"))
        if kind == "shared":
            pod.spec.resource_claims.append(PodResourceClaim(name="all", resource_claim_name="everybodys"))
    if kind in ("group", "both"):
        made.spec.resource_claims = [PodGroupResourceClaim(name="ours", resource_claim_template_name="t")]
    if kind == "shared":
        objects.append(claim_of("everybodys", asks("r")))
    return objects, made, pods


def placed_in_simulation(
    objects: list[Object], group: PodGroup, pods: list[Pod], copies: int, gates: str
) -> list[bool]:
    """Of each copy, whether all of its pods got a node."""
    steps: list[dict[str, Any]] = []
    with TemporaryDirectory() as folder:
        for number in range(copies):
            documents = [copied(group, number, ""), *(copied(pod, number, f"c{number}") for pod in pods)]
            path = Path(folder) / f"{number}.yaml"
            path.write_text(yaml.safe_dump_all(documents), encoding="utf-8")
            steps.append({"at": f"{5 * number + 1}m", "apply": path.name})
        timeline = Path(folder) / "timeline.yaml"
        timeline.write_text(yaml.safe_dump(steps), encoding="utf-8")
        run = simulate(Cluster(objects).under(release_named("1.37")), timeline, feature_gates=gates).to_dict()
    nodes = {each["key"]: each["node"] for each in run["pods"]}
    return [all(nodes[f"default/{pod.metadata.name}-c{number}"] for pod in pods) for number in range(copies)]


def copied(obj: Object, number: int, group: str) -> dict[str, Any]:
    document = {"apiVersion": ALL_KINDS[type(obj).__name__].api_version, **msgspec.to_builtins(obj)}
    document["metadata"] = {"name": f"{obj.metadata.name}-c{number}" if group else f"c{number}", "namespace": "default"}
    if group:
        document["spec"]["schedulingGroup"] = {"podGroupName": group}
    return document


@examples(25)
@given(clusters(), st.sampled_from([CLAIMS, CLAIMS, TOPOLOGY]))
def test_as_many_groups_as_it_says_are_placed_and_no_more(
    setting: tuple[list[Object], PodGroup, list[Pod]], gates: str
) -> None:
    objects, group, pods = setting
    cluster = Cluster([*objects, group, *pods]).under(release_named("1.37"))
    found = cluster.group_capacity("g", feature_gates=gates)
    event(f"groups: {min(found.groups, 4)}")
    placed = placed_in_simulation(objects, group, pods, found.groups + 1, gates)
    assert placed == [True] * found.groups + [False]
