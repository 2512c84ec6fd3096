"""What a shadow found: how often it agrees, and each difference.

Takes the document of `Findings.to_dict`. Tables are cut to the length that a caller asks for, and say so.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from bayplan.report.answers.parts import Heading, Part, Sentence, Tone
from bayplan.report.answers.tables import table_of
from bayplan.report.words import counted, examples

Plain = Mapping[str, Any]

#: What each kind of agreement means, in the order in which it is told.
MEANINGS = {
    "same": "the same",
    "tied": "equally good: a tie, broken at random",
    "moved": "the cluster had changed in between; on the same state, both agree",
    "different": "different",
    "onlyTheirs": "only kube-scheduler",
    "onlyOurs": "only bayplan",
}
_SHOWN = 10
_AGREED = ("same", "tied", "moved")
_SAMPLE_NOTE = (
    "In clusters of more than 100 nodes, kube-scheduler evaluates a sample of the nodes, and it tries only some of the "
    "candidates for preemption. It may never have evaluated a better one. percentageOfNodesToScore: 100 disables this."
)


def answer(found: Plain) -> str:
    """The one sentence that counts."""
    placements = found["placements"]
    total = sum(placements.values())
    if not total:
        return f"Nothing to compare yet: no pod was seen to get a node ({counted(found['decisions'], 'decision')})."
    agreed = sum(placements[kind] for kind in _AGREED)
    return f"bayplan agrees with {agreed:,} of {counted(total, 'placement')} ({100 * agreed / total:.1f}%)."


def shadow_parts(found: Plain, at_most: int = _SHOWN) -> Iterator[Part]:
    """Counts first, then each kind of difference that there is, the latest first."""
    yield Sentence(answer(found))
    times = f"{found['startedAt']} to {found['endedAt']}"
    yield Sentence(f"{times}, {counted(found['decisions'], 'decision')} of bayplan", Tone.FAINT)
    yield Heading("Decisions compared")
    kinds = [(kind, meaning) for kind, meaning in MEANINGS.items() if _counts_of(found, kind) != (0, 0, 0)]
    titles = ("", "placements", "preemptions", "messages")
    yield table_of(titles, [(meaning, *_counts_of(found, kind)) for kind, meaning in kinds], titles[1:])
    differences = [
        ("Placed differently", _SAMPLE_NOTE, ("pod", "bayplan", "kube-scheduler", "why"), "placement", _placement),
        ("Evicted differently", "", ("pod", "bayplan", "kube-scheduler"), "preemption", _preemption),
        ("Explained differently", "", ("pod", "bayplan", "kube-scheduler"), "message", _message),
    ]
    for title, note, columns, kind, row in differences:
        latest = found[f"{kind}Differences"][::-1]
        if not latest:
            continue
        yield Heading(title)
        more = f" The latest {at_most:,} are shown." if len(latest) > at_most else ""
        if said := (note + more).strip():
            yield Sentence(said, Tone.FAINT)
        yield table_of(columns, map(row, latest[:at_most]), flexible=columns[1:])


def _counts_of(found: Plain, kind: str) -> tuple[int, int, int]:
    return found["placements"][kind], found["preemptions"][kind], found["messages"][kind]


def _placement(difference: Plain) -> tuple[str, ...]:
    return difference["pod"], difference["ours"] or "nowhere", difference["theirs"] or "nowhere", difference["why"]


def _preemption(difference: Plain) -> tuple[str, ...]:
    return (
        difference["pod"],
        _evicted(difference["ourNode"], difference["ourVictims"]),
        _evicted(difference["theirNode"], difference["theirVictims"]),
    )


def _evicted(node: str, victims: Sequence[str]) -> str:
    return f"{examples(list(victims), 3)} from {node}" if victims else "none"


def _message(difference: Plain) -> tuple[str, ...]:
    return difference["pod"], difference["ours"] or "(nothing yet)", difference["theirs"]
