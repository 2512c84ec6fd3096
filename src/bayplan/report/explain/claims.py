"""The devices of a pod's claims: what it has, what it could have, and what stands in the way of the rest."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from bayplan.report.answers.parts import Heading, Part, Sentence, Table
from bayplan.report.words import counted, examples, listed

Plain = Mapping[str, Any]
_EXAMPLES = 3


def claim_parts(plain: Plain) -> Iterator[Part]:
    """A table of devices for each claim that has none yet, and a sentence for each that has."""
    for claim in plain.get("claims", ()):
        if "allocated" in claim:
            devices = [each["device"] for each in claim["allocated"]]
            used = f", used by {listed(claim['usedBy'], _EXAMPLES)}" if claim["usedBy"] else ", not in use"
            yield Sentence(f"Claim {claim['claim']} has {listed(devices, _EXAMPLES)}{used}.")
            yield from _not_ready(claim["allocated"])
            continue
        yield Heading(f"Devices for {'claim ' if '/' in claim['claim'] else ''}{claim['claim']}")
        yield from _requests(claim["requests"])
        for constraint in claim["constraints"]:
            ((kind, attribute),) = constraint.items()
            rule = "All of them must have" if kind == "matchAttribute" else "No two of them may have"
            yield Sentence(f"{rule} the same {attribute}.")


def _requests(requests: Sequence[Plain]) -> Iterator[Part]:
    rows = []
    for request in requests:
        wants = "all" if request["mode"] == "All" else str(request["count"])
        groups = request["devices"] or [{"reason": "there are none", "count": 0, "devices": []}]
        for place, group in enumerate(groups):
            shown = [_named(each) for each in group["devices"]]
            named = examples(shown, _EXAMPLES)
            if group["count"] > len(shown) > _EXAMPLES:
                named = f"{', '.join(shown[:_EXAMPLES])}, +{group['count'] - _EXAMPLES:,}"
            first = place == 0
            lead = [request["request"], wants] if first else ["", ""]
            rows.append([*lead, f"{group['count']:,}", group["reason"], named])
    yield Table(
        ("request", "wanted", "devices", "outcome", "which"),
        rows,
        numeric=frozenset({"devices"}),
        flexible=frozenset({"outcome", "which"}),
    )
    for request in requests:
        yield from _too_few(request)
    yield from _alternatives(requests)
    total = sum(group["count"] for group in requests[0]["devices"]) if requests else 0
    yield Sentence(f"{counted(total, 'device')} checked on all nodes; all requests must be met together on one node.")


def _alternatives(requests: Sequence[Plain]) -> Iterator[Part]:
    """Lists of which the first that is available counts."""
    lists: dict[str, list[str]] = {}
    for request in requests:
        parent, slash, _ = request["request"].partition("/")
        if slash:
            lists.setdefault(parent, []).append(request["request"])
    for parent, names in lists.items():
        if len(names) > 1:
            yield Sentence(f"Request {parent}: the first available of {listed(names)} is used.")


def _too_few(request: Plain) -> Iterator[Part]:
    """Where the request comes closest to what it wants, if that is not enough."""
    most, wanted = request["mostAvailable"], request["count"]
    if most is not None and most["devices"] < wanted:
        yield Sentence(
            f"Request {request['request']}: {most['node']} has the most available, {most['devices']:,} of {wanted:,}."
        )


def _not_ready(devices: Sequence[Plain]) -> Iterator[Part]:
    """A pod is bound when all conditions of its devices hold."""
    for each in devices:
        if "failed" in each:
            yield Sentence(f"{each['device']} will not become ready: {listed(each['failed'], _EXAMPLES)}.")
        elif "waitsFor" in each:
            yield Sentence(f"{each['device']} is not ready yet: {listed(each['waitsFor'], _EXAMPLES)}.")


def _named(device: Plain) -> str:
    held = device.get("heldBy")
    return f"{device['device']} ({listed(held, 2)})" if held else str(device["device"])
