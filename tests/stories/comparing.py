"""Two accounts of one story, recorded and played, and where they differ.

Compared are, for each pod and channel, what was seen, in order, word for word, and when; between pods, the order of
their bindings, and of all requests where an account has them. What upstream leaves to chance is left open: which of
equal nodes is taken (`Terms.ties`), and which of the pods of one controller has which fate. What bayplan does otherwise
on purpose is named in `Terms.apart`, with the reason; a reason that no longer applies is a difference too.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations, permutations

from tests.scenarios.transcript import Seen
from tests.stories.recording import MILLISECOND, Story

#: The scheduler sends from several goroutines: closer together than this, order says nothing.
SWAPPED_WITHIN = 10 * MILLISECOND

Fate = tuple[tuple[str, str], ...]  # channel and what was seen, channel by channel


@dataclass(frozen=True, slots=True)
class Apart:
    """Something that is seen in one account only, on purpose."""

    pod: str  # without namespace
    what: str  # the beginning of what is seen
    why: str
    recorded: bool = True  # whether it is upstream that does it
    is_last: bool = False  # the last of its kind, not the first


@dataclass(frozen=True, slots=True)
class Terms:
    """On which terms two accounts agree."""

    tolerance_ms: int = 60
    ties: tuple[str, ...] = ()  # nodes that are equal: whichever upstream took first, ours may be another
    racing: tuple[str, ...] = ()  # what others than the scheduler do, or are too late to do
    equal: tuple[str, ...] = ()  # nodes among which each pod's choice is upstream's chance
    apart: tuple[Apart, ...] = ()
    sooner: tuple[tuple[str, int, str], ...] = ()  # pod, by how many milliseconds at most it goes on sooner, why


@dataclass(slots=True)
class Life:
    """All that was seen of one pod."""

    pod: str
    seen: list[Seen]

    @property
    def fate(self) -> Fate:
        return tuple((one.channel, one.what) for one in self.seen)


def compare(story: Story, played: Sequence[Seen], terms: Terms) -> list[str]:
    """Where the accounts differ; nothing if they agree."""
    recorded, unused = _without(story, _without_chance(story.seen, terms), terms, recorded=True)
    ours, unused_of_ours = _without(story, _without_chance(played, terms), terms, recorded=False)
    found = [
        _differences(story, recorded, [_with_nodes(one, renamed) for one in ours], terms)
        for renamed in _renamings(terms.ties)
    ]
    return [*unused, *unused_of_ours, *min(found, key=len)]


def _renamings(ties: tuple[str, ...]) -> list[dict[str, str]]:
    return [dict(zip(ties, order, strict=True)) for order in permutations(ties)]


def _without_chance(seen: Sequence[Seen], terms: Terms) -> list[Seen]:
    """Without races of others, and with the first of the equal nodes for all of them."""
    renamed = dict.fromkeys(terms.equal, terms.equal[0]) if terms.equal else {}
    return [_with_nodes(one, renamed) for one in seen if one.what not in terms.racing]


def _with_nodes(one: Seen, renamed: dict[str, str]) -> Seen:
    if not renamed:
        return one
    nodes = "|".join(map(re.escape, renamed))
    pattern = rf'(\b(?:on|to|node) |"name": "|"nominatedNodeName": ")({nodes})(?="|$)'
    what = re.sub(pattern, lambda found: f"{found[1]}{renamed[found[2]]}", one.what)
    return Seen(one.at, one.pod, one.channel, what)


def _without(story: Story, seen: Sequence[Seen], terms: Terms, *, recorded: bool) -> tuple[list[Seen], list[str]]:
    """What was seen, less what is apart; and what is apart without having been seen."""
    kept = list(seen)
    unused = []
    for apart in terms.apart:
        if apart.recorded is not recorded:
            continue
        key = f"{story.namespace}/{apart.pod}"
        matches = [one for one in kept if one.pod == key and one.what.startswith(apart.what)]
        if not matches:
            unused.append(f"{apart.pod}: expected to be apart, but was not seen: {apart.what}")
            continue
        kept.remove(matches[-1 if apart.is_last else 0])
    return kept, unused


def _differences(story: Story, recorded: list[Seen], ours: list[Seen], terms: Terms) -> list[str]:
    there, here = _lives(story, recorded), _lives(story, ours)
    found = []
    for group in sorted(there.keys() | here.keys()):
        lives, own = there.get(group, []), here.get(group, [])
        if len(lives) != len(own):
            found.append(f"{group}: {len(lives)} pods recorded, {len(own)} played")
            continue
        for life, counterpart in zip(lives, own, strict=True):
            found += _differences_of(life, counterpart, terms)
    return found + _out_of_order(recorded, ours) + _requests_out_of_order(recorded, ours)


def _lives(story: Story, seen: Iterable[Seen]) -> dict[str, list[Life]]:
    """By name, or by controller; those of one controller in the order of their fates."""
    owners = [action["name"] for _, action in story.actions if action["do"] in CONTROLLERS]
    by_pod: dict[str, list[Seen]] = defaultdict(list)
    for one in seen:
        by_pod[one.pod].append(one)
    groups: dict[str, list[Life]] = defaultdict(list)
    for pod, of_pod in by_pod.items():
        owner = next((owner for owner in owners if pod.startswith(f"{owner}-")), None)
        named = pod if owner is None else f"{owner}-*"
        # Sorting is stable: within its channel, everything stays in order.
        by_channel = sorted(of_pod, key=lambda one: one.channel)
        told = [Seen(one.at, named, one.channel, one.what.replace(pod, named)) for one in by_channel]
        groups[named].append(Life(named, told))
    for lives in groups.values():
        lives.sort(key=lambda life: (life.fate, life.seen[0].at))
    return groups


CONTROLLERS = ("create replicaset", "create deployment")


def _differences_of(life: Life, own: Life, terms: Terms) -> list[str]:
    if life.fate != own.fate:
        return [f"{life.pod}: fates differ\n{_account('recorded', life)}\n{_account('played', own)}"]
    sooner_ms = next((ms for pod, ms, _ in terms.sooner if life.pod.endswith(f"/{pod}")), 0)
    earliest = -max(terms.tolerance_ms, sooner_ms) * MILLISECOND
    found = []
    for one, other in zip(life.seen, own.seen, strict=True):
        if not earliest <= other.at - one.at <= terms.tolerance_ms * MILLISECOND:
            late = (other.at - one.at) / MILLISECOND
            found.append(f"{life.pod}: {late:+.0f} ms at {one.at / MILLISECOND:.0f} ms: {one.what}")
    return found


def _account(title: str, life: Life) -> str:
    lines = [f"  {one.at / MILLISECOND:10.1f} {one.channel:8} {one.what}" for one in life.seen]
    return "\n".join([f" {title}:", *lines])


def _out_of_order(recorded: list[Seen], ours: list[Seen]) -> list[str]:
    """Bindings that were sent in another order."""
    sent = {one.pod: one.at for one in ours if one.channel == "binding"}
    bound = [one for one in recorded if one.channel == "binding" and one.pod in sent]
    return [
        f"{second.pod} was bound before {first.pod}"
        for first, second in combinations(bound, 2)
        if second.at - first.at > SWAPPED_WITHIN and sent[second.pod] < sent[first.pod]
    ]


def _requests_out_of_order(recorded: list[Seen], ours: list[Seen]) -> list[str]:
    """Requests of which one was clearly sent before another, and here the other way round."""
    sent = _numbered(ours)
    asked = [(name, at) for name, at in _numbered(recorded).items() if name in sent]
    return [
        f"{second}: sent before {first}"
        for (first, at), (second, later) in combinations(sorted(asked, key=lambda one: one[1]), 2)
        if later - at > SWAPPED_WITHIN and sent[first] - sent[second] > SWAPPED_WITHIN
    ]


def _numbered(seen: list[Seen]) -> dict[str, int]:
    """When the first, second, … request of each kind about each pod was sent."""
    counts: dict[tuple[str, str], int] = defaultdict(int)
    times = {}
    for one in seen:
        if one.channel.startswith("request"):
            counts[one.pod, one.channel] += 1
            times[f"{one.pod}: {one.channel} {counts[one.pod, one.channel]}"] = one.at
    return times
