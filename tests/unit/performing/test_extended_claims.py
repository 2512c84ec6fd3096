"""Which containers use which requests of a claim for extended resources."""

from __future__ import annotations

from bayplan.model.meta import RawQuantity
from bayplan.model.pod import Container, Pod, ResourceRequirements
from bayplan.model.resource_claims import (
    DeviceClaim,
    DeviceRequest,
    ExactDeviceRequest,
    ResourceClaim,
    ResourceClaimSpec,
)
from bayplan.performing.extended_claims import request_mappings
from bayplan.testing.builders import pod


def container(name: str, restart: str | None = None, **amounts: int) -> Container:
    requests: dict[str, RawQuantity] = {"cpu": "1"}
    for resource, amount in amounts.items():
        requests[f"example.com/{resource}"] = amount
    return Container(name=name, resources=ResourceRequirements(requests=requests), restart_policy=restart)


def pod_of(*containers: Container, init: tuple[Container, ...] = ()) -> Pod:
    made = pod("p").obj()
    made.spec.containers, made.spec.init_containers = list(containers), list(init)
    return made


def claim_for(**counts: int) -> ResourceClaim:
    """Keys are `container_position`."""
    requests = [
        DeviceRequest(
            name="container-{}-request-{}".format(*place.strip("r").split("_")), exactly=ExactDeviceRequest(count=count)
        )
        for place, count in counts.items()
    ]
    return ResourceClaim(spec=ResourceClaimSpec(devices=DeviceClaim(requests=requests)))


def mapped(made: Pod, claim: ResourceClaim) -> list[tuple[str, str, str]]:
    return [
        (one.container_name, one.resource_name.removeprefix("example.com/"), one.request_name)
        for one in request_mappings(made, claim)
    ]


def test_each_container_uses_its_own_request() -> None:
    made = pod_of(container("a", gpu=2), container("b"), container("c", gpu=1, nic=1))
    assert mapped(made, claim_for(r0_1=2, r2_1=1, r2_2=1)) == [
        ("a", "gpu", "container-0-request-1"),
        ("c", "gpu", "container-2-request-1"),
        ("c", "nic", "container-2-request-2"),
    ]


def test_an_init_container_uses_the_devices_of_later_ones_as_far_as_it_needs() -> None:
    made = pod_of(container("a", gpu=1), container("b", gpu=1), init=(container("i", gpu=1),))
    assert mapped(made, claim_for(r1_1=1, r2_1=1)) == [
        ("a", "gpu", "container-1-request-1"),
        ("b", "gpu", "container-2-request-1"),
        ("i", "gpu", "container-1-request-1"),
    ]


def test_init_containers_share_the_largest_request_of_theirs() -> None:
    made = pod_of(container("a", gpu=1), init=(container("i", gpu=2), container("j", gpu=4)))
    assert mapped(made, claim_for(r1_1=3, r2_1=1))[1:] == [
        ("i", "gpu", "container-2-request-1"),
        ("i", "gpu", "container-1-request-1"),
        ("j", "gpu", "container-2-request-1"),
        ("j", "gpu", "container-1-request-1"),
    ]


def test_a_sidecar_keeps_its_own_and_earlier_ones_give_nothing_to_later_init_containers() -> None:
    made = pod_of(container("a"), init=(container("s", "Always", gpu=1), container("i", gpu=1)))
    assert mapped(made, claim_for(r0_1=1, r1_1=1)) == [
        ("s", "gpu", "container-0-request-1"),
        ("i", "gpu", "container-1-request-1"),
    ]
