"""Which commands are known to end, when and how."""

from __future__ import annotations

from typing import Any

import pytest

from bayplan.apiserver.statuses.commands import outcome_of, pod_outcome


@pytest.mark.parametrize(
    ("command", "outcome"),
    [
        (["true"], (0, 0)),
        (["/bin/true"], (0, 0)),
        (["/bin/false"], (0, 1)),
        (["sleep", "5"], (5, 0)),
        (["sleep", "infinity"], None),
        (["sh", "-c", "exit 42"], (0, 42)),
        (["/bin/sh", "-c", "sleep 0.5; exit 3"], (0.5, 3)),
        (["/bin/sh", "-c", "sleep 2 && true"], (2, 0)),
        (["sh", "-c", "false"], (0, 1)),
        (["sh", "-c", ""], None),
        (["sh", "-c", "exit 1 || run-forever"], None),
        (["sh", "-c", "while true; do sleep 1; done"], None),
        (["server", "--port=80"], None),
        ([], None),
    ],
)
def test_commands(command: list[str], outcome: tuple[float, int] | None) -> None:
    assert outcome_of({"name": "c", "command": command}) == outcome


def test_arguments_count_as_part_of_the_command_but_not_alone() -> None:
    assert outcome_of({"command": ["sh"], "args": ["-c", "exit 2"]}) == (0, 2)
    assert outcome_of({"args": ["true"]}) is None
    assert outcome_of({"image": "registry.example.com/server:1", "args": ["true"]}) is None


@pytest.mark.parametrize("image", ["busybox", "docker.io/library/alpine:3.22", "ubuntu@sha256:0123"])
def test_plain_images_run_their_arguments(image: str) -> None:
    assert outcome_of({"image": image, "args": ["sh", "-c", "exit 2"]}) == (0, 2)


def test_the_shell_of_a_plain_image_ends_at_once_unless_it_has_something_to_read() -> None:
    assert outcome_of({"image": "busybox:1.37"}) == (0, 0)
    assert outcome_of({"image": "busybox", "stdin": True}) is None
    assert outcome_of({"image": "busybox", "tty": True}) is None
    assert outcome_of({"image": "nginx"}) is None


def ending(policy: str, *commands: list[str]) -> Any:
    containers = [{"name": f"c{number}", "command": command} for number, command in enumerate(commands)]
    return pod_outcome({"spec": {"restartPolicy": policy, "containers": containers}})


def test_a_pod_ends_with_its_last_container_and_fails_with_any() -> None:
    assert ending("Never", ["sleep", "3"], ["false"]) == (3, {"c1": 1})
    assert ending("Never", ["sleep", "3"], ["serve"]) is None


def test_a_pod_whose_containers_would_start_again_does_not_end() -> None:
    assert ending("Always", ["true"]) is None
    assert ending("OnFailure", ["true"]) == (0, {})
    assert ending("OnFailure", ["false"]) is None
