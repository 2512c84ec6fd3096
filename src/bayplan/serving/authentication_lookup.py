"""Whose certificates count, as the cluster says: the ConfigMap extension-apiserver-authentication of kube-system.

Takes a client that may read it, and tells `Trust` what it says: at the start, and again from time to time, because
authorities are replaced. Whoever may not read it is told what is missing, once, and goes on without. What flags say is
not looked up. Upstream: apiserver/pkg/server/options/authentication.go (v1.36).
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from bayplan.client.contract import ApiClient, TransportError
from bayplan.client.loggers import structlog
from bayplan.model.errors import Fault, InvalidObject
from bayplan.serving.users import ProxyHeaders, Trust

_PATH: Final = "/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication"
_EVERY_S, _AFTER_FAILURE_S = 60.0, 10.0
_LIMIT_S: Final = 10.0
_OK: Final = 200
_FORBIDDEN: Final = 403
_HOW_TO: Final = (
    "Unable to get configmap/extension-apiserver-authentication in kube-system.  Usually fixed by "
    "'kubectl create rolebinding -n kube-system ROLEBINDING_NAME --role=extension-apiserver-authentication-reader "
    "--serviceaccount=YOUR_NS:YOUR_SA'"
)
_GOES_ON: Final = "Continuing without authentication configuration. This may treat all requests as anonymous."
_log = structlog.get_logger("access")


@dataclass(slots=True)
class AuthenticationLookup:
    """Runs until it is canceled."""

    client: ApiClient
    trust: Trust
    wants_clients: bool = True
    wants_proxies: bool = True
    tolerates_failure: bool = True
    _reported: str = ""

    async def run(self) -> None:
        """Raises InvalidObject if it fails and that is not tolerated."""
        while True:
            problem = await self._look()
            if problem and not self.tolerates_failure:
                raise InvalidObject([Fault("", "configmap extension-apiserver-authentication", "", problem)])
            if problem and problem != self._reported:
                _log.warning(_HOW_TO if problem.endswith(f"({_FORBIDDEN})") else problem)
                _log.warning(_GOES_ON)
            self._reported = problem
            self.tolerates_failure = True  # it was there once
            await asyncio.sleep(_AFTER_FAILURE_S if problem else _EVERY_S)

    async def _look(self) -> str:
        """What went wrong, or nothing."""
        try:
            response = await self.client.request("GET", _PATH, timeout_s=_LIMIT_S)
        except TransportError as error:
            return str(error)
        if response.status != _OK:
            return f"{_message(response.body)} ({response.status})"
        try:
            self._believe(msgspec.json.decode(response.body, type=_ConfigMap).data)
        except (ValueError, msgspec.MsgspecError) as error:
            return f"configmap/extension-apiserver-authentication in kube-system cannot be used: {error}"
        return ""

    def _believe(self, data: Mapping[str, str]) -> None:
        clients, proxies = data.get("client-ca-file", ""), data.get("requestheader-client-ca-file", "")
        if clients and self.wants_clients:
            self.trust.believe_clients(clients.encode())
        if proxies and self.wants_proxies:
            headers = ProxyHeaders(
                users=_listed(data, "username-headers"),
                groups=_listed(data, "group-headers"),
                uids=_listed(data, "uid-headers"),
                extra_prefixes=_listed(data, "extra-headers-prefix"),
                allowed_names=_listed(data, "allowed-names"),
            )
            self.trust.believe_proxies(proxies.encode(), headers)


class _ConfigMap(msgspec.Struct):
    data: dict[str, str] = {}


def _listed(data: Mapping[str, str], name: str) -> tuple[str, ...]:
    text = data.get(f"requestheader-{name}", "")
    return tuple(msgspec.json.decode(text, type=list[str])) if text else ()


def _message(body: bytes) -> str:
    try:
        document = msgspec.json.decode(body, type=dict[str, Any])
    except msgspec.MsgspecError:
        return "no answer that can be read"
    return str(document.get("message", ""))
