"""The recorded stories hold over HTTP: what `bayplan run` is made of, in front of an API server.

As in `test_stories` every condition, nomination and event must be seen as it was recorded. Beyond that the requests
must be the recorded ones, with the same bodies but for times, uids and versions, in the same order where the recorded
order says anything. Where the recorder refused, lost or held up requests, the same happens here.

What differs on purpose in every story: a victim is deleted with its uid as precondition, so that no other pod of its
name can be hit, and volumes are read before they are written (reads are not compared; see decision 0021).
"""

from __future__ import annotations

import lzma
import time
from collections import Counter
from dataclasses import replace
from itertools import product
from pathlib import Path
from types import SimpleNamespace

import pytest
from tests.scenarios.transcript import Seen
from tests.stories.comparing import Apart, Terms, compare
from tests.stories.electing import RefusedLease, TwoSchedulers
from tests.stories.extending import EXTENDERS
from tests.stories.extending_over_http import ExtendedOverHttp
from tests.stories.over_http import ForeignOverHttp, HttpPlay, RestartOverHttp
from tests.stories.recording import MILLISECOND, Story, read_stories
from tests.stories.starting import StartToEnd, asked_in, recorded_lines
from tests.stories.test_stories import (
    CROWDED,
    GOES_AT_ONCE,
    NO_ERROR_ON_RUNNING,
    NO_LAST_WORDS,
    ONE_EVICTION,
    STORIES,
    outcome,
)
from tests.stories.troubled_watches import ServerDown, TroubledWatches

from bayplan.apiserver.http import watching
from bayplan.client import event_writes, sending
from bayplan.client.backoff import RetryDelays
from bayplan.worlds import embedded

DONE_ALREADY = "a volume that is kept for the claim already is not written again"
ASKED_AGAIN = "a binding whose answer was lost is asked for again at once, and is no failure (decision 0010)"
NOT_HELD_UP = "a status patch that is answered late holds up no other pod"

#: The server here is quicker than the recorded one.
TOLERANCE_MS = 120
#: Hundreds of requests end late on a machine, or in a process, that has other work; none is sent before its time.
BUSY_S = 3.0
FAILURE = 'POST event {"action": "Scheduling"'
CONDITION = 'PATCH status application/strategic-merge-patch+json {"status": {"conditions"'

#: Requests that are apart in stories that `test_stories` has, too.
REQUESTS_APART: dict[str, tuple[Apart, ...]] = {
    "d_race": tuple(
        Apart(pod, request, ONE_EVICTION, is_last=True)
        for pod, request in product(("low1", "low2"), ("PATCH status", "DELETE pod", "PATCH event"))
    ),
    "j_foreign": (
        Apart("byhand", FAILURE, NO_ERROR_ON_RUNNING),
        Apart("byhand", CONDITION, NO_ERROR_ON_RUNNING),
    ),
    "p_prebind": (
        Apart("data", "PUT volume", DONE_ALREADY, is_last=True),
        Apart("data", "gets pv1", DONE_ALREADY, is_last=True),
    ),
    "p_delete": (Apart("vol", FAILURE, NO_LAST_WORDS), Apart("vol", CONDITION, NO_LAST_WORDS)),
    "l_nodes": (Apart("p3", FAILURE, GOES_AT_ONCE, is_last=True),),
    "l_names": (Apart("p3", FAILURE, GOES_AT_ONCE, is_last=True),),
}

LOST = ('Warning FailedScheduling: running Bind plugin "Default', "PodScheduled=False SchedulerError: running Bind")
MORE: dict[str, Terms] = {
    "m_bind409": Terms(),
    "m_bind500": Terms(),
    "m_bindtimeout": Terms(
        sooner=(("q", 1400, ASKED_AGAIN),),
        apart=tuple(
            Apart(pod, what, ASKED_AGAIN if pod == "q" else NO_ERROR_ON_RUNNING)
            for pod, what in product("qrt", (*LOST, FAILURE, CONDITION))
        ),
    ),
    "m_status409": Terms(),
    "m_victim": Terms(),
    "m_nnn": Terms(),
    "m_event": Terms(),
    "l_slow": Terms(),
    "m_eventdrop": Terms(tolerance_ms=5_000),  # tried again after 10 to 12.5 seconds, twice
    "s_block": Terms(sooner=(("fits", 1_750, NOT_HELD_UP),)),
    "s_patch503": Terms(),
    "series": Terms(tolerance_ms=200),
}
#: Minutes of virtual time.
LONG = {"flush", "series"}
RATE, REFUSED_RATE, START, ELECTION, REFUSED_LEASE = "n_rate", "n_rate2", "start", "k", "m_lease"
DISCOVERY = "GET /apis/events.k8s.io/v1"
#: With what is drawn for the pauses before a list: near enough to what the real scheduler drew.
WATCHES: dict[str, tuple[type[TroubledWatches], float]] = {
    "m_watch": (TroubledWatches, 0.27),
    "m_down": (ServerDown, 0.5),
}
PLAYED = {*STORIES, *MORE, *WATCHES, CROWDED, RATE, REFUSED_RATE, START, ELECTION, REFUSED_LEASE}


@pytest.fixture(autouse=True)
def _pauses_of_one_length(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is sent again after a pause of random length is sent before the story ends."""
    for module in (event_writes, sending):
        monkeypatch.setattr(module, "random", SimpleNamespace(random=lambda: 0.5))


PLAYS: dict[str, type[HttpPlay]] = {
    "j_foreign": ForeignOverHttp,
    "r_restart": RestartOverHttp,
    **dict.fromkeys(EXTENDERS, ExtendedOverHttp),
}


def terms_of(name: str) -> Terms:
    terms = MORE[name] if name in MORE else STORIES[name]
    apart = (*terms.apart, *REQUESTS_APART.get(name, ()))
    return replace(terms, tolerance_ms=max(terms.tolerance_ms, TOLERANCE_MS), apart=apart)


@pytest.fixture(scope="module")
def stories(recordings: Path) -> dict[str, Story]:
    return read_stories(recordings / "stories.jsonl.xz", PLAYED)


@pytest.fixture(autouse=True)
def _precise(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    """Watches show each change by itself, and controllers are on time, as in the recorded cluster."""
    monkeypatch.setattr(watching, "GATHERING_SECONDS", 0.0)
    is_long = any(name in request.node.name for name in LONG)
    monkeypatch.setattr(embedded, "_SLEEP_MAX_S", 0.1 if is_long else 0.02)


def test_every_recorded_story_is_played(recordings: Path) -> None:
    with lzma.open(recordings / "stories.jsonl.xz", "rt") as lines:
        recorded = {line.split('"', 4)[3] for line in lines}  # {"story": "NAME", …
    assert recorded == PLAYED


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=pytest.mark.slow) if name in LONG else name for name in (*STORIES, *MORE)],
)
def test_a_story_holds_over_http(name: str, stories: dict[str, Story], tmp_path: Path) -> None:
    story = stories[name]
    played = PLAYS.get(name, HttpPlay)(story, tmp_path).account()
    recorded = replace(story, seen=[*story.seen, *story.requests])
    differences = compare(recorded, [*played.seen, *played.requests], terms_of(name))
    assert not differences, "\n".join(differences)
    assert len(played.requests) >= 2  # something was asked, and written down


@pytest.mark.parametrize("name", ["x_scores", "x_ties1", "x_ties16"])
def test_of_equal_nodes_the_smallest_name_is_taken(name: str, stories: dict[str, Story], tmp_path: Path) -> None:
    """Upstream leaves it to chance. In `x_scores` n1 is nearly full: it is equal because scores do not see its pods."""
    played = PLAYS.get(name, HttpPlay)(stories[name], tmp_path).account()
    assert {one.what for one in played.seen if one.channel == "binding"} == {"to n1"}


@pytest.mark.parametrize("name", WATCHES)
def test_watches_in_trouble(
    name: str, stories: dict[str, Story], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Lists and watches of pods have the recorded queries, in order; pods are bound once they are seen again."""
    play, pause = WATCHES[name]
    monkeypatch.setattr(RetryDelays.__init__, "__defaults__", (time.monotonic, lambda: pause))
    story = stories[name]
    played = play(story, tmp_path).account()
    recorded = replace(story, seen=[*story.seen, *story.requests])
    differences = compare(recorded, [*played.seen, *played.requests], Terms(tolerance_ms=1_500))
    assert not differences, "\n".join(differences)
    if name == "m_watch":
        asked = [query for at, query in played.reads if at > 0]
        assert asked == [query for _, query in story.reads]


def test_a_process_from_start_to_end(stories: dict[str, Story], recordings: Path, tmp_path: Path) -> None:
    """Eighteen watches in any order, then the Lease: taken, renewed every two seconds, and given back.

    Whether the server has the new API for events is not asked: every server that is supported has it.
    """
    recorded = asked_in(recorded_lines(recordings / "stories.jsonl.xz", START))
    played = asked_in(StartToEnd(stories[START], tmp_path).lines())
    assert {one.what for one in played if one.is_watch} == {one.what for one in recorded if one.is_watch}
    ours, theirs = ([one for one in asked if one.is_of_election] for asked in (played, recorded))
    assert [one.what for one in ours] == [one.what for one in theirs]
    assert [one.at_ms for one in ours] == [pytest.approx(one.at_ms, abs=TOLERANCE_MS) for one in theirs]
    others = [one.what for one in recorded if not one.is_watch and not one.is_of_election]
    assert others == [DISCOVERY]
    with_headers = {one.what: one[2:5] for one in recorded if one.agent}
    assert {one.what: one[2:5] for one in played if one.what in with_headers} == {
        what: headers for what, headers in with_headers.items() if what not in others
    }


def test_two_schedulers_over_http(stories: dict[str, Story], recordings: Path, tmp_path: Path) -> None:
    """One leads, the other waits with its watches open: the same requests of either, when the leader ends or is killed.

    The leader is killed in a moment in which it has nothing on the way; `tests/live` kills it at others.
    """
    lines = recorded_lines(recordings / "stories.jsonl.xz", ELECTION)
    recorded, played = asked_in(lines), asked_in(TwoSchedulers(stories[ELECTION], tmp_path, lines).lines())
    watches = [Counter(one.what for one in asked if one.is_watch) for asked in (played, recorded)]
    assert watches[0] == watches[1]
    for who in "AB":
        ours, theirs = (
            [one for one in asked if one.who == who and not one.is_watch and one.what != DISCOVERY]
            for asked in (played, recorded)
        )
        assert [one.what for one in ours if one.is_of_election] == [one.what for one in theirs if one.is_of_election]
        assert len(ours) > 10
        by_name = [sorted((one.what, one.at_ms) for one in asked) for asked in (ours, theirs)]
        assert [what for what, _ in by_name[0]] == [what for what, _ in by_name[1]]
        assert [at for _, at in by_name[0]] == [pytest.approx(at, abs=TOLERANCE_MS) for _, at in by_name[1]]


def test_a_leader_whose_lease_is_refused(stories: dict[str, Story], recordings: Path, tmp_path: Path) -> None:
    """It tries again as often as it was recorded, goes on when it may, and ends when it could not for ten seconds."""
    lines = recorded_lines(recordings / "stories.jsonl.xz", REFUSED_LEASE)
    played = asked_in(RefusedLease(stories[REFUSED_LEASE], tmp_path, lines).lines())
    ours, theirs = ([one for one in asked if one.at_ms > 0] for asked in (played, asked_in(lines)))
    assert [one.what for one in ours] == [one.what for one in theirs]
    assert [one.at_ms for one in ours] == [pytest.approx(one.at_ms, abs=TOLERANCE_MS) for one in theirs]


def test_three_preemptors_at_once_over_http(stories: dict[str, Story], tmp_path: Path) -> None:
    story = stories[CROWDED]
    played = HttpPlay(story, tmp_path).account()
    assert outcome(played.seen) == outcome(story.seen)
    deleted = Counter(one.pod for one in played.requests if one.what.startswith("DELETE"))
    assert set(deleted.values()) == {1}, ONE_EVICTION


def test_bindings_and_events_follow_qps_and_burst(stories: dict[str, Story], tmp_path: Path) -> None:
    """400 pods at once, 50 requests a second and 100 at first: six seconds, as recorded, for either."""
    played = HttpPlay(stories[RATE], tmp_path).account()
    for channel in ("request binding", "request event"):
        times = times_of(channel, played.requests)
        assert len(times) == 400
        assert is_within_limit(times)
        assert times[-1] - times[0] == pytest.approx(6.0, abs=BUSY_S)


def test_conditions_and_their_events_leave_room_for_those_who_fit(stories: dict[str, Story], tmp_path: Path) -> None:
    """300 pods that do not fit: a condition and an event each, in the 4.3 seconds that were recorded.

    The bodies and the pods of events were not recorded. Upstream waits for each answer (70 a second); here they follow
    the limit. Five pods that fit, later, are bound at once.
    """
    recorded, played = stories[REFUSED_RATE], HttpPlay(stories[REFUSED_RATE], tmp_path).account()
    conditions, events = (times_of(f"request {part}", played.requests) for part in ("status", "event"))
    upstreams = times_of("request status", recorded.requests)
    assert (len(conditions), len(events)) == (300, 305)
    assert is_within_limit(conditions)
    assert conditions[-1] - conditions[0] == pytest.approx(upstreams[-1] - upstreams[0], abs=BUSY_S)
    theirs, ours = (times_of("request binding", story.requests) for story in (recorded, played))
    assert len(ours) == len(theirs) == 5
    assert ours[-1] < theirs[-1]


def times_of(channel: str, requests: list[Seen]) -> list[float]:
    """In seconds."""
    return sorted(one.at / (1_000 * MILLISECOND) for one in requests if one.channel == channel)


def is_within_limit(times: list[float]) -> bool:
    return all(at - times[0] >= (number - 100) / 50 - 0.001 for number, at in enumerate(times))
