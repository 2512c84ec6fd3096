"""The job for KubeRay: it calls the command as it is, and goes on where it was if it is started again."""

from __future__ import annotations

import shlex
from pathlib import Path

import yaml

from bayplan.cli.sweep import command

MANIFEST = Path(__file__).resolve().parents[2] / "deploy" / "ray" / "rayjob.yaml"


def test_the_entrypoint_is_a_sweep_on_ray_that_can_be_started_again() -> None:
    spec = yaml.safe_load(MANIFEST.read_text(encoding="utf-8"))["spec"]
    program, name, *arguments = shlex.split(spec["entrypoint"])
    assert (program, name) == ("bayplan", "sweep")
    given = command.make_context("sweep", arguments).params
    assert (given["engine"], given["resume"]) == ("ray", True)
    mounts = spec["rayClusterSpec"]["headGroupSpec"]["template"]["spec"]["containers"][0]["volumeMounts"]
    assert all(path.startswith(mounts[0]["mountPath"]) for path in (given["file"], given["out"], given["report"]))
