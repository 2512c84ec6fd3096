"""What cannot be changed about an object that exists, field by field."""

from __future__ import annotations

from typing import Any

import pytest

from bayplan.analysis.answers.refused_updates import refusals
from bayplan.model.storage import PersistentVolumeClaim
from bayplan.testing import builders as make
from bayplan.testing.building import Builder

POD = make.pod("p").cpu("1").node_selector({"disk": "ssd"})
JOB = make.job("j").template(make.pod("t").cpu("1"))
DEPLOYMENT = make.deployment("d").template(make.pod("t").labels(app="x"))
SET = make.stateful_set("s").template(make.pod("t").labels(app="x"))


def claim(storage: str) -> PersistentVolumeClaim:
    return make.claim("data").storage(storage).obj()


@pytest.mark.parametrize(
    ("old", "new", "fields"),
    [
        pytest.param(POD, make.pod("p"), [], id="what is left out stays"),
        pytest.param(POD, make.pod("p").cpu("1000m"), [], id="the same amount in other words"),
        pytest.param(POD, make.pod("p").cpu("2"), ["spec.containers[0].resources.requests"], id="request"),
        pytest.param(POD, make.pod("p").node_selector({"disk": "hdd"}), ["spec.nodeSelector"], id="node selector"),
        pytest.param(make.pod("p").gate("x"), make.pod("p").node_selector({"disk": "hdd"}), [], id="gated"),
        pytest.param(POD, make.pod("p").priority_class("high"), ["spec.priorityClassName"], id="class"),
        pytest.param(JOB, make.job("j").template(make.pod("t").cpu("1")), [], id="a job as it was"),
        pytest.param(
            JOB,
            make.job("j").template(make.pod("t").cpu("2")),
            ["spec.template.spec.containers[0].resources.requests"],
            id="template of a job",
        ),
        pytest.param(
            DEPLOYMENT, make.deployment("d").template(make.pod("t").labels(app="y")), ["spec.selector"], id="selector"
        ),
        pytest.param(
            SET.set(volume_claim_templates=[claim("1Gi")]),
            make.stateful_set("s").template(make.pod("t").labels(app="x")).set(volume_claim_templates=[claim("2Gi")]),
            ["spec.volumeClaimTemplates"],
            id="claims of a stateful set",
        ),
    ],
)
def test_what_is_refused(old: Builder[Any], new: Builder[Any], fields: list[str]) -> None:
    assert [fault.field for fault in refusals(old.obj(), new.obj())] == fields


def test_a_refusal_says_what_to_do() -> None:
    (fault,) = refusals(POD.obj(), make.pod("p").cpu("2").obj())
    assert fault.message == "field is immutable; to create the object again, delete it in the same change (--delete)"
