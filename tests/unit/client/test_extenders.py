"""Extenders over HTTP: every recorded exchange with a real scheduler, and answers in all their forms."""

from __future__ import annotations

import json
import lzma
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from threading import Barrier
from typing import Any

import msgspec
import pytest
from tests.support.caches import cache_of
from tests.support.extenders import Reply, Request, serving

from bayplan.client.extender_documents import KeptDocuments, encoded
from bayplan.client.extenders import HttpExtender, bind_by_extender, connect_extenders
from bayplan.client.posting import PostAnswer, Poster
from bayplan.config.schema import Extender, ManagedResource
from bayplan.core.actions import Bind
from bayplan.core.columns.shapes import PodInfo
from bayplan.core.events import BindAnswered
from bayplan.core.framework.extender import ChosenVictims, ExtenderVictim, FilterAnswer, Victims
from bayplan.core.framework.verdict import CycleError
from bayplan.model.errors import InvalidObject
from bayplan.model.kinds import Object
from bayplan.model.node import Node
from bayplan.model.pod import Pod
from bayplan.testing.builders import node, pod

Plain = dict[str, Any]
VERBS: Plain = {
    "filter_verb": "filter",
    "prioritize_verb": "prioritize",
    "preempt_verb": "preempt",
    "bind_verb": "bind",
}


# ---------------------------------------------------------------------- as recorded


class Recording(Poster):
    """Notes what is sent and answers as it was recorded."""

    def __init__(self, status: int, answer: Any) -> None:
        self._answer = PostAnswer(status, json.dumps(answer).encode())
        self.sent: list[tuple[str, Any]] = []

    def post(self, url: str, body: bytes) -> PostAnswer:
        self.sent.append((url, json.loads(body)))
        return self._answer


@pytest.fixture(scope="module")
def exchanges(recordings: Path) -> list[tuple[Plain, Plain]]:
    """All requests, each with its response; those that were never answered are left out."""
    with lzma.open(recordings / "extender.jsonl.xz", "rt", encoding="utf-8") as recorded:
        lines = [json.loads(line) for line in recorded]
    found: list[tuple[Plain, Plain]] = []
    waiting: list[Plain] = []
    for line in lines:
        if line["what"] == "extender-request":
            waiting.append(line["data"])
        else:
            position = next(i for i, one in enumerate(waiting) if one["path"] == line["data"]["path"])
            found.append((waiting.pop(position), line["data"]))
    return found


def test_every_recorded_request_is_sent_as_it_was(exchanges: list[tuple[Plain, Plain]]) -> None:
    for request, response in exchanges:
        verb, body = request["path"].removeprefix("/ext/"), request["body"]
        poster = Recording(response["status"], response["body"])
        extender = HttpExtender(
            Extender(url_prefix="http://EXTENDER/ext/", node_cache_capable=takes_names(body), **VERBS),
            documents_in(body),
            poster,
        )
        try:
            heard = asked_again(extender, verb, body)
        except CycleError as error:
            heard = error.message
        assert poster.sent == [(f"http://EXTENDER/ext/{verb}", body)]
        assert list(poster.sent[0][1]) == list(body), "in the same order"
        assert heard == expected(verb, response)
    assert len(exchanges) > 80


def takes_names(body: Plain) -> bool:
    return body.get("NodeNames") is not None or body.get("NodeNameToMetaVictims") is not None


def documents_in(body: Plain) -> KeptDocuments:
    """What a watch had shown before: with kind and version, and pods with the owners of their fields."""
    documents = KeptDocuments([Extender(preempt_verb="preempt")])
    for kind, one in objects_in(body):
        meta = one["metadata"]
        if kind == "Pod":
            meta = {**meta, "managedFields": [{"manager": "kubectl"}]}
        shown = json.dumps({"kind": kind, "apiVersion": "v1", **one, "metadata": meta}).encode()
        obj: Object = msgspec.convert(one, Pod) if kind == "Pod" else msgspec.convert(one, Node)
        documents.keep(obj, shown)
    return documents


def objects_in(body: Plain) -> Iterator[tuple[str, Plain]]:
    if "Pod" in body:
        yield "Pod", body["Pod"]
    for one in (body.get("Nodes") or {}).get("items", ()):
        yield "Node", one
    for victims in (body.get("NodeNameToVictims") or {}).values():
        for one in victims["Pods"]:
            yield "Pod", one


def asked_again(extender: HttpExtender, verb: str, body: Plain) -> Any:
    if verb == "bind":
        extender.bind(Bind(f"{body['PodNamespace']}/{body['PodName']}", body["PodUID"], body["Node"]))
        return None
    info = cache_of().info(msgspec.convert(body["Pod"], Pod))
    nodes = body.get("NodeNames") or [one["metadata"]["name"] for one in (body.get("Nodes") or {}).get("items", ())]
    if verb == "filter":
        return extender.ask_filter(info, nodes)
    if verb == "prioritize":
        return extender.ask_scores(info, nodes)
    given = body["NodeNameToVictims"] or body["NodeNameToMetaVictims"]
    return extender.ask_victims(info, {name: as_victims(on_node) for name, on_node in given.items()})


def as_victims(on_node: Plain) -> Victims:
    pods = [
        ExtenderVictim(f"{one['metadata']['namespace']}/{one['metadata']['name']}", one["metadata"]["uid"])
        if "metadata" in one
        else ExtenderVictim("", one["UID"])
        for one in on_node["Pods"]
    ]
    return Victims(tuple(pods), on_node["NumPDBViolations"])


def expected(verb: str, response: Plain) -> Any:
    """What the answer says, read in the simplest way."""
    status, body = response["status"], response["body"]
    if status != 200:
        return f"failed {verb} with extender at URL http://EXTENDER/ext/{verb}, code {status}"
    if verb != "prioritize" and body.get("Error"):
        return body["Error"]
    match verb:
        case "filter":
            names, listed = body.get("NodeNames"), body.get("Nodes")
            nodes = names if names is not None else [one["metadata"]["name"] for one in (listed or {}).get("items", ())]
            failed, never = body.get("FailedNodes") or {}, body.get("FailedAndUnresolvableNodes") or {}
            return FilterAnswer(tuple(nodes), failed, never, as_objects=names is None)
        case "prioritize":
            return [(one["Host"], one["Score"]) for one in body]
        case "preempt":
            return {
                name: ChosenVictims(tuple(one["UID"] for one in on_node["Pods"]), on_node["NumPDBViolations"])
                for name, on_node in body["NodeNameToMetaVictims"].items()
            }
    return None


# ---------------------------------------------------------------------- answers in all their forms


def extender_for(url: str, **fields: Any) -> HttpExtender:
    objects: dict[tuple[str, str, str], Object] = {("Node", "", name): node(name).obj() for name in "ab"}
    objects["Pod", "default", "p"] = pod("p").obj()
    configuration = Extender(url_prefix=url, **{**VERBS, "node_cache_capable": True, **fields})
    (extender,) = connect_extenders([configuration], encoded(lambda *place: objects.get(place)))
    return extender


def info(name: str = "p") -> PodInfo:
    return cache_of().info(pod(name).obj())


def ask(verb: str, reply: Reply, **fields: Any) -> Any:
    """What comes of a question; a text where it is an error, with URL for the address."""
    with serving({f"/ext/{verb}": reply}) as server:
        extender = extender_for(server.url, **fields)
        try:
            match verb:
                case "filter":
                    return extender.ask_filter(info(), ["a", "b"])
                case "prioritize":
                    return extender.ask_scores(info(), ["a", "b"])
                case "preempt":
                    return extender.ask_victims(info(), {"a": Victims((ExtenderVictim("default/p", "u"),), 0)})
            return bind_by_extender([extender], Bind("default/p", "uid", "n", server.url)).error
        except CycleError as error:
            return error.message.replace(server.url, "URL/")
        finally:
            extender.close()


@pytest.mark.parametrize(
    ("answer", "heard"),
    [
        ({"NodeNames": ["a"]}, FilterAnswer(("a",))),
        ({"nodenames": ["a"], "failedNodes": {"b": "no"}}, FilterAnswer(("a",), {"b": "no"})),
        ({"NodeNames": []}, FilterAnswer()),
        # Names win over objects; without names the objects count, whatever was asked for.
        ({"NodeNames": ["b"], "Nodes": {"items": [{"metadata": {"name": "a"}}]}}, FilterAnswer(("b",))),
        ({"Nodes": {"items": [{"metadata": {"name": "a"}}]}}, FilterAnswer(("a",), as_objects=True)),
        ({"NodeNames": None, "Nodes": {"items": None}, "FailedNodes": None}, FilterAnswer(as_objects=True)),
        ({}, FilterAnswer(as_objects=True)),
        (
            {"unknown": 1, "FailedAndUnresolvableNodes": {"a": "never"}, "nodeNames": []},
            FilterAnswer((), {}, {"a": "never"}),
        ),
        ({"NodeNames": ["a"], "Error": "no thanks"}, "no thanks"),
        ({"error": "no thanks"}, "no thanks"),
        (b"", "EOF"),
        (b"null", FilterAnswer(as_objects=True)),
    ],
)
def test_filter_answers(answer: Any, heard: Any) -> None:
    assert ask("filter", (200, answer)) == heard


def test_where_objects_are_asked_for_names_do_not_count() -> None:
    answer = {"NodeNames": ["a", "b"], "Nodes": {"items": [{"metadata": {"name": "a"}}]}}
    assert ask("filter", (200, answer), node_cache_capable=False) == FilterAnswer(("a",), as_objects=True)


@pytest.mark.parametrize(
    ("answer", "heard"),
    [
        ([{"Host": "a", "Score": 1}, {"host": "b", "score": 10}], [("a", 1), ("b", 10)]),
        ([{"Host": "a"}, {"Score": 3}], [("a", 0), ("", 3)]),
        ([], []),
        (None, []),
    ],
)
def test_prioritize_answers(answer: Any, heard: Any) -> None:
    assert ask("prioritize", (200, answer)) == heard


@pytest.mark.parametrize(
    ("answer", "heard"),
    [
        (
            {"nodeNameToMetaVictims": {"a": {"pods": [{"uid": "u"}], "numPDBViolations": 2}}},
            {"a": ChosenVictims(("u",), 2)},
        ),
        ({"NodeNameToMetaVictims": {"a": {"Pods": None}, "b": None}}, {"a": ChosenVictims(), "b": ChosenVictims()}),
        ({"NodeNameToMetaVictims": None}, {}),
        ({}, {}),
    ],
)
def test_preempt_answers(answer: Any, heard: Any) -> None:
    assert ask("preempt", (200, answer)) == heard


@pytest.mark.parametrize(
    ("reply", "heard"),
    [
        ((200, {"Error": ""}), ""),
        ((200, {}), ""),
        ((200, {"Error": "cannot bind"}), "cannot bind"),
        ((200, {"error": "cannot bind"}), "cannot bind"),
    ],
)
def test_bind_answers(reply: Reply, heard: str) -> None:
    assert ask("bind", reply) == heard


@pytest.mark.parametrize("verb", ["filter", "prioritize", "preempt"])
@pytest.mark.parametrize(
    ("reply", "heard"),
    [
        ((500, "boom"), "failed VERB with extender at URL/VERB, code 500"),
        ((302, ""), "failed VERB with extender at URL/VERB, code 302"),
        ((201, {}), "failed VERB with extender at URL/VERB, code 201"),
        ((200, b"<html>"), "the extender's answer cannot be read: JSON is malformed"),
        ((200, b'"text"'), "the extender's answer cannot be read: Expected"),
    ],
)
def test_answers_that_are_none(verb: str, reply: Reply, heard: str) -> None:
    found = ask(verb, reply)
    assert isinstance(found, str)
    assert found.startswith(heard.replace("VERB", verb).replace("at URL/", "at URL URL/"))


@pytest.mark.parametrize(
    ("verb", "answer"),
    [
        ("filter", {"NodeNames": [1]}),
        ("filter", {"FailedNodes": ["a"]}),
        ("prioritize", [{"Host": "a", "Score": 1.5}]),
        ("prioritize", [{"Host": "a", "Score": 2**63}]),
        ("preempt", {"NodeNameToMetaVictims": {"a": {"Pods": [{"UID": 1}]}}}),
    ],
)
def test_answers_of_another_type_are_refused(verb: str, answer: Any) -> None:
    assert ask(verb, (200, answer)).startswith("the extender's answer cannot be read: Expected")


def test_an_extender_that_hangs_costs_its_timeout() -> None:
    said = ask("filter", None, http_timeout_ns=50_000_000)
    text = 'Post "URL/filter": context deadline exceeded (Client.Timeout exceeded while awaiting headers)'
    assert said == text


def test_extenders_are_asked_for_scores_at_the_same_time() -> None:
    """Each answers only when all have been asked."""
    all_asked = Barrier(3)

    def answer(_: Request) -> Reply:
        all_asked.wait(timeout=10)
        return 200, [{"Host": "a", "Score": 1}]

    with serving({"/ext/prioritize": answer}) as server:
        extenders = [extender_for(server.url) for _ in range(3)]
        waiting = [extender.begin_scores(info(), ["a"]) for extender in extenders]
        assert [wait() for wait in waiting] == [[("a", 1)]] * 3
        for extender in extenders:
            extender.close()


def test_trouble_is_reported_when_it_is_new() -> None:
    """What fails for every pod is said once; nobody else hears of extenders that are ignored."""
    replies = iter([500, 500, 503, 200, 503])
    told: list[str] = []
    with serving({"/ext/prioritize": lambda _: (next(replies), [])}) as server:
        configuration = Extender(url_prefix=server.url, node_cache_capable=True, **VERBS)
        extender = HttpExtender(configuration, encoded(lambda *_: pod("p").obj()), on_trouble=told.append)
        for _ in range(5):
            with suppress(CycleError):
                extender.ask_scores(info(), ["a"])
        extender.close()
    assert [text[-3:] for text in told] == ["500", "503", "503"]
    assert told[0].startswith(f"extender {server.url} gives no answer: failed prioritize with extender at URL ")


def test_all_slashes_at_the_end_of_the_prefix_are_cut_in_addresses_and_kept_in_the_name() -> None:
    with serving({"/ext/filter": (200, {})}) as server:
        extender = extender_for(f"{server.url}//")
        extender.ask_filter(info(), ["a"])
        extender.close()
        assert extender.name == f"{server.url}//"


def test_an_object_that_nobody_knows_is_not_made_up() -> None:
    with serving({}) as server:
        extender = extender_for(server.url, node_cache_capable=False)
        with pytest.raises(CycleError, match='pod "unknown" not found'):
            extender.ask_filter(info("unknown"), ["a"])
        with pytest.raises(CycleError, match='node "zzz" not found'):
            extender.ask_filter(info(), ["zzz"])
        assert server.requests == []


def test_a_binding_goes_to_the_extender_that_binds() -> None:
    with serving({"/ext/bind": (200, {})}) as server:
        extenders = [extender_for(server.url, bind_verb=""), extender_for(server.url)]
        assert bind_by_extender(extenders, Bind("default/p", "uid", "n", server.url)) == BindAnswered(
            "default/p", "uid"
        )
        (request,) = server.requests
        extenders[1].close()
    assert request.body == b'{"PodName":"p","PodNamespace":"default","PodUID":"uid","Node":"n"}'


FOO: Plain = {"example.com/foo": 1}


@pytest.mark.parametrize(
    ("asking", "interested"),
    [
        (pod("p").request({"example.com/foo": 1}), True),
        (pod("p").limit({"example.com/foo": 1}), True),
        (pod("p").init("i", **FOO), True),
        (pod("p").request({"example.com/bar": 1}), False),
        (pod("p").cpu(1), False),
    ],
)
def test_managed_resources_say_which_pods_are_its_business(asking: Any, interested: bool) -> None:
    subject = cache_of().info(asking.obj())
    managed = extender_for("http://e", managed_resources=(ManagedResource(name="example.com/foo"),))
    assert managed.is_interested(subject) is interested
    assert extender_for("http://e").is_interested(subject)


def test_a_port_that_is_none_is_bad_input() -> None:
    with pytest.raises(InvalidObject, match="extender http://e:many: Port could not be cast to integer"):
        extender_for("http://e:many")


def test_an_empty_verb_is_one_it_does_not_support() -> None:
    plain = extender_for("http://e", filter_verb="", prioritize_verb="", preempt_verb="", bind_verb="")
    assert not any((plain.filters, plain.scores, plain.preempts, plain.binds))
    full = extender_for("http://e", weight=4, ignorable=True)
    assert all((full.filters, full.scores, full.preempts, full.binds))
    assert (full.weight, full.ignorable) == (4, True)
