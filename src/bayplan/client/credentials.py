"""Credentials that change while a client runs: files that somebody rewrites, and plugins that are run.

Takes paths or the description of a plugin; gives what `Credentials` promises. Files are looked at every minute, plugins
are run again when what they gave expires; both at once when the server rejects them.
"""

from __future__ import annotations

import asyncio
import ssl
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Any, Final

import msgspec

from bayplan.client.connection import NOBODY, ClientCertificate, Credential, CredentialsFailed, TlsSettings
from bayplan.client.kubeconfig import ExecPlugin

_REREAD_SECONDS: Final = 60.0
_EXEC_INFO: Final = "KUBERNETES_EXEC_INFO"
_FOREVER: Final = float("inf")
_NOW: Final = float("-inf")


class FileCredentials:
    """A token, or a certificate and its key, in files that may be replaced at any time.

    Args:
        current: what they hold now.
        load: reads them again; an OSError or ValueError leaves what was read before.
    """

    def __init__(self, current: Credential, load: Callable[[], Credential]) -> None:
        self._load = load
        self.current = current
        self.fresh_until = time.monotonic() + _REREAD_SECONDS

    async def renew(self) -> None:
        self._reload()

    async def rejected(self, used: Credential) -> bool:
        if self.current == used:
            self._reload()
        return self.current != used

    def _reload(self) -> None:
        self.fresh_until = time.monotonic() + _REREAD_SECONDS
        try:
            self.current = self._load()
        except (OSError, ValueError):
            return  # about to be replaced, perhaps


def bearer(token: str) -> str:
    return f"Bearer {token}"


def token_in(path: str) -> str:
    """The token that a file holds; raises OSError, or ValueError if there is none."""
    token = Path(path).read_text(encoding="utf-8").strip()
    if not token:
        raise ValueError("the file is empty")
    return token


class ExecCredentials:
    """Credentials that a plugin gives: a program that prints an ExecCredential.

    Args:
        plugin: what to run.
        cluster: what the plugin is told about the cluster; None if it does not want to know.
        environ: of this process; the plugin's own variables are added.
    """

    def __init__(self, plugin: ExecPlugin, cluster: Mapping[str, Any] | None, environ: Mapping[str, str]) -> None:
        self._plugin = plugin
        self._cluster = cluster
        self._environ = environ
        self._running: asyncio.Task[None] | None = None
        self.current = NOBODY
        self.fresh_until = _NOW

    async def renew(self) -> None:
        """Runs the plugin; whoever else needs it waits for the same run."""
        if self._running is None:
            self._running = asyncio.ensure_future(self._run())
            self._running.add_done_callback(self._finished)
        await asyncio.shield(self._running)

    async def rejected(self, used: Credential) -> bool:
        if self.current == used:
            await self.renew()
        return self.current != used

    def _finished(self, run: asyncio.Task[None]) -> None:
        self._running = None
        if not run.cancelled():
            run.exception()  # whoever waits has seen it

    async def _run(self) -> None:
        status = _status_in(await self._output(), self._plugin.api_version)
        certificate = None
        if status.certificate:
            certificate = _checked(ClientCertificate(status.certificate.encode(), status.key.encode()))
        self.current = Credential(bearer(status.token) if status.token else "", certificate)
        self.fresh_until = _FOREVER if status.expires is None else time.monotonic() + status.expires - time.time()

    async def _output(self) -> bytes:
        plugin = self._plugin
        is_interactive = _is_interactive(plugin.interactive_mode)
        own = {variable.name: variable.value for variable in plugin.env}
        environ = {**self._environ, **own, _EXEC_INFO: self._info(is_interactive)}
        try:
            process = await asyncio.create_subprocess_exec(
                plugin.command,
                *plugin.args,
                env=environ,
                stdin=None if is_interactive else asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
            )
        except OSError as error:
            raise CredentialsFailed(self._not_started(error)) from None
        try:
            output, _ = await process.communicate()
        except asyncio.CancelledError:
            with suppress(ProcessLookupError):
                process.kill()
            await process.wait()
            raise
        if process.returncode:
            raise CredentialsFailed(f"exec: executable {plugin.command} failed with exit code {process.returncode}")
        return output

    def _info(self, is_interactive: bool) -> str:
        spec: dict[str, Any] = {"interactive": is_interactive}
        if self._cluster is not None:
            spec["cluster"] = self._cluster
        info = {"kind": "ExecCredential", "apiVersion": self._plugin.api_version, "spec": spec}
        return msgspec.json.encode(info).decode()

    def _not_started(self, error: OSError) -> str:
        if not isinstance(error, FileNotFoundError):
            return f"exec: {error.strerror}: {self._plugin.command}"
        hint = f"\n\n{_printable(self._plugin.install_hint)}" if self._plugin.install_hint else ""
        return f"exec: executable {self._plugin.command} not found{hint}"


def _printable(text: str) -> str:
    """Text from a file for a terminal, without escape sequences."""
    return "".join(letter if letter.isprintable() or letter in "\t\n" else f"U+{ord(letter):04X}" for letter in text)


def _checked(certificate: ClientCertificate) -> ClientCertificate:
    try:
        TlsSettings(is_insecure=True).context(certificate)
    except (ssl.SSLError, ValueError) as error:
        raise CredentialsFailed(f"failed parsing client key/certificate: {error}") from None
    return certificate


def _is_interactive(mode: str) -> bool:
    if mode == "Never":
        return False
    is_terminal = sys.stdin is not None and sys.stdin.isatty()
    if mode == "Always" and not is_terminal:
        raise CredentialsFailed("exec plugin cannot support interactive mode: standard input is not a terminal")
    return is_terminal


class _Status(msgspec.Struct):
    token: str = ""
    certificate: str = msgspec.field(default="", name="clientCertificateData")
    key: str = msgspec.field(default="", name="clientKeyData")
    expiration: datetime | None = msgspec.field(default=None, name="expirationTimestamp")

    @property
    def expires(self) -> float | None:
        """In seconds since 1970."""
        return None if self.expiration is None else self.expiration.timestamp()


class _Printed(msgspec.Struct, rename="camel"):
    api_version: str = ""
    status: _Status | None = None


def _status_in(output: bytes, api_version: str) -> _Status:
    try:
        printed = msgspec.json.decode(output, type=_Printed)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise CredentialsFailed(f"decoding stdout: {error}") from None
    if printed.api_version != api_version:
        raise CredentialsFailed(
            f"exec plugin is configured to use API version {api_version}, plugin returned version {printed.api_version}"
        )
    status = printed.status
    if status is None:
        raise CredentialsFailed("exec plugin didn't return a status field")
    if not (status.token or status.certificate or status.key):
        raise CredentialsFailed("exec plugin didn't return a token or cert/key pair")
    if bool(status.certificate) != bool(status.key):
        raise CredentialsFailed("exec plugin returned only certificate or key, not both")
    return status
