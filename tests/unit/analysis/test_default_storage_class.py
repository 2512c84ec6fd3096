"""When a default storage class is added to input that has none, and when it is not."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.analysis.simulation.worlds import after, cluster, nodes, objects

from bayplan.analysis.default_storage_class import CLASS_NAME, EXPLANATION, missing_default_class
from bayplan.analysis.simulation.inputs.commands import Apply
from bayplan.analysis.simulation.running import simulate
from bayplan.model.volumes import PersistentVolumeClaimSpec, VolumeResourceRequirements
from bayplan.testing import builders as make

TEN = VolumeResourceRequirements(requests={"storage": "10Gi"})
SPEC = PersistentVolumeClaimSpec(access_modes=["ReadWriteOnce"], resources=TEN)
CLAIM = make.claim("data")
EPHEMERAL = make.pod("web").ephemeral("scratch", SPEC)


@pytest.mark.parametrize(
    ("things", "expected"),
    [
        pytest.param([CLAIM], True, id="a claim that names no class"),
        pytest.param([EPHEMERAL], True, id="an ephemeral volume that names none"),
        pytest.param([make.deployment("d").template(EPHEMERAL)], True, id="the same in a template"),
        pytest.param([make.pod("web").cpu("1")], False, id="nobody wants storage"),
        pytest.param([make.claim("data").storage_class("fast")], False, id="a claim that names a class"),
        pytest.param([make.claim("data").storage_class("")], False, id="a claim that wants none"),
        pytest.param([CLAIM, make.storage_class("other")], True, id="a class that is not the default"),
        pytest.param([CLAIM, make.storage_class("other", default=True)], False, id="a default class"),
        pytest.param([CLAIM, make.storage_class(CLASS_NAME)], False, id="a class of the same name"),
        pytest.param([CLAIM, make.volume("disk")], False, id="the input has a volume"),
    ],
)
def test_when_a_class_is_missing(things: list[Any], expected: bool) -> None:
    found = missing_default_class(objects(*things))
    assert (found is not None) == expected


def test_the_classes_of_a_dump_are_all_there_are() -> None:
    """Only a manifest may come to a cluster that has a default class already."""
    assert missing_default_class([*objects(CLAIM), make.storage_class("other").obj()]) is None


def test_a_claim_from_a_dump_does_not_count() -> None:
    """A server with a default class would have written it into the claim."""
    stored = CLAIM.manifest().obj()
    stored.metadata.uid = "u1"
    assert missing_default_class([stored]) is None


def test_a_pod_with_an_ephemeral_volume_runs() -> None:
    """Its claim is created, a volume made where it goes; and the run says what was assumed."""
    result = simulate(cluster(*nodes(2), EPHEMERAL), until=60).to_dict()
    (pod,) = result["pods"]
    assert pod["end"] == "running"
    assert [note["message"] for note in result["notes"]] == [EXPLANATION]
    assert CLASS_NAME in EXPLANATION


def test_a_workload_whose_pods_are_refused_is_told() -> None:
    """Else a run without pods would look as if nothing had been asked for."""
    pattern = make.pod("web").labels(app="web").priority(None, class_name="missing")
    lacking = make.deployment("web").replicas(1).selects(app="web").template(pattern)
    (note,) = simulate(cluster(*nodes(1), lacking), until=60).to_dict()["notes"]
    assert (note["source"], note["t"]) == ("replicaset-controller", 0.0)
    assert "is forbidden: no PriorityClass with name missing was found" in note["message"]
    mended = [after(0.5, Apply(objects(make.priority_class("missing", value=5))))]
    cured = simulate(cluster(*nodes(1), lacking), mended, until=120).to_dict()
    assert cured["notes"] == []
    assert cured["summary"]["pods"]["placed"] == 1
