"""What drivers are told about allocated devices: the opaque configuration of classes and of the claim itself.

Takes a claim, the requests for which devices were allocated, and the device classes; gives the list that an allocation
has. Does not look into it. Upstream: structured/internal/incubating/allocator_incubating.go (v1.36, v1.37), where the
configs of an allocation are filled in.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import NamedTuple

from bayplan.core.release import Release
from bayplan.model.resource_claims import Configuration, DeviceClass, DeviceRequest, ResourceClaim


class _Granted(NamedTuple):
    """A request of a claim as it was granted: one of several alternatives has both names in its own."""

    request: str
    name: str  # as allocated devices name it: `gpu`, or `gpu/large`
    device_class: str

    def is_among(self, names: Collection[str]) -> bool:
        return self.request in names or self.name in names


def configuration(
    claim: ResourceClaim, allocated: Collection[str], classes: Mapping[str, DeviceClass], release: Release
) -> list[Configuration]:
    """First what classes say, each once with all requests for it, then what the claim says about these requests."""
    granted = [one for request in claim.spec.devices.requests for one in _granted(request, allocated)]
    requests_of: dict[str, list[str]] = {}
    for request in granted:
        requests_of.setdefault(request.device_class, []).append(request.name)
    made = [
        {"source": "FromClass", "requests": names, **config}
        for device_class, names in requests_of.items()
        if device_class in classes
        for config in classes[device_class].spec.config
    ]
    for config in claim.spec.devices.config:
        named = config.get("requests", [])
        times = sum(request.is_among(named) for request in granted) if named else 1
        made += [{"source": "FromClaim", **config}] * (min(times, 1) if release.configures_briefly else times)
    return [_brief(config, granted) for config in made] if release.configures_briefly else made


def _brief(config: Configuration, granted: Sequence[_Granted]) -> Configuration:
    """No requests mean all of them."""
    if all(request.is_among(config.get("requests", [])) for request in granted):
        return {name: value for name, value in config.items() if name != "requests"}
    return config


def _granted(request: DeviceRequest, allocated: Collection[str]) -> Iterator[_Granted]:
    if request.exactly is not None:
        yield _Granted(request.name, request.name, request.exactly.device_class_name)
    for alternative in request.first_available:
        name = f"{request.name}/{alternative.name}"
        if name in allocated:
            yield _Granted(request.name, name, alternative.device_class_name)
