"""One context of a kubeconfig as a `Connection`, judged as kubectl judges it.

Takes a `Kubeconfig`, the name of a context and the environment; reads the files that the context's cluster and user
name. All faults are reported at once, with file, object and field. As with kubectl, a user's credentials are not sent
over a plain connection.
"""

from __future__ import annotations

import base64
import binascii
import ssl
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from bayplan.client.connection import (
    HTTPS,
    PROXY_SCHEMES,
    Address,
    ClientCertificate,
    Connection,
    Credential,
    Credentials,
    FixedCredentials,
    TlsSettings,
    address_of,
    basic_authorization,
)
from bayplan.client.credentials import ExecCredentials, FileCredentials, bearer, token_in
from bayplan.client.kubeconfig import AuthInfo, ClusterEntry, Context, ExecPlugin, Kubeconfig, NamedEntry
from bayplan.client.proxy_choice import proxy_from_environment
from bayplan.model.errors import Fault, InvalidObject

_EXEC_VERSIONS: Final = ("client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1")
_INTERACTIVE_MODES: Final = ("Never", "IfAvailable", "Always")
_EXEC_EXTENSION: Final = "client.authentication.k8s.io/exec"
_EXTRA_NAME: Final = "!#$&'*+.^_`|~"  # of a header's name, besides letters, digits and `-`


def connection_of(config: Kubeconfig, context: str | None, environ: Mapping[str, str]) -> Connection:
    """The connection of a context, or of the current one."""
    files = ", ".join(config.files)
    name = context or config.current_context
    if not name:
        raise InvalidObject([Fault(files, "", "current-context", "not set; choose a context with --context")])
    entry = config.contexts.get(name)
    if entry is None:
        known = ", ".join(sorted(config.contexts)) or "there are none"
        raise InvalidObject([Fault(files, f'context "{name}"', "", f"not found; contexts: {known}")])
    return _Building(config, name, entry, environ).connection()


class _Building:
    """Makes one connection, and collects what stands in the way."""

    def __init__(self, config: Kubeconfig, name: str, context: NamedEntry[Context], environ: Mapping[str, str]) -> None:
        self._environ = environ
        self._faults: list[Fault] = []
        about = f'context "{name}"'
        cluster_name, user_name = context.value.cluster, context.value.user
        cluster, user = config.clusters.get(cluster_name), config.users.get(user_name)
        if cluster is None:
            self._faults.append(Fault(context.file, about, "cluster", _missing("cluster", cluster_name)))
        if user is None:
            self._faults.append(Fault(context.file, about, "user", _missing("user", user_name)))
        self._cluster = cluster or NamedEntry(context.file, ClusterEntry())
        self._user = user or NamedEntry(context.file, AuthInfo())
        self._about_cluster, self._about_user = f'cluster "{cluster_name}"', f'user "{user_name}"'

    def connection(self) -> Connection:
        self._stop_if_faulty()
        address = self._address()
        self._check_cluster()
        self._check_user()
        self._stop_if_faulty()
        is_secure = address.scheme == HTTPS
        tls = self._tls() if is_secure else TlsSettings()
        credentials = self._credentials(tls) if is_secure else FixedCredentials()
        proxy = self._proxy(address)
        self._stop_if_faulty()
        return Connection(address, credentials, tls, proxy, tuple(self._impersonation()))

    def _stop_if_faulty(self) -> None:
        if self._faults:
            raise InvalidObject(self._faults)

    def _cluster_fault(self, field: str, message: str) -> None:
        self._faults.append(Fault(self._cluster.file, self._about_cluster, field, message))

    def _user_fault(self, field: str, message: str) -> None:
        self._faults.append(Fault(self._user.file, self._about_user, field, message))

    # The cluster.

    def _address(self) -> Address:
        server = self._cluster.value.server
        if not server:
            self._cluster_fault("server", "required")
            return Address("", "", 0)
        try:
            address = address_of(server if "://" in server else f"http://{server}")
        except ValueError as error:
            self._cluster_fault("server", f'"{server}": {error}')
            return Address("", "", 0)
        return address

    def _check_cluster(self) -> None:
        cluster = self._cluster.value
        if cluster.certificate_authority and cluster.certificate_authority_data:
            self._cluster_fault("certificate-authority", "cannot be combined with certificate-authority-data")
        if cluster.insecure_skip_tls_verify and (cluster.certificate_authority or cluster.certificate_authority_data):
            self._cluster_fault("insecure-skip-tls-verify", "cannot be combined with a certificate-authority")

    def _tls(self) -> TlsSettings:
        cluster = self._cluster.value
        authorities = self._content(
            self._cluster,
            "certificate-authority",
            cluster.certificate_authority,
            cluster.certificate_authority_data,
            self._cluster_fault,
        )
        settings = TlsSettings(authorities, cluster.insecure_skip_tls_verify, cluster.tls_server_name)
        if authorities:
            self._try(settings, None, "certificate-authority", self._cluster_fault)
        return settings

    def _proxy(self, address: Address) -> Address | None:
        url = self._cluster.value.proxy_url
        try:
            return address_of(url, PROXY_SCHEMES) if url else proxy_from_environment(address, self._environ)
        except ValueError as error:
            if url:
                self._cluster_fault("proxy-url", f'"{url}": {error}')
            else:
                self._faults.append(Fault("", "", "", str(error)))
            return None

    # The user.

    def _check_user(self) -> None:
        user = self._user.value
        for name in ("client-certificate", "client-key"):
            field = name.replace("-", "_")
            if getattr(user, field) and getattr(user, f"{field}_data"):
                self._user_fault(name, f"cannot be combined with {name}-data")
        has_certificate = bool(user.client_certificate or user.client_certificate_data)
        if has_certificate and not (user.client_key or user.client_key_data):
            self._user_fault("client-key", "required with a client certificate")
        if user.token and (user.username or user.password):
            self._user_fault("token", "cannot be combined with username and password")
        if (user.impersonate_uid or user.impersonate_groups or user.impersonate_extra) and not user.impersonate:
            self._user_fault("as", "required with as-uid, as-groups and as-user-extra")
        if user.auth_provider is not None:
            self._user_fault(
                "auth-provider",
                f'"{user.auth_provider.name}" is not supported; use an exec plugin (exec) or a token instead',
            )
        if user.exec is not None:
            self._check_exec(user.exec)

    def _check_exec(self, plugin: ExecPlugin) -> None:
        if not plugin.command:
            self._user_fault("exec.command", "required")
        if plugin.api_version not in _EXEC_VERSIONS:
            self._user_fault("exec.apiVersion", f'"{plugin.api_version}" is not one of {", ".join(_EXEC_VERSIONS)}')
        elif not plugin.interactive_mode and plugin.api_version == _EXEC_VERSIONS[0]:
            self._user_fault("exec.interactiveMode", f"required: one of {', '.join(_INTERACTIVE_MODES)}")
        elif plugin.interactive_mode not in ("", *_INTERACTIVE_MODES):
            self._user_fault(
                "exec.interactiveMode", f'"{plugin.interactive_mode}" is not one of {", ".join(_INTERACTIVE_MODES)}'
            )
        if any(not variable.name for variable in plugin.env):
            self._user_fault("exec.env", "a variable has no name")

    def _credentials(self, tls: TlsSettings) -> Credentials:
        user = self._user.value
        if user.exec is not None and not (user.token or user.token_file or user.username or user.client_certificate):
            return self._exec_credentials(user.exec)
        credential = self._load(tls)
        if user.token_file or user.client_certificate or user.client_key:
            return FileCredentials(credential, partial(self._load_again, tls))
        return FixedCredentials(credential)

    def _load(self, tls: TlsSettings) -> Credential:
        """What the user's fields and files come to now."""
        user = self._user.value
        certificate = self._content(
            self._user, "client-certificate", user.client_certificate, user.client_certificate_data, self._user_fault
        )
        key = self._content(self._user, "client-key", user.client_key, user.client_key_data, self._user_fault)
        own = ClientCertificate(certificate, key) if certificate and key else None
        if own is not None:
            self._try(tls, own, "client-certificate", self._user_fault)
        return Credential(self._authorization(), own)

    def _load_again(self, tls: TlsSettings) -> Credential:
        """Raises ValueError where the files are not fit for use now."""
        self._faults.clear()
        credential = self._load(tls)
        if self._faults:
            raise ValueError(str(self._faults[0]))
        return credential

    def _authorization(self) -> str:
        user = self._user.value
        if user.token_file:
            try:
                return bearer(token_in(self._user.path(user.token_file)))
            except (OSError, ValueError) as error:
                if not user.token:
                    self._user_fault("tokenFile", f"{user.token_file}: {_reason(error)}")
        if user.token:
            return bearer(user.token)
        return basic_authorization(user.username, user.password) if user.username or user.password else ""

    def _exec_credentials(self, plugin: ExecPlugin) -> ExecCredentials:
        if "/" in plugin.command:
            plugin.command = self._user.path(plugin.command)
        plugin.interactive_mode = plugin.interactive_mode or "IfAvailable"
        return ExecCredentials(plugin, self._cluster_info() if plugin.provide_cluster_info else None, self._environ)

    def _cluster_info(self) -> dict[str, Any]:
        """The cluster as an ExecCredential describes it."""
        cluster = self._cluster.value
        extensions = {extension.name: extension.extension for extension in cluster.extensions}
        authorities = self._content(
            self._cluster,
            "certificate-authority",
            cluster.certificate_authority,
            cluster.certificate_authority_data,
            self._cluster_fault,
        )
        info = {
            "server": cluster.server,
            "tls-server-name": cluster.tls_server_name,
            "insecure-skip-tls-verify": cluster.insecure_skip_tls_verify,
            "certificate-authority-data": base64.b64encode(authorities).decode(),
            "proxy-url": cluster.proxy_url,
        }
        config = extensions.get(_EXEC_EXTENSION)
        return {name: value for name, value in info.items() if value} | {"config": config}

    def _impersonation(self) -> list[tuple[str, str]]:
        user = self._user.value
        if not user.impersonate:
            return []
        return [
            ("Impersonate-User", user.impersonate),
            ("Impersonate-Uid", user.impersonate_uid),
            *(("Impersonate-Group", group) for group in user.impersonate_groups),
            *(
                (f"Impersonate-Extra-{quote(name.lower(), safe=_EXTRA_NAME)}", value)
                for name, values in user.impersonate_extra.items()
                for value in values
            ),
        ]

    # Both.

    def _content(
        self, entry: NamedEntry[Any], field: str, path: str, encoded: str, fault: Callable[[str, str], None]
    ) -> bytes:
        """Data in a file or as base64."""
        try:
            if encoded:
                return base64.b64decode(encoded, validate=True)
        except binascii.Error:
            fault(f"{field}-data", "not base64")
        try:
            return Path(entry.path(path)).read_bytes() if path else b""
        except (OSError, ValueError) as error:  # a ValueError: no file has such a name
            fault(field, f"{path}: {_reason(error)}")
        return b""

    def _try(
        self, settings: TlsSettings, own: ClientCertificate | None, field: str, fault: Callable[[str, str], None]
    ) -> None:
        """Certificates that cannot be read are reported before they are used."""
        try:
            settings.context(own)
        except (ssl.SSLError, ValueError, OSError) as error:
            fault(field, f"not a PEM certificate that can be used: {_reason(error)}")


def _missing(kind: str, name: str) -> str:
    return f'{kind} "{name}" not found' if name else "required"


def _reason(error: Exception) -> str:
    if isinstance(error, ssl.SSLError):
        return (error.reason or str(error)).replace("_", " ").lower()
    return (error.strerror or str(error)) if isinstance(error, OSError) else str(error)
