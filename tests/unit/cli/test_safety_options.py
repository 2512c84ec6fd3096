"""Limits of preemption on the command line, and what holds where nobody gives any."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner

from bayplan.cli.run_options import RunCommand, RunOptions, configuration_of, run_options
from bayplan.config.releases import NEWEST_RELEASE
from bayplan.core.preemption.safety import LIVE, UPSTREAM, ForeignVictims, PreemptionSafety

CONFIGURATION = """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- schedulerName: mine
  pluginConfig:
  - name: bayplan
    args: {foreignVictims: allow, evictionsPerMinute: 7}
"""


def safety_of(*arguments: str) -> PreemptionSafety:
    """What `bayplan run` would hold itself to."""
    found: list[PreemptionSafety] = []

    @click.command(cls=RunCommand)
    @run_options
    def command(**given: Any) -> None:
        found.append(configuration_of(RunOptions(**given, flags={}), NEWEST_RELEASE).safety)

    result = CliRunner().invoke(command, list(arguments))
    assert result.exit_code == 0, result.output
    return found[0]


@pytest.mark.parametrize(
    ("arguments", "safety"),
    [
        ([], LIVE),
        (["--shadow"], UPSTREAM),
        (["--foreign-victims=allow", "--preemption-loop-rounds=0"], UPSTREAM),
        (["--shadow", "--foreign-victims", "never"], PreemptionSafety(ForeignVictims.NEVER)),
        (
            ["--evictions-per-minute=9", "--evictions-per-minute-per-namespace=3"],
            PreemptionSafety(ForeignVictims.NEVER, 9, 3, 5),
        ),
    ],
)
def test_what_a_live_scheduler_holds_itself_to(arguments: list[str], safety: PreemptionSafety) -> None:
    assert safety_of(*arguments) == safety


def test_a_flag_comes_before_the_file_and_the_file_before_what_is_usual(tmp_path: Path) -> None:
    file = tmp_path / "config.yaml"
    file.write_text(CONFIGURATION)
    assert safety_of("--config", str(file)) == PreemptionSafety(ForeignVictims.ALLOW, 7, 0, 5)
    assert safety_of("--config", str(file), "--evictions-per-minute", "8").evictions_per_minute == 8


def test_fewer_than_none_cannot_be_evicted() -> None:
    command = click.Command("run", callback=lambda **_: None)
    result = CliRunner().invoke(run_options(command), ["--evictions-per-minute", "-1"])
    assert result.exit_code == 2
    assert "-1 is not in the range x>=0" in result.output
