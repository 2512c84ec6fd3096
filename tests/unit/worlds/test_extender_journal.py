"""Answers of extenders in a journal: in their order, each to its question."""

from __future__ import annotations

from typing import Any

import pytest
from tests.support.caches import cache_of
from tests.support.extenders import serving

from bayplan.client.extender_documents import encoded
from bayplan.config.schema import Extender
from bayplan.core.framework.extender import ChosenVictims, FilterAnswer
from bayplan.core.framework.verdict import CycleError
from bayplan.testing.builders import pod
from bayplan.worlds.extender_journal import JournaledExtender, replayed_extenders

P = pod("p").obj()
INFO = cache_of().info(P)
VERBS: Any = {"filter_verb": "filter", "prioritize_verb": "prioritize", "preempt_verb": "preempt"}


def answers_of(extender: Any) -> list[Any]:
    return [extender.ask_filter(INFO, ["a"]), extender.begin_scores(INFO, ["a"])(), extender.ask_victims(INFO, {})]


def test_what_was_answered_is_answered_again() -> None:
    noted: list[dict[str, Any]] = []
    replies = {
        "/ext/filter": (200, {"NodeNames": ["a"], "FailedNodes": {"b": "no"}}),
        "/ext/prioritize": (200, [{"Host": "a", "Score": 3}]),
        "/ext/preempt": (200, {"NodeNameToMetaVictims": {"a": {"Pods": [{"UID": "u"}]}}}),
    }
    with serving(replies) as server:
        configuration = Extender(url_prefix=server.url, node_cache_capable=True, **VERBS)
        extender = JournaledExtender(configuration, encoded(lambda *_: P), noted.append)
        given = answers_of(extender)
        extender.close()
    assert given == [FilterAnswer(("a",), {"b": "no"}), [("a", 3)], {"a": ChosenVictims(("u",))}]
    (replaying,) = replayed_extenders([configuration])
    replaying.answers.extend(noted)
    assert answers_of(replaying) == given


def test_an_error_is_noted_and_raised_again() -> None:
    noted: list[dict[str, Any]] = []
    with serving({"/ext/filter": (500, "")}) as server:
        configuration = Extender(url_prefix=server.url, **VERBS)
        extender = JournaledExtender(configuration, encoded(lambda *_: P), noted.append)
        with pytest.raises(CycleError) as raised:
            extender.ask_filter(INFO, [])
        extender.close()
    (replaying,) = replayed_extenders([configuration])
    replaying.answers.extend(noted)
    with pytest.raises(CycleError) as again:
        replaying.ask_filter(INFO, [])
    assert again.value.message == raised.value.message != ""


def test_a_question_that_was_not_asked_then_is_an_error() -> None:
    (replaying,) = replayed_extenders([Extender(url_prefix="http://e", **VERBS)])
    replaying.answers.append({"name": "http://e", "verb": "filter", "answer": {}})
    with pytest.raises(CycleError, match="the journal has no answer of extender http://e to prioritize here"):
        replaying.begin_scores(INFO, [])()
