"""PriorityClass admission, in tables: what a pod gets, and what is refused in which words."""

from __future__ import annotations

import pytest

from bayplan.admission import admit
from bayplan.admission.priority import PriorityClasses
from bayplan.model.cluster import PriorityClass
from bayplan.model.errors import InvalidObject
from bayplan.model.kinds import Object
from bayplan.testing.builders import pod, priority_class
from bayplan.testing.building import Builder
from bayplan.testing.pods import PodBuilder

HIGH = priority_class("high", 1000)
NEVER = priority_class("polite", 500, policy="Never")
DEFAULT = priority_class("usual", 50, default=True)
LOWER_DEFAULT = priority_class("lesser", 20, default=True)


def new() -> PodBuilder:
    return pod("a").manifest()


def messages(*objects: Object) -> list[str]:
    with pytest.raises(InvalidObject) as caught:
        admit(list(objects))
    return [str(fault) for fault in caught.value.faults]


@pytest.mark.parametrize(
    ("classes", "given", "expected"),
    [
        pytest.param([], new(), ("", 0, "PreemptLowerPriority"), id="nothing said, no default"),
        pytest.param([HIGH], new(), ("", 0, "PreemptLowerPriority"), id="nothing said, class is no default"),
        pytest.param([DEFAULT], new(), ("usual", 50, "PreemptLowerPriority"), id="default class"),
        pytest.param(
            [DEFAULT, LOWER_DEFAULT], new(), ("lesser", 20, "PreemptLowerPriority"), id="lowest of two defaults"
        ),
        pytest.param([HIGH, DEFAULT], new().priority_class("high"), ("high", 1000, "PreemptLowerPriority"), id="named"),
        pytest.param([NEVER], new().priority_class("polite"), ("polite", 500, "Never"), id="policy of the class"),
        pytest.param(
            [priority_class("old", 7, policy=None)],
            new().priority_class("old"),
            ("old", 7, "PreemptLowerPriority"),
            id="class without a policy",
        ),
        pytest.param(
            [],
            new().priority_class("system-node-critical"),
            ("system-node-critical", 2_000_001_000, "PreemptLowerPriority"),
            id="system class that no file gives",
        ),
        pytest.param(
            [],
            new().priority_class("system-cluster-critical"),
            ("system-cluster-critical", 2_000_000_000, "PreemptLowerPriority"),
            id="the other system class",
        ),
        pytest.param(
            [HIGH],
            new().priority(1000, class_name="high", policy="PreemptLowerPriority"),
            ("high", 1000, "PreemptLowerPriority"),
            id="what is given and right stays",
        ),
        pytest.param(
            [HIGH, DEFAULT],
            pod("a").priority(3, class_name="high", policy="Never"),
            ("high", 3, "Never"),
            id="stored: as it is, though the class says otherwise",
        ),
        pytest.param(
            [],
            pod("a").priority(3, class_name="gone"),
            ("gone", 3, "PreemptLowerPriority"),
            id="stored: its class may be gone",
        ),
        pytest.param(
            [HIGH],
            pod("a").priority(None, class_name="high"),
            ("high", 1000, "PreemptLowerPriority"),
            id="stored without priority: from its class",
        ),
        pytest.param(
            [],
            pod("a").priority(None, class_name="gone"),
            ("gone", None, "PreemptLowerPriority"),
            id="stored without priority, class gone",
        ),
        pytest.param(
            [DEFAULT],
            pod("a").priority(None),
            ("", 0, "PreemptLowerPriority"),
            id="stored without class: defaults do not reach back",
        ),
        pytest.param(
            [DEFAULT],
            new().node("n1"),
            ("usual", 50, "PreemptLowerPriority"),
            id="written as running: default class",
        ),
        pytest.param(
            [DEFAULT],
            new().node("n1").priority(9),
            ("", 9, "PreemptLowerPriority"),
            id="written as running with a priority",
        ),
        pytest.param(
            [DEFAULT],
            new().nominated("n1").priority(9),
            ("", 9, "PreemptLowerPriority"),
            id="written as nominated with a priority",
        ),
        pytest.param(
            [NEVER],
            new().node("n1").priority_class("polite"),
            ("polite", 500, "Never"),
            id="written as running with a class",
        ),
    ],
)
def test_what_a_pod_gets(
    classes: list[Builder[PriorityClass]], given: PodBuilder, expected: tuple[str, int | None, str]
) -> None:
    made = given.obj()
    admit([made, *(one.obj() for one in classes)])
    assert (made.spec.priority_class_name, made.spec.priority, made.spec.preemption_policy) == expected


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        pytest.param(
            new().priority_class("nope"),
            [
                "Pod default/a: spec.priorityClassName: no PriorityClass with name nope was found; "
                "add the class to the input, or name another one"
            ],
            id="unknown class",
        ),
        pytest.param(
            new().priority(7),
            [
                "Pod default/a: spec.priority: the integer value of priority (7) must not be provided in pod spec; "
                "priority admission controller computed 0 from the given PriorityClass name"
            ],
            id="priority out of nowhere",
        ),
        pytest.param(
            new().never_preempts(),
            [
                "Pod default/a: spec.preemptionPolicy: the string value of PreemptionPolicy (Never) must not be "
                "provided in pod spec; priority admission controller computed PreemptLowerPriority from the given "
                "PriorityClass name"
            ],
            id="policy without a class",
        ),
        pytest.param(
            new().priority(7, class_name="high", policy="Never"),
            [
                "Pod default/a: spec.priority: the integer value of priority (7) must not be provided in pod spec; "
                "priority admission controller computed 1000 from the given PriorityClass name",
                "Pod default/a: spec.preemptionPolicy: the string value of PreemptionPolicy (Never) must not be "
                "provided in pod spec; priority admission controller computed PreemptLowerPriority from the given "
                "PriorityClass name",
            ],
            id="both contradict the class",
        ),
    ],
)
def test_refused_pods(given: PodBuilder, expected: list[str]) -> None:
    made = given.obj()
    before = made.spec.priority_class_name, made.spec.priority, made.spec.preemption_policy
    assert messages(HIGH.obj(), made) == expected
    assert (made.spec.priority_class_name, made.spec.priority, made.spec.preemption_policy) == before


RESERVED = "priority class names with 'system-' prefix are reserved for system use only. error: "


@pytest.mark.parametrize(
    ("classes", "expected"),
    [
        pytest.param(
            [priority_class("system-mine", 1)],
            [f"system-mine: metadata.name: {RESERVED}system-mine is not a known system priority class"],
            id="reserved name",
        ),
        pytest.param(
            [priority_class("system-node-critical", 1)],
            [
                f"system-node-critical: metadata.name: {RESERVED}"
                "value of system-node-critical PriorityClass must be 2000001000"
            ],
            id="system class, other value",
        ),
        pytest.param(
            [priority_class("system-cluster-critical", 2_000_000_000, default=True)],
            [
                f"system-cluster-critical: metadata.name: {RESERVED}"
                "globalDefault of system-cluster-critical PriorityClass must be false"
            ],
            id="system class as default",
        ),
        pytest.param(
            [priority_class("huge", 1_000_000_001)],
            ["huge: value: maximum allowed value of a user defined priority is 1000000000"],
            id="above the highest value",
        ),
        pytest.param(
            [priority_class("one", 1, default=True).manifest(), priority_class("two", 2, default=True).manifest()],
            ["two: globalDefault: PriorityClass one is already marked as default. Only one default can exist"],
            id="second default as a manifest",
        ),
        pytest.param(
            [priority_class("two", 2, default=True).manifest(), DEFAULT],
            ["two: globalDefault: PriorityClass usual is already marked as default. Only one default can exist"],
            id="stored default wins whatever the order",
        ),
        pytest.param(
            [HIGH, priority_class("high", 1001, policy="Never")],
            ["high: value: may not be changed in an update.", "high: preemptionPolicy: field is immutable"],
            id="update",
        ),
    ],
)
def test_refused_classes(classes: list[Builder[PriorityClass]], expected: list[str]) -> None:
    assert messages(*(one.obj() for one in classes)) == [f"PriorityClass {line}" for line in expected]


@pytest.mark.parametrize(
    "classes",
    [
        pytest.param([priority_class("top", 1_000_000_000)], id="highest value"),
        pytest.param([priority_class("low", -(2**31))], id="lowest value"),
        pytest.param([priority_class("system-node-critical", 2_000_001_000, policy="Never")], id="policy is free"),
        pytest.param([DEFAULT, LOWER_DEFAULT], id="two stored defaults"),
        pytest.param([DEFAULT, priority_class("usual", 50, default=True).manifest()], id="the default again"),
    ],
)
def test_accepted_classes(classes: list[Builder[PriorityClass]]) -> None:
    admitted = admit([builder.obj() for builder in classes])
    assert [obj.metadata.name for obj in admitted] == [builder.obj().metadata.name for builder in classes]


def test_faults_of_all_objects_are_told_together() -> None:
    lines = messages(
        priority_class("huge", 2_000_000_000).obj(),
        pod("a").manifest().priority_class("x").obj(),
        pod("b", "prod").manifest().priority_class("y").obj(),
    )
    assert [line.split(":")[0] for line in lines] == ["PriorityClass huge", "Pod default/a", "Pod prod/b"]


def test_classes_beside_count_and_are_not_changed() -> None:
    beside = priority_class("high", 1000, policy=None).obj()
    made = new().priority_class("high").obj()
    admit([made], beside=[beside])
    assert made.spec.priority == 1000
    assert beside.preemption_policy is None


def test_a_later_class_of_the_same_name_counts() -> None:
    classes = PriorityClasses([DEFAULT.obj(), priority_class("usual", 50).obj()])
    assert classes.default is None
