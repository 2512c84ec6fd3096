"""Who led when, and who wrote what meanwhile: read from the log of the proxies in front of one API server.

The Lease as the server has it decides: a write is a leader's if its process held the Lease when the request came, by a
renewal that the server had taken and that had not run out. What the processes think of themselves does not count.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import NamedTuple

from tests.live.records import Exchange, Log


class Renewal(NamedTuple):
    """A write to the Lease that the server took."""

    at: float
    who: str  # the client that wrote it
    holder: str  # empty when it is given back
    ends: float  # when it runs out

    @classmethod
    def of(cls, write: Exchange) -> Renewal:
        spec = write.document["spec"]
        at = next(answer.at for answer in write.answers if answer.ok)
        return cls(at, write.who, spec["holderIdentity"], at + spec["leaseDurationSeconds"])


def renewals(log: Log) -> list[Renewal]:
    """In the order in which the server took them."""
    return sorted(Renewal.of(write) for write in log.lease_writes() if write.took_effect)


def takeovers(log: Log) -> list[Renewal]:
    """The first renewal of each reign."""
    found: list[Renewal] = []
    before = ""
    for renewal in renewals(log):
        if renewal.holder and renewal.holder != before:
            found.append(renewal)
        before = renewal.holder
    return found


def check_one_leader(log: Log, slack_s: float = 0.0) -> None:
    """Nobody wrote anything but the Lease, and events about it, unless it held the Lease.

    `slack_s` is by how much the log may be late, on a machine that has more to do than it can.
    """
    known = renewals(log)
    leases = {*map(id, log.lease_writes())}
    for write in log.exchanges:
        if write.method == "GET" or id(write) in leases or "/namespaces/kube-system/events" in write.path:
            continue
        problem = _objection(known, write.who, write.at)
        assert not problem or not _objection(known, write.who, write.at - slack_s), f"{problem}: {write}"


def _objection(known: list[Renewal], who: str, at: float) -> str:
    """Why it is not for this client to write anything at this time; empty if it leads."""
    position = bisect_right(known, at, key=lambda renewal: renewal.at)
    if not position:
        return "before anybody led"
    last = known[position - 1]
    if last.who != who:
        return f"{last.who} led"
    if not last.holder:
        return "the Lease was given back"
    return "" if at <= last.ends else f"{at - last.ends:.3f} s after the Lease had ended"
