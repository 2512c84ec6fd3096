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


def check_one_leader(log: Log) -> None:
    """Nobody wrote anything but the Lease, and events about it, unless it held the Lease."""
    known = renewals(log)
    times = [renewal.at for renewal in known]
    leases = {*map(id, log.lease_writes())}
    for write in log.exchanges:
        if write.method == "GET" or id(write) in leases or "/namespaces/kube-system/events" in write.path:
            continue
        last = known[bisect_right(times, write.at) - 1] if known and times[0] <= write.at else None
        assert last is not None, f"before anybody led: {write}"
        assert last.who == write.who, f"{last.who} led: {write}"
        assert last.holder, f"the Lease was given back: {write}"
        assert write.at <= last.ends, f"{write.at - last.ends:.3f} s after the Lease had ended: {write}"
