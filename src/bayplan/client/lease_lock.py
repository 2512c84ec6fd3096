"""A Lease as a lock: read, create and update it, and the event that says who got it.

Takes an `ApiClient`; gives `LeaderElectionRecord`s and raises `LockError` for whatever goes wrong, whether the server
refused or never answered. Keeps the Lease as last read or answered, because an update sends the whole object back with
its resourceVersion: whoever is not up to date is refused. Knows nothing of who should hold it, and no time limits but
those it is given.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import msgspec

from bayplan.client.contract import ApiClient, Response, TransportError
from bayplan.config.schema import LeaderElection
from bayplan.model.durations import format_duration
from bayplan.model.time_units import SECOND
from bayplan.model.timestamps import format_time

_API_VERSION = "coordination.k8s.io/v1"
_AGENT = "leader-election"
_NOT_FOUND = 404

Document = dict[str, Any]


@dataclass(frozen=True, slots=True)
class LeaderElectionRecord:
    """What a Lease says. Times are texts: those that another process wrote are never compared with a clock here."""

    holder: str
    duration_s: int
    acquired: str
    renewed: str
    transitions: int


class LockError(Exception):
    """A request about the Lease failed; the text says how.

    Args:
        doing: what failed, in the words of upstream's log.
        message: why.
    """

    def __init__(self, doing: str, message: str) -> None:
        super().__init__(message)
        self.doing = doing


class LeaseNotFoundError(LockError):
    """There is no such Lease yet."""


class LeaseLock:
    """One Lease, used by one process.

    Args:
        client: where the Lease is.
        election: which Lease; half its renew deadline is how long a request may take.
        component: the scheduler in whose name events are written.
    """

    def __init__(self, client: ApiClient, election: LeaderElection, component: str) -> None:
        self.namespace, self.name = election.resource_namespace, election.resource_name
        self._client = client
        self._component = component
        self._request_limit_s = election.renew_deadline_ns / 2 / SECOND
        self._query = f"?timeout={format_duration(election.renew_deadline_ns // 2)}"
        self._collection = f"/apis/{_API_VERSION}/namespaces/{self.namespace}/leases"
        self._lease: Document = {}

    @property
    def description(self) -> str:
        return f"{self.namespace}/{self.name}"

    async def read(self, limit_s: float) -> LeaderElectionRecord:
        """What the Lease says now. Raises LeaseNotFoundError, LockError."""
        await self._exchange("Error retrieving lease lock", "GET", f"/{self.name}", None, limit_s)
        return _record(self._lease)

    async def create(self, record: LeaderElectionRecord, limit_s: float) -> None:
        """Raises LockError, also if somebody else was faster."""
        metadata = {"name": self.name, "namespace": self.namespace}
        lease = {"kind": "Lease", "apiVersion": _API_VERSION, "metadata": metadata, "spec": _spec(record)}
        await self._exchange("Error initially creating lease lock", "POST", "", lease, limit_s)

    async def update(self, record: LeaderElectionRecord, limit_s: float) -> None:
        """Raises LockError, also if the Lease has changed since it was last read or answered."""
        lease = {**self._lease, "spec": _spec(record)}
        await self._exchange("Failed to update lease", "PUT", f"/{self.name}", lease, limit_s)

    async def announce(self, message: str, now_ns: int) -> None:
        """Write an event about the Lease; raises LockError. Upstream uses core/v1 for this one, unlike for pods."""
        path = f"/api/v1/namespaces/{self.namespace}/events"
        doing = "Server rejected event"
        try:
            response = await self._client.request("POST", path, msgspec.json.encode(self._event(message, now_ns)))
        except TransportError as error:
            raise LockError(doing, str(error)) from error
        if not response.ok:
            raise LockError(doing, _message(response))

    async def _exchange(self, doing: str, method: str, path: str, body: Document | None, limit_s: float) -> None:
        if limit_s <= 0:
            raise LockError(doing, "context deadline exceeded")
        try:
            response = await self._client.request(
                method,
                f"{self._collection}{path}{self._query}",
                b"" if body is None else msgspec.json.encode(body),
                timeout_s=min(limit_s, self._request_limit_s),
                agent=_AGENT,
            )
        except TransportError as error:
            raise LockError(doing, str(error)) from error
        if not response.ok:
            problem = LeaseNotFoundError if response.status == _NOT_FOUND else LockError
            raise problem(doing, _message(response))
        try:
            self._lease = msgspec.json.decode(response.body, type=Document)
        except msgspec.DecodeError as error:
            raise LockError(doing, f"the answer is not a Lease: {error}") from error

    def _event(self, message: str, now_ns: int) -> Document:
        metadata = self._lease["metadata"]
        moment = format_time(now_ns)
        return {
            "kind": "Event",
            "apiVersion": "v1",
            "metadata": {"name": f"{self.name}.{now_ns:x}", "namespace": self.namespace},
            "involvedObject": {
                "kind": "Lease",
                "namespace": self.namespace,
                "name": self.name,
                "uid": metadata.get("uid", ""),
                "apiVersion": _API_VERSION,
                "resourceVersion": metadata.get("resourceVersion", ""),
            },
            "reason": "LeaderElection",
            "message": message,
            "source": {"component": self._component},
            "firstTimestamp": moment,
            "lastTimestamp": moment,
            "count": 1,
            "type": "Normal",
            "eventTime": None,
            "reportingComponent": self._component,
            "reportingInstance": "",
        }


def _spec(record: LeaderElectionRecord) -> Document:
    return {
        "holderIdentity": record.holder,
        "leaseDurationSeconds": record.duration_s,
        "acquireTime": record.acquired or None,
        "renewTime": record.renewed or None,
        "leaseTransitions": record.transitions,
    }


def _record(lease: Document) -> LeaderElectionRecord:
    spec = lease.get("spec") or {}
    return LeaderElectionRecord(
        holder=spec.get("holderIdentity") or "",
        duration_s=spec.get("leaseDurationSeconds") or 0,
        acquired=spec.get("acquireTime") or "",
        renewed=spec.get("renewTime") or "",
        transitions=spec.get("leaseTransitions") or 0,
    )


def _message(response: Response) -> str:
    """The server's own words, if it has any."""
    try:
        message = msgspec.json.decode(response.body, type=Document).get("message")
    except msgspec.DecodeError:
        message = None
    return message or f"the server answered {response.status}"
