"""The command as a whole: help, version, exit codes, and no traceback whatever the user does."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bayplan import __version__
from bayplan.cli.main import COMMANDS
from bayplan.cli.sources import Source

from .conftest import Bayplan

HEAVY = ("numpy", "yaml", "rich", "msgspec")
#: What a scheduler needs only for its secure port, in the shadow, or to draw tables.
SERVING = ("rich", "cryptography", "uvicorn", "prometheus_client", "bayplan.store", "bayplan.worlds.shadow")


def test_help_lists_the_commands(bayplan: Bayplan) -> None:
    said = bayplan("--help")
    assert said.code == 0
    assert all(f"  {command}  " in said.out for command in COMMANDS)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help(bayplan: Bayplan, command: str) -> None:
    said = bayplan(command, "--help")
    assert said.code == 0
    assert said.out.startswith(f"Usage: bayplan {command}")


def test_version(bayplan: Bayplan) -> None:
    assert bayplan("--version").out == f"bayplan {__version__}\n"


@pytest.mark.parametrize(
    ("done", "heavy"),
    [
        ("from bayplan.cli.main import run; run(['--help'])", HEAVY),
        ("import bayplan.cli.main, bayplan.cli.run, bayplan.worlds.live", SERVING),
    ],
    ids=["help", "a scheduler that serves nothing"],
)
def test_nothing_heavy_is_imported_for(done: str, heavy: tuple[str, ...]) -> None:
    """Time differs from machine to machine; what costs it does not."""
    code = f"import sys; {done}; sys.exit(', '.join(name for name in {heavy!r} if name in sys.modules) or 0)"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stderr) == (0, "")


@pytest.mark.parametrize(
    "arguments",
    [
        ("nonsense",),
        ("explain",),
        ("explain", "pod"),
        ("explain", "pod", "-f", "x.yaml", "-o", "xml"),
        ("explain", "pod", "-f", "x.yaml", "--top", "0"),
        ("place", "-f", "x.yaml", "--ties", "chance"),
        ("--no-such-option",),
    ],
)
def test_wrong_usage(bayplan: Bayplan, arguments: tuple[str, ...]) -> None:
    said = bayplan(*arguments)
    assert said.code == 2
    assert said.out == ""
    assert "Error: " in said.err


POD = "apiVersion: v1\nkind: Pod\nmetadata: {name: x}\n"
BOMB = "\n".join(
    ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    + [f"a{number}: &a{number} [{', '.join([f'*a{number - 1}'] * 10)}]" for number in range(1, 12)]
)


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        pytest.param(
            f"{POD}spec: {{containers: [{{name: c, resources: {{requests: {{cpu: 1x}}}}}}]}}\n",
            "Pod default/x: spec.containers[0].resources.requests[cpu]: ",
            id="malformed quantity",
        ),
        pytest.param(f"{POD}spec: {{containers: 5}}\n", "Pod default/x: spec.containers: ", id="wrong type"),
        pytest.param(
            f"{POD}spec: {{tolerations: [{{key: a, operator: Sometimes}}]}}\n",
            "Pod default/x: spec.tolerations[0].operator: ",
            id="unknown operator",
        ),
        pytest.param(f"{POD}---\n{POD}", "Pod default/x: appears twice", id="duplicate name"),
        pytest.param(f"{POD}spec: {{nodeName: [{'x' * 5000}]}}", "Pod default/x: spec.nodeName: ", id="wrong type"),
        pytest.param(POD.replace("name: x", f"name: {'x/' * 5000}"), ": metadata.name: 'x/x/", id="long value"),
        pytest.param(POD.replace("name: x", f"name: {'x' * 5000}"), "Pod default/xxx", id="long name"),
        pytest.param("", "the file is empty", id="empty file"),
        pytest.param("\0\1\2", "not text", id="binary file"),
        pytest.param("a: " + "x" * 10_000_000, "kind: is missing", id="10 MB line"),
        pytest.param(BOMB, "aliases", id="YAML bomb"),
        pytest.param("a: [1, 2\n", "line ", id="no YAML"),
        pytest.param(POD.replace("name: x", "name: y"), "Pod default/x: not found", id="no such pod"),
    ],
)
def test_bad_input(bayplan: Bayplan, tmp_path: Path, content: str, expected: str) -> None:
    """One clear line for each fault, exit code 2, nothing on standard output."""
    file = tmp_path / "bad.yaml"
    file.write_text(content)
    said = bayplan("explain", "x", "-f", str(file))
    assert (said.code, said.out) == (2, "")
    (line,) = said.err.splitlines()
    assert line.startswith("error: ")
    assert expected in line
    assert len(line) < 1000
    if "not found" not in expected:
        assert str(file) in line


def test_missing_file(bayplan: Bayplan, tmp_path: Path) -> None:
    said = bayplan("place", "-f", str(tmp_path / "none.yaml"))
    assert said.code == 2
    assert said.err == f"error: {tmp_path / 'none.yaml'}: no such file or directory\n"


def test_many_faults_are_cut_short(bayplan: Bayplan, tmp_path: Path) -> None:
    file = tmp_path / "bad.yaml"
    file.write_text("---\n".join(["apiVersion: v1\nkind: Pod\n"] * 30))
    lines = bayplan("place", "-f", str(file)).err.splitlines()
    assert len(lines) == 21
    assert lines[-1] == "error: and 10 more"


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        ("apiVersion: v1\nkind: Pod\n", "apiVersion: Unsupported value"),
        (
            "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\nprofiles: 7\n",
            "KubeSchedulerConfiguration: profiles",
        ),
        (None, "cannot be read"),
    ],
)
def test_bad_configuration(bayplan: Bayplan, tmp_path: Path, config: str | None, expected: str) -> None:
    pod, file = tmp_path / "pod.yaml", tmp_path / "config.yaml"
    pod.write_text(POD)
    if config is not None:
        file.write_text(config)
    said = bayplan("explain", "x", "-f", str(pod), "--config", str(file))
    assert (said.code, said.out) == (2, "")
    assert f"error: {file}: " in said.err
    assert expected in said.err


def test_interrupt_is_quiet(bayplan: Bayplan, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Source, "read", raising(KeyboardInterrupt()))
    said = bayplan("explain", "x", "-f", "-")
    assert (said.code, said.out) == (130, "")
    assert said.err.strip() == ""


@pytest.mark.parametrize(
    ("raised", "said"),
    [
        (RuntimeError("two\n  lines"), "unexpected RuntimeError: two lines (at "),
        (AssertionError("a pod is in one state"), "unexpected AssertionError: a pod is in one state (at "),
        (AssertionError(), "unexpected AssertionError (at "),
        (KeyError("x"), "unexpected KeyError: 'x' (at "),
    ],
)
def test_a_bug_is_one_line_that_asks_for_a_report(
    bayplan: Bayplan, monkeypatch: pytest.MonkeyPatch, raised: Exception, said: str
) -> None:
    monkeypatch.setattr(Source, "read", raising(raised))
    found = bayplan("explain", "x", "-f", "-")
    assert (found.code, found.out) == (3, "")
    (line,) = found.err.splitlines()
    assert line.startswith(f"error: {said}{__file__}:")
    assert "please report it" in line


def test_a_bug_shows_its_traceback_to_those_who_want_it(bayplan: Bayplan, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Source, "read", raising(RuntimeError("nobody expected this")))
    monkeypatch.setenv("BAYPLAN_TRACEBACK", "1")
    found = bayplan("explain", "x", "-f", "-")
    assert found.code == 3
    assert found.err.startswith("Traceback (most recent call last)")
    assert "BAYPLAN_TRACEBACK" in bayplan("--help").out


def raising(error: BaseException) -> Callable[..., None]:
    def raises(*_: Any) -> None:
        raise error

    return raises


def test_reader_that_goes_away_is_no_error() -> None:
    read_end, write_end = os.pipe()
    os.close(read_end)
    ended = subprocess.run(
        [sys.executable, "-c", "from bayplan.cli.main import main; main()", "demo"],
        stdout=write_end,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    os.close(write_end)
    assert (ended.returncode, ended.stderr) == (141, "")


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_standard_streams_may_be_closed(closed: str, tmp_path: Path) -> None:
    """As services and scheduled tasks may be started."""
    code = "from bayplan.cli.main import main; main()"
    write = f"{sys.executable} -c '{code}' demo --write {tmp_path / 'demo'} {closed}"
    assert subprocess.run(["sh", "-c", write], check=False, capture_output=True).returncode == 0
    asked = "place --kubernetes-version 1.37"
    place = f"{sys.executable} -c '{code}' {asked} -f {tmp_path / 'demo' / 'cluster.yaml'} {closed}"
    done = subprocess.run(["sh", "-c", place], check=False, capture_output=True)
    assert (done.returncode, done.stderr) == (0, b"")
    read = f"{sys.executable} -c '{code}' {asked} -f - {closed}"
    assert subprocess.run(["sh", "-c", read], check=False, stdin=subprocess.DEVNULL).returncode == 2
