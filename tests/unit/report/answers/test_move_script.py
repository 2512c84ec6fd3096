"""Moves as a script: what a shell makes of it, with a kubectl that only writes down what it is asked."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from bayplan.analysis.answers.moving.defrag import Defrag
from bayplan.analysis.answers.moving.playing import PlayedMove
from bayplan.report.answers.move_script import move_script

STEPS = (
    PlayedMove("shop/q", "b", "c", 0, "replicaset/q-1", 2, ("b", "d")),
    PlayedMove("shop/p", "a", "b", 0, "statefulset/p", 1),
)
ANSWER = Defrag("big", "shop/big", is_new=False, steps=STEPS, node="a", target="a", bound=2)


def asked_of_kubectl(script: str, folder: Path, *, failing: str = "") -> tuple[int, list[str]]:
    asked = folder / "asked"
    asked.touch()
    kubectl = folder / "kubectl"
    fails = f'case "$*" in *"{failing}"*) exit 1;; esac\n' if failing else ""
    kubectl.write_text(f'#!/bin/sh\necho "$*" >> {asked}\n[ "$1" != create ] || cat >> {asked}\n{fails}')
    kubectl.chmod(0o755)
    environment = {**os.environ, "PATH": f"{folder}:{os.environ['PATH']}"}
    done = subprocess.run(["sh"], input=script, text=True, env=environment, check=False, capture_output=True)
    return done.returncode, asked.read_text().splitlines()


def test_pods_move_one_by_one_while_nodes_are_cordoned(tmp_path: Path) -> None:
    code, asked = asked_of_kubectl(move_script(ANSWER), tmp_path)
    assert code == 0
    assert [line.replace("  ", " ") for line in asked] == [
        "cordon a",
        "cordon b d",
        "create --raw /api/v1/namespaces/shop/pods/q/eviction -f -",
        '{"apiVersion":"policy/v1","kind":"Eviction","metadata":{"name":"q","namespace":"shop"}}',
        "wait --namespace shop --for=delete pod/q --timeout=10m",
        "wait --namespace shop --for=jsonpath={.status.readyReplicas}=2 replicaset/q-1 --timeout=10m",
        "uncordon b",
        "uncordon d",
        "create --raw /api/v1/namespaces/shop/pods/p/eviction -f -",
        '{"apiVersion":"policy/v1","kind":"Eviction","metadata":{"name":"p","namespace":"shop"}}',
        "wait --namespace shop --for=delete pod/p --timeout=10m",
        "wait --namespace shop --for=jsonpath={.status.readyReplicas}=1 statefulset/p --timeout=10m",
        "uncordon a",
        "wait --namespace shop --for=condition=PodScheduled pod/big --timeout=5m",
    ]


@pytest.mark.parametrize("failing", ["pods/q/eviction", "readyReplicas}=2"])
def test_what_fails_ends_it_and_nodes_are_released(tmp_path: Path, failing: str) -> None:
    code, asked = asked_of_kubectl(move_script(ANSWER), tmp_path, failing=failing)
    assert code != 0
    assert [line for line in asked if line.startswith("uncordon")] == ["uncordon b", "uncordon d", "uncordon a"]
    assert not any("pods/p" in line for line in asked)


def test_nothing_to_move(tmp_path: Path) -> None:
    script = move_script(Defrag("big", "shop/big", is_new=False, runs_on="a"))
    assert asked_of_kubectl(script, tmp_path) == (0, [])
