"""A configuration with extenders: files are answered from files, unless the user asks for more."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.support.extenders import ExtenderServer, Request, serving

from bayplan.testing import builders as make

from .conftest import Bayplan

FileOf = Callable[..., str]
ALL_VERBS = {
    "filterVerb": "filter",
    "prioritizeVerb": "prioritize",
    "preemptVerb": "preempt",
    "bindVerb": "bind",
    "weight": 9,
    "nodeCacheCapable": True,
}


def second_node_only(request: Request) -> Any:
    names = request.plain["NodeNames"]
    return 200, {"NodeNames": [name for name in names if name != "a"], "FailedNodes": {"a": "not on a"}}


def config_for(server: ExtenderServer, folder: Path, **fields: Any) -> str:
    path = folder / "scheduler.json"
    extender = {"urlPrefix": server.url, **ALL_VERBS, **fields}
    kinds = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
    path.write_text(json.dumps({**kinds, "extenders": [extender]}))
    return str(path)


@pytest.mark.parametrize("command", [("explain", "p"), ("place",), ("simulate", "--until", "1m")])
def test_nobody_is_called_unless_the_user_says_so(
    command: tuple[str, ...], bayplan: Bayplan, file_of: FileOf, tmp_path: Path
) -> None:
    file = file_of(make.node("a"), make.node("b"), make.pod("p"))
    with serving({"/ext/filter": second_node_only, "/ext/prioritize": (200, [])}) as server:
        config = config_for(server, tmp_path)
        said = bayplan(*command, "-f", file, "--config", config)
        assert said.code == 0
        assert server.requests == []
        note = f"note: the extenders in {config} are not called ({server.url}); to call them, use --call-extenders\n"
        assert note in said.err
        asked = bayplan(*command, "-f", file, "--config", config, "--call-extenders")
        assert asked.code == 0
        assert [request.path for request in server.requests] == ["/ext/filter"], "none is asked to bind"
        assert "extender" not in asked.err


def test_what_an_extender_says_is_part_of_the_answer(bayplan: Bayplan, file_of: FileOf, tmp_path: Path) -> None:
    file = file_of(make.node("a"), make.node("b"), make.node("c"), make.pod("p"))
    replies: Any = {"/ext/filter": second_node_only, "/ext/prioritize": (200, [{"Host": "c", "Score": 10}])}
    with serving(replies) as server:
        arguments = ("-f", file, "--config", config_for(server, tmp_path), "--call-extenders")
        document = bayplan("explain", "p", *arguments, "-o", "json").json()
        assert document["filter"]["a"] == {
            "code": "Unschedulable",
            "plugin": "Extender",
            "reasons": ["not on a"],
        }
        assert document["scores"]["c"][server.url] == 900
        assert document["best"] == ["c"]
        shown = bayplan("explain", "p", *arguments, "--details")
        assert "not on a" in shown.out
        assert server.url in shown.out
        placed = bayplan("place", *arguments, "-o", "json").json()
    assert [one["node"] for one in placed["decisions"]] == ["c"]


def test_an_extender_that_cannot_be_reached_is_the_answer(bayplan: Bayplan, file_of: FileOf, tmp_path: Path) -> None:
    with serving({}) as server:
        config = config_for(server, tmp_path)
    file = file_of(make.node("a"), make.pod("p"))
    said = bayplan("explain", "p", "-f", file, "--config", config, "--call-extenders", "--details")
    assert said.code == 1
    assert "connection refused" in said.out.replace("\n", " ")


def test_certificates_that_cannot_be_used_are_bad_input(bayplan: Bayplan, file_of: FileOf, tmp_path: Path) -> None:
    with serving({}) as server:
        tls = {"urlPrefix": "https://extender.invalid", "tlsConfig": {"caFile": str(tmp_path / "none")}}
        config = config_for(server, tmp_path, **tls)
    file = file_of(make.node("a"), make.pod("p"))
    said = bayplan("place", "-f", file, "--config", config, "--call-extenders")
    assert said.code == 2
    assert "extender https://extender.invalid: tlsConfig: " in said.err


def test_a_journal_has_the_answers_and_is_replayed_without_the_extender(
    bayplan: Bayplan, file_of: FileOf, tmp_path: Path
) -> None:
    """Preemption included: the record of what was tried asks nobody a second time."""
    file = file_of(
        make.node("a").capacity(cpu=4),
        make.node("b").capacity(cpu=4),
        make.node("small").capacity(cpu=2),
        make.pod("low-a").cpu(3).running("a"),
        make.pod("low-b").cpu(3).running("b"),
        make.pod("p").cpu(3).priority(5),
        make.pod("fits").cpu(1),
    )
    journal = str(tmp_path / "journal")

    def keep_a(request: Request) -> Any:
        victims = request.plain["NodeNameToMetaVictims"]
        return 200, {"NodeNameToMetaVictims": {"a": victims["a"]}}

    replies: Any = {
        "/ext/filter": lambda request: (200, {"NodeNames": request.plain["NodeNames"]}),
        "/ext/prioritize": (500, "boom"),
        "/ext/preempt": keep_a,
    }
    with serving(replies) as server:
        config = config_for(server, tmp_path)
        said = bayplan(
            "simulate", "-f", file, "--config", config, "--call-extenders", "--until", "5m", "--journal", journal
        )
        assert said.code == 0, said.err
        verbs = {request.path for request in server.requests}
    assert verbs == {"/ext/filter", "/ext/prioritize", "/ext/preempt"}
    lines = [json.loads(line) for line in Path(journal).read_text().splitlines()]
    noted = [line["extender"] for line in lines if "extender" in line]
    assert len(noted) == len(server.requests)
    assert any("error" in answer for answer in noted)
    replayed = bayplan("replay", journal)
    assert (replayed.code, "all as recorded" in replayed.out) == (0, True), replayed.out
