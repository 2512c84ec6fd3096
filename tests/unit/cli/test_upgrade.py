"""`bayplan upgrade`: the answer in all formats, what fails it, and the comparison over time."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bayplan.testing import builders as make

from .conftest import Bayplan

FileOf = Callable[..., str]
SMALL, BIG = make.node("a").capacity(cpu="1"), make.pod("x").cpu("2")


def test_the_first_line_is_the_answer_and_the_cause_follows(bayplan: Bayplan, file_of: FileOf) -> None:
    said = bayplan("upgrade", "--to", "1.37", "-f", (file := file_of(SMALL, BIG)), "--kubernetes-version", "v1.36.4")
    assert (said.code, said.err) == (0, "")
    assert said.first_line == "From v1.36 to v1.37, of 1 pending pod and 0 running ones: 1 pod with another message."
    assert 'DynamicResources: messages no longer say "no new claims to deallocate"' in said.out
    assert f"Next: bayplan explain default/x --kubernetes-version 1.37 -f {file}" in said.out
    back = bayplan("upgrade", "--to", "1.36", "-f", file, "--kubernetes-version", "1.37")
    assert 'DynamicResources: messages say "no new claims to deallocate"' in back.out


def test_nothing_changes(bayplan: Bayplan, file_of: FileOf) -> None:
    said = bayplan("upgrade", "-f", file_of(SMALL, make.pod("x").cpu("1")), "--fail-on", "message")
    assert said.code == 0
    assert said.first_line == "From v1.36 to v1.37: the same decisions for 1 pending pod and 0 running ones."
    assert "note: nothing says which version the cluster has: v1.36 is compared" in said.err


@pytest.mark.parametrize("output", ["table", "json", "yaml", "markdown", "html", "sarif"])
def test_all_formats(bayplan: Bayplan, file_of: FileOf, output: str) -> None:
    said = bayplan("upgrade", "-f", file_of(SMALL, BIG), "-o", output)
    assert (said.code, "no new claims to deallocate" in said.out) == (0, True)


def test_for_programs(bayplan: Bayplan, file_of: FileOf) -> None:
    found = bayplan("upgrade", "-f", file_of(SMALL, BIG), "-o", "json").json()
    (pod,) = found["pods"]
    assert (found["fromVersion"], found["toVersion"], pod["pod"], pod["kinds"]) == (
        "1.36",
        "1.37",
        "default/x",
        ["message"],
    )
    assert [cause["plugin"] for cause in pod["causes"]] == ["DynamicResources"]


@pytest.mark.parametrize(
    ("fails", "arguments", "code"),
    [
        ("message", [], 1),
        ("node", [], 0),
        ("victims", [], 0),
        ("config", [], 0),
        ("config", ["--feature-gates", "SidecarContainers=true"], 1),
    ],
)
def test_what_fails_it(bayplan: Bayplan, file_of: FileOf, fails: str, arguments: list[str], code: int) -> None:
    assert bayplan("upgrade", "-f", file_of(SMALL, BIG), "--fail-on", fails, *arguments).code == code


def test_what_is_refused_is_named(bayplan: Bayplan, file_of: FileOf) -> None:
    said = bayplan("upgrade", "-f", file_of(SMALL), "--feature-gates", "SidecarContainers=true")
    assert "unrecognized feature gate: SidecarContainers" in said.out


def test_rules_that_name_old_metrics_are_listed(bayplan: Bayplan, file_of: FileOf, tmp_path: Path) -> None:
    rules = tmp_path / "rules.json"
    rules.write_text(json.dumps({"expr": "scheduler_resourceclaim_creates_total"}), encoding="utf-8")
    said = bayplan("upgrade", "-f", file_of(SMALL), "--rules", str(rules))
    assert "scheduler_resourceclaim_creates_total" in said.out
    assert "renamed" in said.out


def test_over_time_both_versions_are_compared(bayplan: Bayplan, file_of: FileOf, tmp_path: Path) -> None:
    timeline = tmp_path / "story.timeline"
    late = make.pod("late").cpu("1").dict()
    timeline.write_text(json.dumps([{"at": "1m", "apply": [late]}]), encoding="utf-8")
    file = file_of(SMALL, BIG, make.pod("y").cpu("1").node("a"))
    asked = ["upgrade", "-f", file, "--timeline", str(timeline), "--until", "5m"]
    said = bayplan(*asked)
    assert (said.code, "Over time, simulated under both versions" in said.out) == (0, True)
    runs: Any = bayplan(*asked, "-o", "json").json()["simulation"]["runs"]
    assert [run["name"] for run in runs] == ["v1.36", "v1.37"]


def test_an_unknown_version_is_refused(bayplan: Bayplan, file_of: FileOf) -> None:
    said = bayplan("upgrade", "--to", "1.12", "-f", file_of(SMALL))
    assert (said.code, "bayplan knows 1.36 and 1.37" in said.err) == (2, True)


def test_a_cluster_that_has_the_version_already(bayplan: Bayplan, file_of: FileOf) -> None:
    said = bayplan("upgrade", "--to", "1.37", "-f", file_of(SMALL), "--kubernetes-version", "1.37")
    assert (said.code, "the cluster has Kubernetes v1.37 already" in said.err) == (2, True)
