"""Every flag that kube-scheduler has: it works, has no effect, or is rejected; the documents say which."""

from __future__ import annotations

import json
import lzma
import re
from pathlib import Path

import click
import pytest
from tests.unit.cli.conftest import Bayplan

from bayplan.cli.main import cli
from bayplan.cli.run import command
from bayplan.cli.upstream_flags import UNUSED_FLAGS, flag_values

#: As `kube-scheduler --help` of v1.36 has them.
KUBE_SCHEDULER = """
    config master write-config-to bind-address cert-dir disable-http2-serving http2-max-streams-per-connection
    permit-address-sharing permit-port-sharing secure-port tls-cert-file tls-cipher-suites tls-curve-preferences
    tls-min-version tls-private-key-file tls-sni-cert-key authentication-kubeconfig authentication-skip-lookup
    authentication-token-webhook-cache-ttl authentication-tolerate-lookup-failure client-ca-file
    requestheader-allowed-names requestheader-client-ca-file requestheader-extra-headers-prefix
    requestheader-group-headers requestheader-uid-headers requestheader-username-headers
    authorization-always-allow-paths authorization-kubeconfig authorization-webhook-cache-authorized-ttl
    authorization-webhook-cache-unauthorized-ttl contention-profiling kube-api-burst kube-api-content-type kube-api-qps
    kubeconfig pod-max-in-unschedulable-pods-duration profiling leader-elect leader-elect-lease-duration
    leader-elect-renew-deadline leader-elect-resource-lock leader-elect-resource-name leader-elect-resource-namespace
    leader-elect-retry-period emulated-version feature-gates min-compatibility-version allow-metric-labels
    allow-metric-labels-manifest disabled-metrics show-hidden-metrics-for-version log-flush-frequency
    log-json-info-buffer-size log-json-split-stream log-text-info-buffer-size log-text-split-stream logging-format v
    vmodule help version
"""
REFUSED = [flag.name for flag in UNUSED_FLAGS if flag.is_refused]
WITHOUT_EFFECT = [flag.name for flag in UNUSED_FLAGS if not flag.is_refused]
GUIDE = Path(__file__).resolve().parents[3] / "docs" / "guide" / "flags.md"
ROW = re.compile(r"^\| `--([a-z0-9-]+)`[^|]*\| (works|no effect|rejected) \|", re.MULTILINE)


def context(*arguments: str) -> click.Context:
    return command.make_context("run", list(arguments), parent=click.Context(cli, **cli.context_settings))


def handling(name: str) -> str:
    if name in REFUSED:
        return "rejected"
    return "no effect" if name in WITHOUT_EFFECT else "works"


def test_every_flag_of_kube_scheduler_is_known() -> None:
    assert set(KUBE_SCHEDULER.split()) - flag_values(context()).keys() == set()


def test_the_table_of_the_docs_is_complete() -> None:
    table = dict(ROW.findall(GUIDE.read_text(encoding="utf-8")))
    assert table == {name: handling(name) for name in KUBE_SCHEDULER.split()}


def test_flags_are_shown_as_kube_scheduler_shows_them(recordings: Path) -> None:
    """As recorded in the story `start`, for the same command line."""
    with lzma.open(recordings / "stories.jsonl.xz", "rt") as lines:
        recorded = next(json.loads(line)["data"]["body"] for line in lines if '"path": "/flagz"' in line)
    given = ("--config=PATH", "--authentication-kubeconfig=PATH", "--authorization-kubeconfig=PATH", "-v=10")
    shown = flag_values(context(*given, "--bind-address=127.0.0.1", "--secure-port=20259"))
    theirs = dict(line.partition(" ")[::2] for line in recorded.splitlines()[3:])
    assert {name: shown[name] for name in theirs} == theirs


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_not_there_is_refused_unless_it_is_the_default(bayplan: Bayplan, name: str, tmp_path: Path) -> None:
    default = next(flag.default for flag in UNUSED_FLAGS if flag.name == name)
    said = bayplan("run", f"--{name}=true")
    assert said.code == 2
    assert f"--{name} is not supported: " in said.err
    assert bayplan("run", f"--{name}={default}", f"--write-config-to={tmp_path / 'file'}").code == 0


@pytest.mark.parametrize("name", WITHOUT_EFFECT)
def test_what_could_change_nothing_is_taken(name: str) -> None:
    assert flag_values(context(f"--{name}=7"))[name] == "7"


@pytest.mark.parametrize(
    ("arguments", "name", "value"),
    [
        (["--leader_elect=false"], "leader-elect", "false"),
        (["--profiling"], "profiling", "true"),
        (["--log-text-split-stream=false", "--logging-format", "json"], "logging-format", "json"),
        (["--authorization-always-allow-paths=/a", "--authorization-always-allow-paths=/b,/c"], None, "[/a,/b,/c]"),
        (["--kube-api-qps=7.5"], "kube-api-qps", "7.5"),
        (["--pod-max-in-unschedulable-pods-duration=90s"], "pod-max-in-unschedulable-pods-duration", "1m30s"),
        (["--emulated-version=kube=1.36"], "emulated-version", "[kube=1.36]"),
        (["--feature-gates=kube:ComponentFlagz=false"], "feature-gates", "kube:ComponentFlagz=false"),
    ],
)
def test_flags_are_taken_as_go_takes_them(arguments: list[str], name: str | None, value: str) -> None:
    assert flag_values(context(*arguments))[name or "authorization-always-allow-paths"] == value


def test_another_version_cannot_be_emulated(bayplan: Bayplan) -> None:
    said = bayplan("run", "--emulated-version=1.35")
    assert (said.code, "bayplan knows 1.36 and 1.37" in said.err) == (2, True)


@pytest.mark.parametrize("flag", ["--version", "--version=raw"])
def test_the_version_is_that_of_the_scheduler(bayplan: Bayplan, flag: str) -> None:
    said = bayplan("run", flag)
    assert said.code == 0
    assert said.out.startswith("Kubernetes v1.37 (bayplan ")
