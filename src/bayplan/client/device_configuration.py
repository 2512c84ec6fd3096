"""What drivers are told about allocated devices: the opaque configuration of classes and of the claim itself.

Takes documents, because the scheduler's own structs leave configuration out; gives the list that an allocation has.
Does not look into it. Upstream: dynamic-resource-allocation/structured, where an allocation's configs are populated
(v1.36).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import NamedTuple

from bayplan.client.documents import Document


class Granted(NamedTuple):
    """A request of a claim as it was granted: one of several alternatives has both names in its own."""

    request: str
    name: str  # as allocated devices name it: `gpu`, or `gpu/large`
    device_class: str


def granted_requests(claim: Document, allocation: Document) -> list[Granted]:
    """The requests for which devices were allocated, in the order of the claim."""
    names = {result["request"] for result in allocation.get("devices", {}).get("results", ())}
    requests = claim.get("spec", {}).get("devices", {}).get("requests", ())
    return [granted for request in requests for granted in _granted(request, names)]


def _granted(request: Document, names: Collection[str]) -> Iterator[Granted]:
    exactly = request.get("exactly")
    if exactly is not None:
        yield Granted(request["name"], request["name"], exactly.get("deviceClassName", ""))
    for alternative in request.get("firstAvailable", ()):
        name = f"{request['name']}/{alternative['name']}"
        if name in names:
            yield Granted(request["name"], name, alternative.get("deviceClassName", ""))


def configuration(
    claim: Document, granted: Sequence[Granted], of_class: Mapping[str, Sequence[Document]]
) -> list[Document]:
    """First what classes say, each once with all requests for it, then what the claim says about these requests."""
    requests_of: dict[str, list[str]] = {}
    for request in granted:
        requests_of.setdefault(request.device_class, []).append(request.name)
    made = [
        {"source": "FromClass", "requests": names, **config}
        for device_class, names in requests_of.items()
        for config in of_class.get(device_class, ())
    ]
    for config in claim.get("spec", {}).get("devices", {}).get("config", ()):
        named = config.get("requests", [])
        times = sum(request.request in named or request.name in named for request in granted) if named else 1
        made += [{"source": "FromClaim", **config}] * times
    return made
