"""Pools of nodes on the command line: what is said of those that cannot be, and what they cost."""

from __future__ import annotations

from pathlib import Path

import pytest

from bayplan.cli.main import run

EXAMPLE = Path(__file__).resolve().parents[3] / "examples" / "autoscaling"
SECOND = "apiVersion: bayplan/v1\nkind: Autoscaler\nmetadata: {name: second}\n"
TYPO = "apiVersion: bayplan/v1\nkind: NodePool\nmetadata: {name: x}\nspec: {max: 1, prise: 3}\n"


UP = ["up", "--listen", "127.0.0.1:0"]


@pytest.mark.parametrize(
    ("command", "text", "said"),
    [
        (["simulate"], SECOND, "cluster.yaml: Autoscaler default: there is another one, second; only one can act"),
        (["simulate"], TYPO, "b.yaml: NodePool x: spec.prise: unknown field; did you mean price?"),
        (
            UP,
            SECOND,
            "cluster.yaml: Autoscaler default: metadata.name: Forbidden: there is another one, second; only one",
        ),
        (
            UP,
            TYPO,
            'b.yaml: NodePool x: NodePool in version "v1" cannot be handled as a NodePool: strict decoding error: ',
        ),
    ],
    ids=["two autoscalers", "typo", "two autoscalers, served", "typo, served"],
)
def test_pools_that_cannot_be_end_in_a_message(
    command: list[str], text: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "b.yaml").write_text(text, encoding="utf-8")
    (tmp_path / "cluster.yaml").write_text((EXAMPLE / "cluster.yaml").read_text(encoding="utf-8"), encoding="utf-8")
    assert run([*command, "-f", str(tmp_path)]) == 2
    assert said in capsys.readouterr().err


def test_the_summary_says_what_pools_cost(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    story, report = str(EXAMPLE / "evening.yaml"), tmp_path / "report.html"
    arguments = ["-f", str(EXAMPLE / "cluster.yaml"), "--timeline", story, "--until", "4h", "--report", str(report)]
    assert run(["simulate", *arguments]) == 0
    shown = capsys.readouterr().out
    assert "node-hours on all nodes; cost" in shown
    assert ">most at once<" in report.read_text(encoding="utf-8")


def test_an_autoscaler_without_pools_is_refused(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(SECOND, encoding="utf-8")
    assert run(["simulate", "-f", str(tmp_path / "a.yaml")]) == 2
    assert "a.yaml: Autoscaler second: there are no NodePools for it to change" in capsys.readouterr().err
