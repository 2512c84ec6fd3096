"""What `bayplan run` shows of itself, and how it begins and ends."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from tests.support.scheduler_process import running_scheduler

from bayplan.cli.main import cli
from bayplan.testing import LiveCluster, builders, cluster

SMALL = builders.pod("small").cpu("500m").image("web").manifest().dict()
HUGE = builders.pod("huge").cpu(500).image("web").manifest().dict()


@pytest.fixture
def unscheduled() -> Iterator[LiveCluster]:
    with cluster(nodes=2, scheduler=False) as live:
        yield live


def node_of(live: LiveCluster, name: str) -> str:
    node: str = live.get("pod", name)["spec"].get("nodeName", "")
    return node


def lease(live: LiveCluster) -> dict[str, Any]:
    spec: dict[str, Any] = live.get("lease", "kube-scheduler", "kube-system")["spec"]
    return spec


@pytest.mark.slow
def test_it_starts_leads_shows_itself_and_gives_the_lease_back(unscheduled: LiveCluster, tmp_path: Path) -> None:
    with running_scheduler(unscheduled.kubeconfig, tmp_path / "log", "-v=2") as scheduler:
        scheduler.wait_until_ready()
        unscheduled.apply([SMALL, HUGE])
        scheduler.wait_for(lambda: node_of(unscheduled, "small") != "")
        scheduler.wait_for(lambda: "huge" in scheduler.ask("/debug/queue").text)
        assert lease(unscheduled)["holderIdentity"] != ""
        assert scheduler.ask("/readyz?verbose").text == (
            "[+]leaderElection ok\n[+]shutdown ok\n[+]sched-handler-sync ok\nreadyz check passed\n"
        )
        assert scheduler.ask("/healthz?verbose").text == "[+]leaderElection ok\nhealthz check passed\n"
        assert "default/small fits on all 2 nodes" in scheduler.ask("/debug/decisions").text
        assert "default/huge does not fit on any of the 2 nodes" in scheduler.ask("/debug/decisions").text
        assert '"schedulerName":"default-scheduler"' in scheduler.ask("/configz").text
        metrics = scheduler.ask("/metrics").text
        assert 'scheduler_schedule_attempts_total{result="scheduled",profile="default-scheduler"} 1\n' in metrics
        assert 'scheduler_pending_pods{queue="unschedulable"} 1\n' in metrics
        assert 'leader_election_master_status{name="kube-scheduler"} 1\n' in metrics
        assert 'bayplan_writes_total{kind="Bind",outcome="written"} 1\n' in metrics
        scheduler.send(signal.SIGUSR2)
        scheduler.wait_for(lambda: '"Dump of scheduling queue"' in scheduler.log())
        scheduler.send(signal.SIGTERM)
        assert scheduler.exit_code() == 0
        log = scheduler.log()
    assert lease(unscheduled)["holderIdentity"] == ""
    for text in (
        '"Starting Kubernetes Scheduler"',
        '"Serving securely on 127.0.0.1:',
        '"Successfully acquired lease" lock="kube-system/kube-scheduler"',
        '"Successfully bound pod to node" pod="default/small"',
        '"Unable to schedule pod; no fit; waiting" err="0/2 nodes are available: 2 Insufficient cpu.',
    ):
        assert text in log


@pytest.mark.slow
def test_one_who_waits_is_ready_and_takes_over_when_the_leader_stops(unscheduled: LiveCluster, tmp_path: Path) -> None:
    with (
        running_scheduler(unscheduled.kubeconfig, tmp_path / "first") as first,
        running_scheduler(unscheduled.kubeconfig, tmp_path / "second") as second,
    ):
        for scheduler in (first, second):
            scheduler.wait_until_ready()
        first.wait_for(lambda: any("Successfully acquired" in one.log() for one in (first, second)))
        leader, follower = (first, second) if "Successfully acquired" in first.log() else (second, first)
        leader.send(signal.SIGTERM)
        unscheduled.apply(SMALL)
        follower.wait_for(lambda: "Successfully acquired lease" in follower.log())
        follower.wait_for(lambda: node_of(unscheduled, "small") != "")
        assert leader.exit_code() == 0
        assert lease(unscheduled)["leaseTransitions"] == 1


@pytest.mark.slow
def test_it_runs_with_the_command_line_of_a_kubeadm_manifest(unscheduled: LiveCluster, tmp_path: Path) -> None:
    """Where the cluster does not say whose certificates count, that is said, and all else works."""
    who = str(unscheduled.kubeconfig)
    flags = (f"--authentication-kubeconfig={who}", f"--authorization-kubeconfig={who}", "--leader-elect=true")
    more = (f"--cert-dir={tmp_path / 'certificates'}", "--disabled-metrics=scheduler_pending_pods")
    with running_scheduler(unscheduled.kubeconfig, tmp_path / "log", *flags, *more) as scheduler:
        scheduler.wait_until_ready()
        unscheduled.apply([SMALL])
        scheduler.wait_for(lambda: node_of(unscheduled, "small") != "")
        assert f"\nauthorization-kubeconfig={who}\n" in scheduler.ask("/flagz").text
        assert "Paths: /configz /debug /flagz /healthz /livez /metrics /readyz\n" in scheduler.ask("/statusz").text
        assert "scheduler_pending_pods{" not in scheduler.ask("/metrics").text
        scheduler.wait_for(lambda: '"extension-apiserver-authentication\\" not found (404)"' in scheduler.log())
        scheduler.send(signal.SIGTERM)
        assert scheduler.exit_code() == 0
    assert sorted(file.name for file in (tmp_path / "certificates").iterdir()) == [
        "kube-scheduler.crt",
        "kube-scheduler.key",
    ]
    assert (tmp_path / "certificates" / "kube-scheduler.key").stat().st_mode & 0o777 == 0o600


@pytest.mark.slow
def test_a_file_that_asks_for_protobuf_gets_json(unscheduled: LiveCluster, tmp_path: Path) -> None:
    file = tmp_path / "scheduler.yaml"
    protobuf = "application/vnd.kubernetes.protobuf"
    file.write_text(
        "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
        f"clientConnection: {{contentType: {protobuf}, acceptContentTypes: '{protobuf},application/json'}}\n"
    )
    with running_scheduler(unscheduled.kubeconfig, tmp_path / "log", f"--config={file}") as scheduler:
        unscheduled.apply([SMALL])
        scheduler.wait_for(lambda: node_of(unscheduled, "small") != "")
        assert scheduler.log().count("Using JSON for the API server") == 1


@pytest.mark.slow
def test_a_lookup_that_must_not_fail_ends_it(unscheduled: LiveCluster, tmp_path: Path) -> None:
    flags = (f"--authentication-kubeconfig={unscheduled.kubeconfig}", "--authentication-tolerate-lookup-failure=false")
    with running_scheduler(unscheduled.kubeconfig, tmp_path / "log", *flags) as scheduler:
        assert scheduler.exit_code() == 2
        assert "error: configmap extension-apiserver-authentication" in scheduler.log()
        assert "Traceback" not in scheduler.log()


@pytest.mark.slow
def test_whoever_loses_the_lease_ends_with_code_1(unscheduled: LiveCluster, tmp_path: Path) -> None:
    timings = ("--leader-elect-lease-duration=3s", "--leader-elect-renew-deadline=2s", "--leader-elect-retry-period=1s")
    with running_scheduler(unscheduled.kubeconfig, tmp_path / "log", *timings) as scheduler:
        scheduler.wait_for(lambda: "Successfully acquired lease" in scheduler.log())
        taken = {
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": {"name": "kube-scheduler", "namespace": "kube-system"},
            "spec": {"holderIdentity": "somebody", "leaseDurationSeconds": 60},
        }
        unscheduled.apply(taken)
        assert scheduler.exit_code() == 1
        assert '"Leaderelection lost"' in scheduler.log()
    assert lease(unscheduled)["holderIdentity"] == "somebody"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--tls-cert-file=x"], "--tls-cert-file and --tls-private-key-file must be used together"),
        (["--tls-cert-file=x", "--tls-private-key-file=y"], "TLS cannot be set up for the secure port"),
        (["--tls-cipher-suites=TLS_ROT13"], "TLS cannot be set up for the secure port"),
        (["--bind-address=192.0.2.1"], "the secure port 192.0.2.1:"),
        (["--client-ca-file=/nowhere"], "the CA of client certificates cannot be used"),
        (["--requestheader-client-ca-file=/dev/null"], "the CA of client certificates cannot be used"),
    ],
)
def test_what_cannot_be_served_is_an_error_of_the_user(
    unscheduled: LiveCluster, tmp_path: Path, arguments: list[str], message: str
) -> None:
    with running_scheduler(unscheduled.kubeconfig, tmp_path / "log", *arguments) as scheduler:
        assert scheduler.exit_code() == 2
        assert message in scheduler.log()


BROKEN_PLUGIN = """
from bayplan.plugin import PerNodePlugin

class Broken(PerNodePlugin):
    name = "Broken"

    def fits(self, pod, node):
        if pod.name == "cursed":
            raise ValueError("broken")
        return ""
"""


@pytest.mark.slow
def test_a_plugin_that_raises_costs_one_pod_its_attempts_and_nothing_else(
    unscheduled: LiveCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is logged with a journal that shows the bug again, counted, and the process is healthy."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    plugin, config = tmp_path / "broken.py", tmp_path / "config.yaml"
    plugin.write_text(BROKEN_PLUGIN)
    config.write_text(
        "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
        f"profiles: [{{plugins: {{multiPoint: {{enabled: [{{name: '{plugin}:Broken'}}]}}}}}}]\n"
    )
    cursed = builders.pod("cursed").cpu("500m").image("web").manifest().dict()
    with running_scheduler(unscheduled.kubeconfig, tmp_path / "log", "--config", str(config)) as scheduler:
        scheduler.wait_until_ready()
        unscheduled.apply(cursed)
        scheduler.wait_for(lambda: 'bayplan_bugs_total{where="attempt"} 2\n' in scheduler.ask("/metrics").text)
        unscheduled.apply(SMALL)
        scheduler.wait_for(lambda: node_of(unscheduled, "small") != "")
        assert [scheduler.ask(path).status for path in ("/healthz", "/livez", "/readyz")] == [200] * 3
        conditions = unscheduled.get("pod", "cursed")["status"]["conditions"]
        assert [condition["reason"] for condition in conditions] == ["SchedulerError"]
        scheduler.send(signal.SIGTERM)
        assert scheduler.exit_code() == 0
        log = scheduler.log()
    (journal,) = (tmp_path / f"bayplan-bugs-{os.getuid()}").iterdir()
    assert log.count("Survived an unexpected exception") >= 2
    assert log.count("Traceback (most recent call last)") == 1
    assert f'journal="{journal}"' in log
    replayed = CliRunner().invoke(cli, ["replay", str(journal)])
    assert replayed.exit_code == 3, replayed.output
    assert "a bug: attempt default/cursed: ValueError: broken" in replayed.output
