"""Which container uses which request of the claim that the scheduler made for a pod's extended resources.

Takes the pod and the claim; gives the list that the pod's status has for the kubelet. The claim's requests are named
after containers and resources, so nothing else is needed to tell.
Upstream: plugins/dynamicresources/extendeddynamicresources.go createRequestsAndMappings (v1.36).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from bayplan.model.pod import Container, ContainerExtendedResourceRequest, Pod
from bayplan.model.quantity import NANO_PER_UNIT, parse_quantity
from bayplan.model.resource_claims import ResourceClaim


def request_mappings(pod: Pod, claim: ResourceClaim) -> list[ContainerExtendedResourceRequest]:
    """For each resource the containers that last, then init containers, which may share devices with later ones."""
    counts = {request.name: request.exactly.count for request in claim.spec.devices.requests if request.exactly}
    init = pod.spec.init_containers
    containers = [*init, *pod.spec.containers]
    lasting = {
        place
        for place, container in enumerate(containers)
        if place >= len(init) or container.restart_policy == "Always"
    }
    mappings = []
    for resource in sorted(_resources(containers, counts)):
        requests = {
            place: name for place in sorted(lasting) if (name := _name(place, containers[place], resource)) in counts
        }
        own = {place: _name(place, init[place], resource) for place in range(len(init)) if place not in lasting}
        short = next((name for name in own.values() if name in counts), "")
        mappings += [_mapping(containers[place], resource, name) for place, name in requests.items()]
        for place in own:
            later = {request: counts[request] for at, request in requests.items() if at >= place}
            mappings += [_mapping(init[place], resource, name) for name in _shared(init[place], resource, later, short)]
    return mappings


def _resources(containers: list[Container], counts: Mapping[str, int]) -> set[str]:
    """Resources that the claim is about."""
    return {
        resource
        for place, container in enumerate(containers)
        for resource in container.resources.requests
        if _name(place, container, resource) in counts
    }


def _name(place: int, container: Container, resource: str) -> str:
    """The name of the container's request, "" if it does not need the resource."""
    requests = container.resources.requests
    return f"container-{place}-request-{sorted(requests).index(resource)}" if resource in requests else ""


def _shared(container: Container, resource: str, later: Mapping[str, int], short: str) -> Iterator[str]:
    """The requests whose devices an init container uses: those of later ones as far as needed, then those for such."""
    needed = parse_quantity(container.resources.requests.get(resource, 0)) // NANO_PER_UNIT
    for request, count in later.items():
        if needed <= 0:
            return
        yield request
        needed -= count
    if needed > 0 and short:
        yield short


def _mapping(container: Container, resource: str, request: str) -> ContainerExtendedResourceRequest:
    return ContainerExtendedResourceRequest(container_name=container.name, resource_name=resource, request_name=request)
