"""Services that say what is ignored or about to go. Upstream: pkg/api/service/warnings.go (v1.36)."""

from __future__ import annotations

from collections.abc import Iterator

from bayplan.apiserver.admitting.defaults.services import EXTERNAL_NAME
from bayplan.apiserver.admitting.documents import Document
from bayplan.apiserver.admitting.validation.services import OLD_TOPOLOGY_HINTS, TOPOLOGY_MODE
from bayplan.apiserver.admitting.warnings.addresses import warn_of_address, warn_of_network


def warn_of_service(service: Document, _old: Document | None) -> Iterator[str]:
    spec = service["spec"]
    if OLD_TOPOLOGY_HINTS in service["metadata"].get("annotations", {}):
        yield f"annotation {OLD_TOPOLOGY_HINTS} is deprecated, please use {TOPOLOGY_MODE} instead"
    addresses = spec.get("clusterIPs", [])
    is_headless = spec.get("clusterIP") == "None" or addresses == ["None"]
    external = spec.get("externalIPs", ())
    if not is_headless:
        for position, address in enumerate(addresses):
            yield from warn_of_address(address, f"spec.clusterIPs[{position}]")
    else:
        if spec.get("loadBalancerIP"):
            yield "spec.loadBalancerIP is ignored for headless services"
        if external:
            yield "spec.externalIPs is ignored for headless services"
        if spec.get("sessionAffinity") != "None":
            yield "spec.SessionAffinity is ignored for headless services"
    for position, address in enumerate(external):
        yield from warn_of_address(address, f"spec.externalIPs[{position}]")
    if external and not is_headless and spec["type"] != EXTERNAL_NAME:
        yield "spec.externalIPs is deprecated and may no longer be implemented in some clusters"
    if spec.get("loadBalancerIP"):
        yield from warn_of_address(spec["loadBalancerIP"], "spec.loadBalancerIP")
    for position, network in enumerate(spec.get("loadBalancerSourceRanges", ())):
        yield from warn_of_network(network, f"spec.loadBalancerSourceRanges[{position}]")
    if external and spec["type"] == EXTERNAL_NAME:
        yield f'spec.externalIPs is ignored when spec.type is "{EXTERNAL_NAME}"'
    if spec.get("externalName") and spec["type"] != EXTERNAL_NAME:
        yield f'spec.externalName is ignored when spec.type is not "{EXTERNAL_NAME}"'
    if spec.get("trafficDistribution") == "PreferClose":
        yield 'spec.trafficDistribution: "PreferClose" is deprecated; use "PreferSameZone"'
