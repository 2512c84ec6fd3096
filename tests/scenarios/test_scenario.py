"""The scenario runner: what a script may say, and how it says no."""

from __future__ import annotations

import pytest
from tests.scenarios.scenario import ScenarioError, rewritten

PLAYED = """\
# One pod, one node.
node n1
pod web cpu=1
run 2s
show
----
    0.000  web  created
    0.004  web  on n1
    0.006  web  ! Scheduled: Successfully assigned web to n1
    1.004  web  Running
  web  Running  n1

run 1s
----
"""


def test_the_transcript_is_written_under_the_commands() -> None:
    commands = "# One pod, one node.\nnode n1\npod web cpu=1\nrun 2s\nshow\n\nrun 1s\n"
    assert rewritten(commands) == PLAYED


def test_a_transcript_that_is_right_stays() -> None:
    assert rewritten(PLAYED) == PLAYED


def test_a_wrong_transcript_is_replaced() -> None:
    assert rewritten(PLAYED.replace("on n1", "on n2")) == PLAYED


def test_pods_of_controllers_are_numbered() -> None:
    went = rewritten("node n1\nreplicaset web replicas=2 cpu=1\nrun 1s\ndelete web-1\nrun 2s\n")
    assert "web-2  created" in went
    assert "web-1  terminating" in went
    assert "web-3  created" in went


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("dance", "line 2: dance: no such command"),
        ("run 5", "line 2: run 5: invalid duration '5'"),
        ("cordon n9", 'line 2: cordon n9: nodes "n9" not found'),
        ("node n2 taint=", "line 2: node n2 taint=: not a taint: "),
        ("uncordon", "line 2: uncordon: "),
        ("node n1", 'line 2: node n1: nodes "n1" already exists'),
    ],
)
def test_a_command_that_cannot_be_done(command: str, said: str) -> None:
    with pytest.raises(ScenarioError) as refused:
        rewritten(f"node n1\n{command}\n")
    assert str(refused.value).startswith(said)


def test_commands_of_timelines_work_in_scenarios() -> None:
    went = rewritten(
        "node n1\nnode n2\ndeployment web replicas=1 cpu=1\nrun 2s\n\n"
        "scale deployment/web 2\nrun 2s\n\ndrain n1\nrun 10s\nshow\n\nfail n2\nrun 60s\nnode n3\nrun 400s\nshow\n"
    )
    scaled, drained, failed = went.split("\n\n")[1:4]
    assert "web-2  created" in scaled
    assert [line.split()[-1] for line in drained.splitlines()[-2:]] == ["n2", "n2"]
    assert [line.split()[-1] for line in failed.splitlines()[-2:]] == ["n3", "n3"]
