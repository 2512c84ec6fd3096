"""What pods ask for: worked examples as tables, and everything at once against a slow, obvious oracle."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayplan.config.feature_gates import DEFAULT_GATES
from bayplan.core.columns.resources import (
    CPU,
    EPHEMERAL_STORAGE,
    MEMORY,
    ResourceVocabulary,
    allocatable_amounts,
    amount,
    is_extended_resource,
    is_scalar_resource,
    pod_requests,
)
from bayplan.core.release import V1_36, V1_37, Release
from bayplan.model.meta import Condition, RawQuantity
from bayplan.model.pod import (
    Container,
    ContainerStatus,
    Pod,
    PodSpec,
    PodStatus,
    ReportedResources,
    ResourceRequirements,
)

MEBI = 1024 * 1024
DEFAULT_MEMORY = 200 * MEBI

Requests = Mapping[str, RawQuantity]


def container(requests: Requests | None = None, *, name: str = "c", sidecar: bool = False) -> Container:
    return Container(
        name=name,
        resources=ResourceRequirements(requests=dict(requests or {})),
        restart_policy="Always" if sidecar else None,
    )


def pod_of(*containers: Container, **fields: Any) -> Pod:
    status = PodStatus(**fields.pop("status", {}))
    return Pod(spec=PodSpec(containers=list(containers), **fields), status=status)


def level(**requests: RawQuantity) -> ResourceRequirements:
    return ResourceRequirements(requests=dict(requests))


# ---------------------------------------------------------------- names


@pytest.mark.parametrize(
    ("name", "scalar", "extended"),
    [
        ("cpu", False, False),
        ("memory", False, False),
        ("ephemeral-storage", False, False),
        ("pods", False, False),
        ("storage", False, False),
        ("nvidia.com/gpu", True, True),
        ("example.com/Foo_bar.1", True, True),
        ("hugepages-2Mi", True, False),
        ("attachable-volumes-csi-x", True, False),
        ("kubernetes.io/batch-cpu", True, False),
        ("node.kubernetes.io/x", True, False),
        ("notkubernetes.io/x", True, False),  # a substring is enough
        ("requests.nvidia.com/gpu", False, False),
        ("Example.com/gpu", False, False),  # the domain must be lower case
        ("example.com/", False, False),
        ("/gpu", False, False),
        ("a/b/c", False, False),
        ("example.com/-gpu", False, False),
        ("example.com/gpu\n", False, False),
        ("example.com/" + "g" * 63, True, True),
        ("example.com/" + "g" * 64, False, False),
        # "requests." counts towards the 253 characters of the domain.
        (".".join(["a" * 60] * 4) + "/gpu", True, True),  # 243 + 9 = 252
        (".".join(["a" * 60] * 4) + "aa/gpu", False, False),  # 245 + 9 = 254
    ],
)
def test_names_of_resources(name: str, scalar: bool, extended: bool) -> None:
    assert (is_scalar_resource(name), is_extended_resource(name)) == (scalar, extended)


def test_vocabulary_starts_with_the_basic_resources_and_grows_in_order_of_first_sight() -> None:
    vocabulary = ResourceVocabulary()
    assert (CPU, MEMORY, EPHEMERAL_STORAGE) == (0, 1, 2)
    assert vocabulary.values == ["cpu", "memory", "ephemeral-storage"]
    assert vocabulary.find("nvidia.com/gpu") == -1
    assert [vocabulary.take(name) for name in ("b.io/x", "memory", "a.io/x", "b.io/x")] == [3, MEMORY, 4, 3]
    assert vocabulary.values[3:] == ["b.io/x", "a.io/x"]
    assert vocabulary.find("a.io/x") == 4
    assert len(vocabulary) == 5


# ---------------------------------------------------------------- amounts


@pytest.mark.parametrize(
    ("name", "nano", "expected"),
    [
        ("cpu", 10**9, 1000),
        ("cpu", 1, 1),
        ("cpu", 10**6 + 1, 2),
        ("cpu", 0, 0),
        ("memory", 10**9, 1),
        ("memory", 10**8, 1),
        ("nvidia.com/gpu", 2 * 10**9, 2),
        ("hugepages-2Mi", 10**9 + 1, 2),
    ],
)
def test_amounts_round_up_in_the_unit_of_the_resource(name: str, nano: int, expected: int) -> None:
    assert amount(name, nano) == expected


def test_allocatable_keeps_what_counts_and_tells_the_allowed_pods_apart() -> None:
    raw: Requests = {
        "cpu": "3920m",
        "memory": "1Ki",
        "pods": "110",
        "unknown": "5",
        "nvidia.com/gpu": 0,
        "hugepages-1Gi": "0",
    }
    amounts, allowed_pods = allocatable_amounts(raw)
    assert amounts == {"cpu": 3920, "memory": 1024, "nvidia.com/gpu": 0, "hugepages-1Gi": 0}
    assert allowed_pods == 110
    assert allocatable_amounts({"cpu": 1}) == ({"cpu": 1000}, 0)


# ---------------------------------------------------------------- pods


@pytest.mark.parametrize(
    ("pod", "cpu_milli"),
    [
        pytest.param(pod_of(container({"cpu": "0.5m"}), container({"cpu": "0.5m"})), 1, id="rounded once"),
        pytest.param(pod_of(container({"cpu": "400m"}), container({"cpu": "100m"})), 500, id="sum"),
        pytest.param(
            pod_of(container({"cpu": "1"}), init_containers=[container({"cpu": "3"}), container({"cpu": "2"})]),
            3000,
            id="the largest init container",
        ),
        pytest.param(
            pod_of(
                container({"cpu": "400m"}),
                container({"cpu": "100m"}),
                init_containers=[
                    container({"cpu": "200m"}, sidecar=True),
                    container({"cpu": "1"}),
                    container({"cpu": "300m"}, sidecar=True),
                    container({"cpu": "600m"}),
                ],
            ),
            1200,
            id="sidecar before the largest init container",
        ),
        pytest.param(
            pod_of(
                container({"cpu": "400m"}),
                container({"cpu": "100m"}),
                init_containers=[
                    container({"cpu": "1"}),
                    container({"cpu": "200m"}, sidecar=True),
                    container({"cpu": "300m"}, sidecar=True),
                    container({"cpu": "600m"}),
                ],
            ),
            1100,
            id="sidecar after the largest init container",
        ),
        pytest.param(
            pod_of(container({"cpu": "1"}), init_containers=[container({"cpu": "1"}, sidecar=True)]),
            2000,
            id="sidecars run beside containers",
        ),
        pytest.param(pod_of(container({"cpu": "1"}), overhead={"cpu": "250m"}), 1250, id="overhead"),
        pytest.param(
            pod_of(container({"cpu": "2"}), resources=level(cpu="1"), overhead={"cpu": "250m"}),
            1250,
            id="pod level replaces, overhead on top",
        ),
    ],
)
def test_cpu_of_a_pod(pod: Pod, cpu_milli: int) -> None:
    requests = pod_requests(pod, gates=DEFAULT_GATES)
    assert requests.asked == {"cpu": cpu_milli}
    assert requests.used == requests.asked


def test_each_resource_takes_its_maximum_on_its_own() -> None:
    pod = pod_of(
        container({"cpu": "1", "memory": "10"}),
        init_containers=[container({"cpu": "2", "memory": "5", "example.com/x": "1"})],
    )
    assert pod_requests(pod, gates=DEFAULT_GATES).asked == {"cpu": 2000, "memory": 10, "example.com/x": 1}


def test_a_pod_without_requests_asks_for_nothing_and_is_scored_with_defaults() -> None:
    requests = pod_requests(pod_of(container(), container()), gates=DEFAULT_GATES)
    assert requests.asked == {}
    assert requests.used is requests.asked
    assert requests.scored == {"cpu": 200, "memory": 2 * DEFAULT_MEMORY}
    assert (requests.nonzero_cpu_milli, requests.nonzero_memory_bytes) == (200, 2 * DEFAULT_MEMORY)


def test_an_explicit_zero_gets_no_default_and_stays_visible() -> None:
    requests = pod_requests(pod_of(container({"cpu": 0, "memory": "0", "nvidia.com/gpu": "0"})), gates=DEFAULT_GATES)
    assert requests.asked == {"cpu": 0, "memory": 0, "nvidia.com/gpu": 0}
    assert requests.scored == requests.asked
    assert (requests.nonzero_cpu_milli, requests.nonzero_memory_bytes) == (0, 0)


def test_defaults_hold_for_each_container_and_init_container() -> None:
    pod = pod_of(container({"cpu": "30m"}), container({"memory": "1Mi"}), init_containers=[container()])
    requests = pod_requests(pod, gates=DEFAULT_GATES)
    assert requests.asked == {"cpu": 30, "memory": MEBI}
    assert requests.scored == {"cpu": 130, "memory": DEFAULT_MEMORY + MEBI}
    assert pod_requests(pod_of(init_containers=[container(), container()]), gates=DEFAULT_GATES).scored["cpu"] == 100
    sidecars = [container(sidecar=True), container(sidecar=True)]
    assert pod_requests(pod_of(container(), init_containers=sidecars), gates=DEFAULT_GATES).nonzero_cpu_milli == 300


def test_defaults_come_before_overhead() -> None:
    requests = pod_requests(pod_of(container(), overhead={"cpu": "10m", "memory": 5}), gates=DEFAULT_GATES)
    assert requests.asked == {"cpu": 10, "memory": 5}
    assert requests.scored == {"cpu": 110, "memory": DEFAULT_MEMORY + 5}
    assert requests.nonzero_cpu_milli == 110


def test_resources_that_do_not_count_are_dropped() -> None:
    odd: Requests = {"pods": "1", "storage": "5Gi", "gpu": 1}
    assert pod_requests(pod_of(container(odd), overhead=odd), gates=DEFAULT_GATES).asked == {}


def test_pods_of_one_template_share_their_requests() -> None:
    first, second = (pod_requests(pod_of(container({"cpu": "731m"})), gates=DEFAULT_GATES) for _ in range(2))
    assert first is second


# ---------------------------------------------------------------- pod-level requests


def test_pod_level_requests_replace_only_the_supported_resources() -> None:
    pod = pod_of(
        container({"cpu": "2", "ephemeral-storage": 7, "example.com/x": 1, "hugepages-2Mi": "2Mi"}),
        resources=ResourceRequirements(
            requests={"cpu": "1", "ephemeral-storage": 9, "example.com/x": 5, "hugepages-2Mi": "4Mi"}
        ),
    )
    expected = {"cpu": 1000, "ephemeral-storage": 7, "example.com/x": 1, "hugepages-2Mi": 4 * MEBI}
    assert pod_requests(pod, gates=DEFAULT_GATES).asked == expected


def test_the_score_does_not_see_pod_level_requests() -> None:
    requests = pod_requests(pod_of(container({"memory": 10}), resources=level(cpu="4", memory=99)), gates=DEFAULT_GATES)
    assert requests.asked == {"memory": 99, "cpu": 4000}
    assert requests.scored == {"memory": 10, "cpu": 100}
    assert (requests.nonzero_cpu_milli, requests.nonzero_memory_bytes) == (4000, 99)


@pytest.mark.parametrize(
    ("containers", "overhead", "memory_bytes"),
    [
        pytest.param([{}, {}], {}, 2 * DEFAULT_MEMORY, id="mentioned nowhere: a default for each container"),
        pytest.param([{}, {"memory": 5}], {}, 5, id="mentioned by one container: no default"),
        pytest.param([{}, {"memory": 0}], {}, 0, id="an explicit zero is a mention"),
        pytest.param([{}, {}], {"memory": 7}, 7, id="overhead is a mention"),
    ],
)
def test_with_pod_level_requests_a_default_needs_a_resource_nobody_mentions(
    containers: list[Requests], overhead: dict[str, RawQuantity], memory_bytes: int
) -> None:
    pod = pod_of(*[container(requests) for requests in containers], resources=level(cpu="1"), overhead=overhead)
    requests = pod_requests(pod, gates=DEFAULT_GATES)
    assert (requests.nonzero_cpu_milli, requests.nonzero_memory_bytes) == (1000, memory_bytes)


def test_pod_level_requests_of_unsupported_resources_alone_leave_the_defaults_armed() -> None:
    pod = pod_of(
        container({"memory": 5}),
        container(),
        resources=ResourceRequirements(requests={"ephemeral-storage": 1}),
    )
    assert pod_requests(pod, gates=DEFAULT_GATES).nonzero_memory_bytes == DEFAULT_MEMORY + 5


def test_pod_level_limits_alone_are_no_requests() -> None:
    pod = pod_of(container(), resources=ResourceRequirements(limits={"cpu": "8"}))
    assert pod_requests(pod, gates=DEFAULT_GATES).asked == {}
    assert pod_requests(pod, gates=DEFAULT_GATES).nonzero_cpu_milli == 100


# ---------------------------------------------------------------- resize in place


def container_status(actual: Requests | None, allocated: Requests | None = None, *, name: str = "c") -> ContainerStatus:
    resources = None if actual is None else ReportedResources(requests=dict(actual))
    return ContainerStatus(
        name=name, resources=resources, allocated_resources=None if allocated is None else dict(allocated)
    )


INFEASIBLE = [Condition(type="PodResizePending", status="True", reason="Infeasible")]
DEFERRED = [Condition(type="PodResizePending", status="True", reason="Deferred")]
# The reason counts only in a condition of the right type.
IN_PROGRESS = [Condition(type="PodResizeInProgress", status="True", reason="Infeasible")]


@pytest.mark.parametrize(
    ("conditions", "actual", "allocated", "used_milli"),
    [
        pytest.param([], {"cpu": "2"}, {"cpu": "3"}, 3000, id="granted more"),
        pytest.param([], {"cpu": "3"}, {"cpu": "2"}, 3000, id="still has more"),
        pytest.param([], {"cpu": "500m"}, {"cpu": "500m"}, 1000, id="wants more"),
        pytest.param([], {}, {"cpu": "3"}, 3000, id="status without requests"),
        pytest.param([], None, {"cpu": "3"}, 1000, id="without status.resources the spec holds"),
        pytest.param(DEFERRED, {"cpu": "500m"}, {"cpu": "500m"}, 1000, id="deferred"),
        pytest.param(IN_PROGRESS, {"cpu": "500m"}, {"cpu": "500m"}, 1000, id="in progress"),
        pytest.param(INFEASIBLE, {"cpu": "500m"}, {"cpu": "700m"}, 700, id="infeasible: the spec is void"),
        pytest.param(INFEASIBLE, None, {"cpu": "700m"}, 1000, id="infeasible, but nothing reported"),
        pytest.param(DEFERRED + INFEASIBLE, {"cpu": "500m"}, {}, 1000, id="the first condition decides"),
    ],
)
def test_a_resize_counts_for_what_is_used_only(
    conditions: list[Condition], actual: Requests | None, allocated: Requests, used_milli: int
) -> None:
    statuses = [container_status(actual, allocated)]
    pod = pod_of(container({"cpu": "1"}), status={"conditions": conditions, "container_statuses": statuses})
    requests = pod_requests(pod, gates=DEFAULT_GATES)
    assert requests.asked == {"cpu": 1000}
    assert requests.used == {"cpu": used_milli}
    assert requests.nonzero_cpu_milli == used_milli
    assert requests.scored == {"cpu": 1000, "memory": DEFAULT_MEMORY}


def test_sidecars_are_resized_and_ordinary_init_containers_are_not() -> None:
    status = {"init_container_statuses": [container_status({"cpu": "5"}, name="i")]}
    sidecar = container({"cpu": "1"}, name="i", sidecar=True)
    assert pod_requests(pod_of(container(), init_containers=[sidecar], status=status), gates=DEFAULT_GATES).used == {
        "cpu": 5000
    }
    ordinary = container({"cpu": "1"}, name="i")
    assert pod_requests(pod_of(container(), init_containers=[ordinary], status=status), gates=DEFAULT_GATES).used == {
        "cpu": 1000
    }


def test_a_request_known_only_to_the_status_disarms_its_default() -> None:
    pod = pod_of(container({"cpu": "1"}), status={"container_statuses": [container_status({"memory": 5})]})
    requests = pod_requests(pod, gates=DEFAULT_GATES)
    assert requests.used == {"cpu": 1000, "memory": 5}
    assert requests.nonzero_memory_bytes == 5
    assert requests.scored["memory"] == DEFAULT_MEMORY


@pytest.mark.parametrize(
    ("conditions", "actual", "allocated", "used_milli"),
    [
        pytest.param([], level(cpu="2"), {"cpu": "3"}, 3000, id="granted more"),
        pytest.param([], None, {"cpu": "3"}, 1000, id="without status.resources the spec holds"),
        pytest.param(INFEASIBLE, level(cpu="500m"), {}, 500, id="infeasible: the spec is void"),
        pytest.param(INFEASIBLE, level(), {}, 0, id="infeasible, nothing reported: none"),
        pytest.param([], level(cpu="2", memory=9), {"hugepages-2Mi": "2Mi"}, 2000, id="what the spec does not name"),
    ],
)
def test_pod_level_requests_are_resized_likewise(
    conditions: list[Condition],
    actual: ResourceRequirements | None,
    allocated: dict[str, RawQuantity],
    used_milli: int,
) -> None:
    status = {"conditions": conditions, "resources": actual, "allocated_resources": allocated}
    requests = pod_requests(
        pod_of(container({"cpu": "4"}), resources=level(cpu="1"), status=status), gates=DEFAULT_GATES
    )
    assert requests.asked == {"cpu": 1000}
    assert requests.used == {"cpu": used_milli}


def test_pod_level_status_of_a_pod_without_pod_level_requests_is_not_read() -> None:
    pod = pod_of(container({"cpu": "1"}), status={"resources": level(cpu="9")})
    assert pod_requests(pod, gates=DEFAULT_GATES).used == {"cpu": 1000}


def test_a_status_that_repeats_the_spec_takes_the_short_way() -> None:
    plain = pod_requests(pod_of(container({"cpu": "677m"})), gates=DEFAULT_GATES)
    statuses = [container_status({"cpu": "677m"}, {"cpu": "677m"})]
    assert (
        pod_requests(pod_of(container({"cpu": "677m"}), status={"container_statuses": statuses}), gates=DEFAULT_GATES)
        is plain
    )


# ---------------------------------------------------------------- everything at once

QUANTITIES: dict[RawQuantity, Fraction] = {
    "0": Fraction(0),
    "1n": Fraction(1, 10**9),
    "0.5m": Fraction(1, 2000),
    "300u": Fraction(3, 10_000),
    "100m": Fraction(1, 10),
    "1.25": Fraction(5, 4),
    "2": Fraction(2),
    7: Fraction(7),
    "1Ki": Fraction(1024),
    "3e2": Fraction(300),
}
NAMES = ["cpu", "memory", "ephemeral-storage", "hugepages-2Mi", "example.com/x", "pods", "oddity"]
KEPT = set(NAMES[:5])
POD_LEVEL = {"cpu", "memory", "hugepages-2Mi"}
ORACLE_DEFAULTS = {"cpu": Fraction(1, 10), "memory": Fraction(DEFAULT_MEMORY)}

resource_lists = st.dictionaries(st.sampled_from(NAMES), st.sampled_from(list(QUANTITIES)), max_size=4)
requirements = st.builds(ResourceRequirements, requests=resource_lists)
reported = st.builds(ReportedResources, requests=st.none() | resource_lists)
no_resources: dict[str, RawQuantity] = {}
empty_or = st.one_of(st.just(no_resources), resource_lists)


@st.composite
def pods(draw: st.DrawFn) -> Pod:
    containers = [Container(name=f"c{i}", resources=draw(requirements)) for i in range(draw(st.integers(0, 3)))]
    init_containers = [
        Container(name=f"i{i}", resources=draw(requirements), restart_policy=draw(st.sampled_from([None, "Always"])))
        for i in range(draw(st.integers(0, 3)))
    ]

    def statuses(of: list[Container]) -> list[ContainerStatus]:
        return [
            ContainerStatus(
                name=one.name,
                resources=draw(st.none() | st.just(ReportedResources(requests=one.resources.requests)) | reported),
                allocated_resources=draw(st.one_of(st.none(), st.just(one.resources.requests), empty_or)),
            )
            for one in of
            if draw(st.booleans())
        ]

    return Pod(
        spec=PodSpec(
            containers=containers,
            init_containers=init_containers,
            overhead=draw(empty_or),
            resources=draw(st.none() | requirements),
        ),
        status=PodStatus(
            conditions=draw(st.sampled_from([[], INFEASIBLE, DEFERRED, IN_PROGRESS])),
            container_statuses=statuses(containers),
            init_container_statuses=statuses(init_containers),
            resources=draw(st.none() | reported),
            allocated_resources=draw(st.none() | empty_or),
        ),
    )


class Oracle:
    """The rule read aloud: one resource at a time, None for a resource that nobody mentions."""

    def __init__(self, pod: Pod, *, status: bool, pod_level: bool, defaults: Mapping[str, Fraction]) -> None:
        self.pod, self.status, self.pod_level, self.defaults = pod, status, pod_level, defaults
        pending = [c for c in pod.status.conditions if c.type == "PodResizePending"]
        self.infeasible = bool(pending) and pending[0].reason == "Infeasible"

    def amounts(self) -> dict[str, int]:
        found = {name: self.total(name) for name in KEPT}
        return {
            name: math.ceil(value * (1000 if name == "cpu" else 1))
            for name, value in found.items()
            if value is not None
        }

    def total(self, name: str) -> Fraction | None:
        level = self.level(name)
        return plus([self.of_containers(name) if level is None else level, value(self.pod.spec.overhead, name)])

    def of_containers(self, name: str) -> Fraction | None:
        spec = self.pod.spec
        sidecars_so_far: list[Fraction | None] = []
        moments: list[Fraction | None] = []
        for one in spec.init_containers:
            restartable = one.restart_policy == "Always"
            need = self.need(one, name, resizable=restartable)
            moments.append(plus([*sidecars_so_far, need]))
            if restartable:
                sidecars_so_far.append(need)
        parts = [self.need(one, name, resizable=True) for one in spec.containers]
        return most([plus([*parts, *sidecars_so_far]), *moments])

    def need(self, one: Container, name: str, *, resizable: bool) -> Fraction | None:
        status = self.pod.status
        known = {s.name: s for s in [*status.container_statuses, *status.init_container_statuses]}.get(one.name)
        need = value(one.resources.requests, name)
        if self.status and resizable and known is not None and known.resources is not None:
            need = self.resized(need, known.resources.requests, known.allocated_resources, name)
        return self.defaults.get(name) if need is None else need

    def level(self, name: str) -> Fraction | None:
        spec, status = self.pod.spec, self.pod.status
        if not self.pod_level or spec.resources is None or not POD_LEVEL & spec.resources.requests.keys():
            return None
        if name not in POD_LEVEL:
            return None
        level = value(spec.resources.requests, name)
        if level is not None and self.status and status.resources is not None:
            level = self.resized(level, status.resources.requests, status.allocated_resources, name)
            return Fraction(0) if level is None else level
        return level

    def resized(
        self, wanted: Fraction | None, actual: Requests | None, allocated: Requests | None, name: str
    ) -> Fraction | None:
        return most([None if self.infeasible else wanted, value(actual or {}, name), value(allocated or {}, name)])


class OracleByPod(Oracle):
    """As since v1.37: three totals, of which the largest counts."""

    reading = "spec"

    def of_containers(self, name: str) -> Fraction | None:
        if not self.status:
            return super().of_containers(name)
        totals = [self.read_as("promised", name), self.read_as("actual", name)]
        status = self.pod.status
        if status.allocated_resources is not None and status.resources and status.resources.requests is not None:
            totals = [value(status.allocated_resources, name), value(status.resources.requests, name)]
        return most([*totals, None if self.infeasible else self.read_as("spec", name)])

    def read_as(self, reading: str, name: str) -> Fraction | None:
        self.reading = reading
        return super().of_containers(name)

    def need(self, one: Container, name: str, *, resizable: bool) -> Fraction | None:
        found = value(self.list_of(one), name)
        return self.defaults.get(name) if found is None else found

    def list_of(self, one: Container) -> Requests:
        status = self.pod.status
        known = {s.name: s for s in [*status.container_statuses, *status.init_container_statuses]}.get(one.name)
        if self.status and self.reading != "spec":
            if self.reading == "actual" and known and known.resources and known.resources.requests is not None:
                return known.resources.requests
            if known and known.allocated_resources is not None:
                return known.allocated_resources
            if self.infeasible:
                return {}
        return one.resources.requests

    def level(self, name: str) -> Fraction | None:
        spec, status = self.pod.spec, self.pod.status
        if not self.pod_level or spec.resources is None or not POD_LEVEL & spec.resources.requests.keys():
            return None
        if name not in POD_LEVEL:
            return None
        level = value(spec.resources.requests, name)
        if self.status and status.resources is not None:
            return self.resized(level, status.resources.requests, status.allocated_resources, name)
        return level


def value(requests: Requests, name: str) -> Fraction | None:
    return QUANTITIES[requests[name]] if name in requests else None


def plus(values: list[Fraction | None]) -> Fraction | None:
    return folded(values, lambda known: sum(known, Fraction(0)))


def most(values: list[Fraction | None]) -> Fraction | None:
    return folded(values, max)


def folded(values: list[Fraction | None], fold: Callable[[list[Fraction]], Fraction]) -> Fraction | None:
    known = [v for v in values if v is not None]
    return fold(known) if known else None


@pytest.mark.parametrize(
    ("release", "oracle"), [pytest.param(V1_36, Oracle, id="1.36"), pytest.param(V1_37, OracleByPod, id="1.37")]
)
@given(pod=pods())
def test_every_reader_agrees_with_the_oracle(pod: Pod, release: Release, oracle: type[Oracle]) -> None:
    requests = pod_requests(pod, replace(DEFAULT_GATES, release=release))
    assert requests.asked == oracle(pod, status=False, pod_level=True, defaults={}).amounts()
    used = oracle(pod, status=True, pod_level=True, defaults={}).amounts()
    assert requests.used == used
    assert requests.scored == oracle(pod, status=False, pod_level=False, defaults=ORACLE_DEFAULTS).amounts()
    armed = ORACLE_DEFAULTS
    if pod.spec.resources is not None and POD_LEVEL & pod.spec.resources.requests.keys():
        armed = {name: default for name, default in ORACLE_DEFAULTS.items() if name not in used}
    nonzero = oracle(pod, status=True, pod_level=True, defaults=armed).amounts()
    assert requests.nonzero_cpu_milli == nonzero.get("cpu", 0)
    assert requests.nonzero_memory_bytes == nonzero.get("memory", 0)
