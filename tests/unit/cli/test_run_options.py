"""The command line of `bayplan run`: kube-scheduler's flags, and what they make of the configuration."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.unit.cli.conftest import Bayplan

FILE = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}


def written(bayplan: Bayplan, tmp_path: Path, *arguments: str, file: dict[str, Any] | None = None) -> Any:
    """The configuration that the flags lead to."""
    if file is not None:
        (tmp_path / "given.yaml").write_text(yaml.safe_dump({**FILE, **file}))
        arguments = ("--config", str(tmp_path / "given.yaml"), *arguments)
    target = tmp_path / "written.yaml"
    outcome = bayplan("run", *arguments, "--write-config-to", str(target))
    assert outcome.code == 0, outcome.err
    return yaml.safe_load(target.read_text())


@pytest.mark.parametrize(
    ("flag", "field", "value"),
    [
        ("--leader-elect=false", "leaderElect", False),
        ("--leader-elect", "leaderElect", True),
        ("--leader-elect=T", "leaderElect", True),
        ("--leader-elect-lease-duration=1m", "leaseDuration", "1m0s"),
        ("--leader-elect-renew-deadline=5s", "renewDeadline", "5s"),
        ("--leader-elect-retry-period=500ms", "retryPeriod", "500ms"),
        ("--leader-elect-resource-name=mine", "resourceName", "mine"),
        ("--leader-elect-resource-namespace=there", "resourceNamespace", "there"),
    ],
)
def test_flags_of_the_election_win_over_the_file(
    bayplan: Bayplan, tmp_path: Path, flag: str, field: str, value: object
) -> None:
    file = {"leaderElection": {"leaderElect": value is False, "resourceName": "theirs"}}
    assert written(bayplan, tmp_path, flag, file=file)["leaderElection"][field] == value


def test_qps_and_burst_count_only_without_a_file(bayplan: Bayplan, tmp_path: Path) -> None:
    flags = ("--kube-api-qps", "7", "--kube-api-burst=9")
    alone = written(bayplan, tmp_path, *flags)["clientConnection"]
    beside = written(bayplan, tmp_path, *flags, file={"clientConnection": {"qps": 20}})["clientConnection"]
    assert (alone["qps"], alone["burst"]) == (7, 9)
    assert (beside["qps"], beside["burst"]) == (20, 100)


def test_a_kubeconfig_on_the_command_line_wins_over_the_file(bayplan: Bayplan, tmp_path: Path) -> None:
    file = {"clientConnection": {"kubeconfig": "/theirs"}}
    assert written(bayplan, tmp_path, "--kubeconfig", "/mine", file=file)["clientConnection"]["kubeconfig"] == "/mine"


def test_no_limit_on_requests_is_kept(bayplan: Bayplan, tmp_path: Path) -> None:
    assert written(bayplan, tmp_path, file={"clientConnection": {"qps": 0}})["clientConnection"]["qps"] == 0


def test_flags_of_a_usual_manifest_are_taken(bayplan: Bayplan, tmp_path: Path) -> None:
    flags = (
        "--authentication-kubeconfig=/etc/kubernetes/scheduler.conf",
        "--authorization-kubeconfig=/etc/kubernetes/scheduler.conf",
        "--bind-address=127.0.0.1",
        "--kubeconfig=/etc/kubernetes/scheduler.conf",
        "--leader-elect=true",
        "--secure-port=0",
        "--profiling=false",
        "--feature-gates=SchedulerPopFromBackoffQ=false",
        "--pod-max-in-unschedulable-pods-duration=1m",
        "-v=2",
    )
    assert written(bayplan, tmp_path, *flags)["kind"] == "KubeSchedulerConfiguration"


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--no-such-flag"], "No such option"),
        (["--leader-elect=perhaps"], "'perhaps': expected true or false"),
        (["--leader-elect-lease-duration=15"], "expected a duration such as 15s"),
        (["--leader-elect-lease-duration=5s"], "LeaseDuration must be greater than RenewDeadline"),
        (["--leader-elect-resource-lock=endpoints"], 'resourceLock value must be "leases"'),
        (["-v=much"], "expected a whole number"),
        (["--secure-port=65536"], "65536: expected 0 to 65535"),
        (["--secure-port=-1"], "-1: expected 0 to 65535"),
        (["--feature-gates=Nonsense=true"], "unrecognized feature gate: Nonsense"),
        (["--kubeconfig=/no/such/file"], "/no/such/file"),
        (["--config=/no/such/file"], "/no/such/file"),
    ],
)
def test_what_cannot_be_meant_is_refused_by_name(bayplan: Bayplan, arguments: list[str], says: str) -> None:
    outcome = bayplan("run", *arguments)
    assert outcome.code == 2
    assert says in " ".join(outcome.err.split())


def test_unknown_fields_are_refused_by_name(bayplan: Bayplan, tmp_path: Path) -> None:
    (tmp_path / "given.yaml").write_text(yaml.safe_dump({**FILE, "clientConnection": {"qpz": 1}}))
    outcome = bayplan("run", "--config", str(tmp_path / "given.yaml"))
    assert outcome.code == 2
    assert "clientConnection.qpz: unknown field" in outcome.err
