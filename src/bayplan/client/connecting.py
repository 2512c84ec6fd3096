"""A client for the cluster that the command line, the environment or the pod around us names.

Takes a kubeconfig and a context, or nothing: then KUBECONFIG, then the file in the home directory, then what a pod has.
Connects to nothing yet. Bad input is an `InvalidObject` that names file, object and field.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Final

from bayplan.client.connection import HTTPS, Address, Connection, Credential, TlsSettings, address_of
from bayplan.client.contexts import connection_of
from bayplan.client.credentials import FileCredentials, bearer, token_in
from bayplan.client.http import HttpClient
from bayplan.client.kubeconfig import read_kubeconfig
from bayplan.client.proxy_choice import proxy_from_environment
from bayplan.model.errors import Fault, InvalidObject

SERVICE_ACCOUNT: Final = Path("/var/run/secrets/kubernetes.io/serviceaccount")
_HOST: Final = "KUBERNETES_SERVICE_HOST"
_NOWHERE: Final = (
    "no cluster to connect to: there is no kubeconfig (--kubeconfig, KUBECONFIG, ~/.kube/config), and bayplan is not "
    "running in a pod (KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not defined)"
)


def connect(
    kubeconfig: str | None = None,
    context: str | None = None,
    *,
    server: str | None = None,
    environ: Mapping[str, str] = os.environ,
) -> HttpClient:
    """A client; it connects when it is first used, to `server` where that is given, whatever else is said."""
    return HttpClient(find_connection(kubeconfig, context, environ, server=server))


def find_connection(
    kubeconfig: str | None,
    context: str | None,
    environ: Mapping[str, str] = os.environ,
    service_account: Path = SERVICE_ACCOUNT,
    server: str | None = None,
) -> Connection:
    """Where the cluster is, and as whom to ask it."""
    config = read_kubeconfig(kubeconfig or None, environ)
    if config.is_empty and not kubeconfig and not context:
        return _in_cluster(environ, service_account) if server is None else _at(server)
    if server is not None:
        for cluster in config.clusters.values():
            cluster.value.server = server
    return connection_of(config, context, environ)


def is_cluster_named(environ: Mapping[str, str] = os.environ) -> bool:
    """Whether there is a cluster to connect to without being told which."""
    return bool(environ.get(_HOST)) or not read_kubeconfig(None, environ).is_empty


def current_namespace(
    kubeconfig: str | None,
    context: str | None,
    environ: Mapping[str, str] = os.environ,
    service_account: Path = SERVICE_ACCOUNT,
) -> str:
    """The namespace of the context, or of the pod that this runs in; "" if neither has one."""
    config = read_kubeconfig(kubeconfig or None, environ)
    entry = config.contexts.get(context or config.current_context)
    if entry is not None:
        return entry.value.namespace
    try:
        return (service_account / "namespace").read_text(encoding="utf-8").strip() if config.is_empty else ""
    except OSError:
        return ""


def _at(server: str) -> Connection:
    """With nothing but an address."""
    try:
        return Connection(address_of(server))
    except ValueError as error:
        raise InvalidObject([Fault("", "", server, str(error))]) from None


def _in_cluster(environ: Mapping[str, str], service_account: Path) -> Connection:
    """As a pod: with its service account, whose token is replaced every hour or so."""
    host, port = environ.get(_HOST, ""), environ.get("KUBERNETES_SERVICE_PORT", "")
    if not host or not port.isdecimal():
        raise InvalidObject([Fault("", "", "", _NOWHERE)])
    token_path, authorities = service_account / "token", service_account / "ca.crt"
    address = Address(HTTPS, host, int(port))
    try:
        tls = TlsSettings(authorities.read_bytes())
        tls.context()
        credentials = FileCredentials(_token(token_path), partial(_token, token_path))
        return Connection(address, credentials, tls, proxy_from_environment(address, environ))
    except (OSError, ValueError) as error:
        raise InvalidObject([Fault(str(service_account), "", "", f"in-cluster configuration: {error}")]) from None


def _token(path: Path) -> Credential:
    return Credential(bearer(token_in(str(path))))
