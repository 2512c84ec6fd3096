"""Credentials that change: files that are replaced, and plugins that are run."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest
from tests.support.authorities import Authority

from bayplan.client.connection import Credential, CredentialsFailed
from bayplan.client.credentials import ExecCredentials, FileCredentials
from bayplan.client.event_loop import run_event_loop
from bayplan.client.kubeconfig import EnvironmentVariable, ExecPlugin

VERSION = "client.authentication.k8s.io/v1"
Run = Callable[[Coroutine[Any, Any, None]], None]


@pytest.fixture(params=[asyncio.run, run_event_loop], ids=["asyncio", "uvloop"])
def run(request: pytest.FixtureRequest) -> Run:
    chosen: Run = request.param
    return chosen


def printing(folder: Path, status: Any, version: str = VERSION) -> str:
    """A program that prints an ExecCredential, and counts its runs in a file."""
    document = json.dumps({"apiVersion": version, "kind": "ExecCredential", "status": status})
    return program(folder, f"cat <<'END'\n{document}\nEND")


def program(folder: Path, script: str) -> str:
    file = folder / "plugin"
    file.write_text(f'#!/bin/sh\necho run >> "{folder}/runs"\n{script}\n')
    file.chmod(0o755)
    return str(file)


def runs(folder: Path) -> int:
    return len((folder / "runs").read_text().splitlines())


def credentials(command: str, cluster: dict[str, Any] | None = None, **options: Any) -> ExecCredentials:
    options = {"api_version": VERSION, "interactive_mode": "Never", **options}
    return ExecCredentials(ExecPlugin(command=command, **options), cluster, os.environ)


def test_a_token_from_a_plugin_is_kept(run: Run, tmp_path: Path) -> None:
    async def main() -> None:
        given = credentials(printing(tmp_path, {"token": "abc"}))
        await given.renew()
        assert given.current == ("Bearer abc", None)
        assert given.fresh_until == float("inf")

    run(main())


def test_a_certificate_from_a_plugin(run: Run, tmp_path: Path) -> None:
    ours = Authority().sign("jane")
    status = {"clientCertificateData": ours.certificate.decode(), "clientKeyData": ours.key.decode()}

    async def main() -> None:
        given = credentials(printing(tmp_path, status))
        await given.renew()
        assert given.current == ("", (ours.certificate, ours.key))

    run(main())


@pytest.mark.parametrize(("expires", "is_fresh"), [("2020-01-01T00:00:00Z", False), ("2999-01-01T00:00:00Z", True)])
def test_what_a_plugin_gave_expires(run: Run, tmp_path: Path, expires: str, is_fresh: bool) -> None:
    async def main() -> None:
        given = credentials(printing(tmp_path, {"token": "abc", "expirationTimestamp": expires}))
        await given.renew()
        assert (asyncio.get_running_loop().time() < given.fresh_until) is is_fresh

    run(main())


def test_all_who_need_a_token_at_once_wait_for_one_run(run: Run, tmp_path: Path) -> None:
    async def main() -> None:
        given = credentials(printing(tmp_path, {"token": "abc"}))
        await asyncio.gather(*(given.renew() for _ in range(5)))
        assert runs(tmp_path) == 1
        await given.renew()
        assert runs(tmp_path) == 2

    run(main())


def test_who_stops_waiting_does_not_stop_the_plugin_for_others(run: Run, tmp_path: Path) -> None:
    async def main() -> None:
        given = credentials(printing(tmp_path, {"token": "abc"}))
        first, second = asyncio.ensure_future(given.renew()), asyncio.ensure_future(given.renew())
        await asyncio.sleep(0)
        first.cancel()
        await second
        assert given.current.authorization == "Bearer abc"
        assert runs(tmp_path) == 1

    run(main())


def test_a_rejected_token_is_asked_for_again_once(run: Run, tmp_path: Path) -> None:
    async def main() -> None:
        given = credentials(printing(tmp_path, {"token": "old"}))
        await given.renew()
        old = given.current
        printing(tmp_path, {"token": "new"})
        assert await given.rejected(old)
        assert given.current.authorization == "Bearer new"
        assert await given.rejected(old)  # by another request that was under way: the new token is there already
        assert runs(tmp_path) == 2
        assert not await given.rejected(given.current)

    run(main())


def test_what_a_plugin_is_told(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/me")
    script = f'echo "$KUBERNETES_EXEC_INFO" > {tmp_path}/info\necho "$1 $STAGE $HOME" > {tmp_path}/given\nexit 3'

    async def main() -> None:
        given = credentials(
            program(tmp_path, script),
            {"server": "https://x"},
            args=["login"],
            env=[EnvironmentVariable("STAGE", "test")],
        )
        with pytest.raises(CredentialsFailed, match="failed with exit code 3"):
            await given.renew()
        assert json.loads((tmp_path / "info").read_text()) == {
            "apiVersion": VERSION,
            "kind": "ExecCredential",
            "spec": {"interactive": False, "cluster": {"server": "https://x"}},
        }
        assert (tmp_path / "given").read_text() == "login test /home/me\n"

    run(main())


@pytest.mark.parametrize(
    ("script", "text"),
    [
        ("echo nonsense", "decoding stdout: "),
        ("echo '{}'", f"exec plugin is configured to use API version {VERSION}, plugin returned version "),
        (f'echo \'{{"apiVersion":"{VERSION}"}}\'', "exec plugin didn't return a status field"),
        (f'echo \'{{"apiVersion":"{VERSION}","status":{{}}}}\'', "exec plugin didn't return a token or cert/key pair"),
        (
            f'echo \'{{"apiVersion":"{VERSION}","status":{{"clientKeyData":"x"}}}}\'',
            "exec plugin returned only certificate or key, not both",
        ),
        ("exit 7", "plugin failed with exit code 7"),
    ],
)
def test_a_plugin_that_fails(run: Run, tmp_path: Path, script: str, text: str) -> None:
    async def main() -> None:
        with pytest.raises(CredentialsFailed) as caught:
            await credentials(program(tmp_path, script)).renew()
        assert text in str(caught.value)

    run(main())


def test_a_plugin_that_is_not_installed(run: Run) -> None:
    async def main() -> None:
        with pytest.raises(CredentialsFailed) as caught:
            await credentials("no-such-plugin", install_hint="get it \x1b[1mhere").renew()
        assert str(caught.value) == "exec: executable no-such-plugin not found\n\nget it U+001B[1mhere"

    run(main())


def test_a_plugin_that_must_ask_needs_a_terminal(run: Run, tmp_path: Path) -> None:
    async def main() -> None:
        given = credentials(printing(tmp_path, {"token": "abc"}), interactive_mode="Always")
        with pytest.raises(CredentialsFailed, match="standard input is not a terminal"):
            await given.renew()

    run(main())


def test_a_file_is_read_again_when_its_content_is_rejected_or_old(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("one")
    given = FileCredentials(Credential("one"), lambda: Credential(file.read_text()))

    async def main() -> None:
        assert not await given.rejected(given.current)
        file.write_text("two")
        assert given.current == Credential("one")
        assert await given.rejected(given.current)
        assert given.current == Credential("two")
        file.unlink()
        await given.renew()
        assert given.current == Credential("two")
        file.write_text("three")
        given.fresh_until = 0
        await given.renew()
        assert given.current == Credential("three")
        assert given.fresh_until > asyncio.get_running_loop().time() + 50

    asyncio.run(main())
