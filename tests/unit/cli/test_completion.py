"""`bayplan completion`, and what kubectl asks for its plugin."""

from __future__ import annotations

import shutil
import subprocess
import sys

import pytest

from bayplan.cli.completion import complete_for_kubectl

from .conftest import Bayplan


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_script_for_each_shell(bayplan: Bayplan, shell: str) -> None:
    if shell == "bash" and shutil.which("bash") is None:
        pytest.skip("bash is not installed")
    said = bayplan("completion", shell)
    assert said.code == 0
    assert f"_BAYPLAN_COMPLETE={shell}_complete" in said.out


def test_bash_understands_its_script(bayplan: Bayplan) -> None:
    bash = shutil.which("bash")
    if bash is None:
        pytest.skip("bash is not installed")
    checked = subprocess.run([bash, "-n"], input=bayplan("completion", "bash").out, text=True, check=False)
    assert checked.returncode == 0


def test_another_shell(bayplan: Bayplan) -> None:
    assert bayplan("completion", "tcsh").code == 2


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["expl"], ["explain", ":4"]),
        (["completion", "z"], ["zsh", ":4"]),
        ([], None),
    ],
)
def test_kubectl_asks(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], words: list[str], expected: list[str] | None
) -> None:
    monkeypatch.setattr(sys, "argv", ["kubectl_complete-bayplan", *words])
    complete_for_kubectl()
    lines = [line.partition("\t")[0] for line in capsys.readouterr().out.splitlines()]
    if expected is None:
        assert {"explain", "fix", "drain"} <= set(lines)
    else:
        assert lines == expected
