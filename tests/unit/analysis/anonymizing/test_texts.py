"""What is kept is on a list; all else gets another name, and order and differences stay."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayplan.analysis.anonymizing.rules import TextRule
from bayplan.analysis.anonymizing.texts import Learned, Texts
from bayplan.model.timestamps import format_time, parse_time


def renamed(rule: TextRule, *texts: str) -> list[str]:
    found = Learned()
    learning = Texts(found, learning=True)
    for text in texts:
        learning.by_rule[rule](text)
    return [Texts(found, learning=False).by_rule[rule](text) for text in texts]


@pytest.mark.parametrize(
    ("rule", "text"),
    [
        (TextRule.KEY, "kubernetes.io/hostname"),
        (TextRule.KEY, "topology.kubernetes.io/zone"),
        (TextRule.KEY, "topology.ebs.csi.aws.com/zone"),
        (TextRule.KEY, "node-role.kubernetes.io/control-plane"),
        (TextRule.KEY, "app.kubernetes.io/name"),
        (TextRule.KEY, "pod-template-hash"),
        (TextRule.KEY, "metadata.name"),
        (TextRule.CONDITION, "PodScheduled"),
        (TextRule.WORD, "Unschedulable"),
        (TextRule.GROUP, "apps/v1"),
        (TextRule.GROUP, "v1"),
        (TextRule.GROUP, "resource.k8s.io/v1beta2"),
        (TextRule.DRIVER, "ebs.csi.aws.com"),
        (TextRule.DRIVERS, "kubernetes.io/aws-ebs,kubernetes.io/gce-pd"),
        (TextRule.RESOURCE, "hugepages-2Mi"),
        (TextRule.AMOUNT, "25%"),
        (TextRule.AMOUNT, "0-3,5"),
        (TextRule.AMOUNT, "1500Mi"),
        (TextRule.SCHEDULE, "17 3 * * mon-fri"),
        (TextRule.SCHEDULER, "default-scheduler"),
    ],
)
def test_what_is_well_known_stays(rule: TextRule, text: str) -> None:
    assert renamed(rule, text) == [text]


@pytest.mark.parametrize(
    ("rule", "text", "new"),
    [
        (TextRule.KEY, "node-role.kubernetes.io/payments", "node-role.kubernetes.io/x1"),
        (TextRule.KEY, "node.kubernetes.io/acme-pool", "node.kubernetes.io/x1-x2"),
        (TextRule.KEY, "acme.kubernetes.io/pool", "x1.kubernetes.io/x2"),
        (TextRule.KEY, "topology.acme.com/rack", "x4.x1.x2/x3"),
        (TextRule.KEY, "app", "x1"),
        (TextRule.CONDITION, "AcmeReady", "x1"),
        (TextRule.CONDITION, "acme.com/Ready", "x2.x3/x1"),
        (TextRule.WORD, "AcmeReason", "x1"),
        (TextRule.GROUP, "acme/v1", "x1/v1"),
        (TextRule.GROUP, "apps/v1acme", "apps/x1"),
        (TextRule.DRIVER, "gpu.acme.com", "x3.x1.x2"),
        (TextRule.RESOURCE, "acme.com/gpu", "x1.x2/x3"),
        (TextRule.RESOURCE, "acme.kubernetes.io/gpu", "x1.kubernetes.io/x2"),
        (TextRule.RESOURCE, "deviceclass.resource.kubernetes.io/acme", "deviceclass.resource.kubernetes.io/x1"),
        (TextRule.SCHEDULE, "TZ=Europe/Zurich 0 3 * * *", "x1/x2"),
        (TextRule.SCHEDULER, "acme-scheduler", "x1-x2"),
        (TextRule.TIME, "yesterday", "x1"),
        (TextRule.VERSION, "48151623", "1"),
        (TextRule.UID, "GPU-8d2e", "uid-1"),
    ],
)
def test_all_else_gets_another_name(rule: TextRule, text: str, new: str) -> None:
    assert renamed(rule, text) == [new]


def test_times_move_together_and_the_newest_is_always_the_same() -> None:
    times = ["2031-05-06T07:08:09Z", "2031-05-06T07:08:08.25Z", "2031-05-05T09:08:09+02:00"]
    assert renamed(TextRule.TIME, *times) == [
        "2000-01-01T00:00:00Z",
        "1999-12-31T23:59:59.250000000Z",
        "1999-12-31T00:00:00Z",
    ]


@given(st.lists(st.integers(0, 4 * 10**18).map(lambda time: f"{format_time(time)[:-1]}.{time % 10**9:09}Z")))
def test_times_keep_their_distances(times: list[str]) -> None:
    new = renamed(TextRule.TIME, *times)
    for before, after in zip(times, new, strict=True):
        assert parse_time(before) - parse_time(times[0]) == parse_time(after) - parse_time(new[0])


@given(st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1), st.integers(-(2**63), 2**63 - 1))
def test_numbers_that_are_compared_keep_their_order(numbers: list[int], limit: int) -> None:
    found = Learned(compared_keys={"cores"})
    for number in (*numbers, limit):
        Texts(found, learning=True).label("cores", str(number))
    texts = Texts(found, learning=False)
    new_limit = int(texts.label("cores", str(limit)))
    for number in numbers:
        new = int(texts.label("cores", str(number)))
        assert (new > new_limit, new < new_limit) == (number > limit, number < limit)


def test_equal_numbers_that_are_written_differently_stay_different() -> None:
    found = Learned(compared_keys={"cores"})
    learning = Texts(found, learning=True)
    written = ["5", "05", "+5", "-5"]
    for text in written:
        learning.label("cores", text)
    texts = Texts(found, learning=False)
    assert [texts.label("cores", text) for text in written] == ["2", "02", "+2", "1"]
