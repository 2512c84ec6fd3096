"""Users of a live cluster: each a ServiceAccount with a token, a kubeconfig and faults of its own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from http.client import HTTPConnection
from pathlib import Path
from typing import Final
from urllib.parse import quote, urlencode, urlsplit

from bayplan.apiserver.http.requests import Answer, Request
from bayplan.apiserver.schema.resources import Resource
from bayplan.testing.live_faults import RequestFaults
from bayplan.testing.live_objects import LiveObjects

_ANSWERED_WITHIN_S: Final = 30.0


class ClusterUser(LiveObjects):
    """Somebody who uses a cluster, over HTTP: what goes wrong with its requests goes wrong with these methods, too.

    A connection that is dropped is a ConnectionError.

    Attributes:
        name: as the cluster knows it: `system:serviceaccount:NAMESPACE:NAME`.
        namespace: where its ServiceAccount is, and where its objects are unless they name another.
        url: the address of the API, for clients that send the token in a header (`Authorization: Bearer …`).
        token: what its requests carry.
        kubeconfig: a file for kubectl and every client that reads one.
        faults: what goes wrong with its requests.
    """

    def __init__(
        self,
        name: str,
        namespace: str,
        address: tuple[str, str],
        kubeconfig: Path,
        faults: RequestFaults,
        served: Callable[[], Sequence[Resource]],
    ) -> None:
        """The address is that of the API and a token; `served` gives what the API serves now."""
        self.name = name
        self.namespace = namespace
        self.url, self.token = address
        self.kubeconfig = kubeconfig
        self.faults = faults
        super().__init__(self._answer, served, namespace)

    def _answer(self, request: Request) -> Answer:
        connection = HTTPConnection(urlsplit(self.url).netloc, timeout=_ANSWERED_WITHIN_S)
        path = f"/{'/'.join(quote(segment, safe='') for segment in request.segments)}?{urlencode(request.query)}"
        headers = {**request.headers, "authorization": f"Bearer {self.token}"}
        try:
            connection.request(request.method, path, request.body, headers)
            answer = connection.getresponse()
            return Answer(answer.status, answer.read())
        finally:
            connection.close()
