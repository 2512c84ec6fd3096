"""What differs between two runs of one story though both are right: uids, times, versions, made-up names."""

from __future__ import annotations

import re
from collections.abc import Iterator

_SAFE = "bcdfghjklmnpqrstvwxz2456789"
#: `web-584f8d958d-gq99g`, `web-584f8d958d`, `once-77rq7`, `gen-zbhtv`: names with parts that controllers or the server
#: made up. A hash has eight to ten of the safe letters, a suffix five.
_GENERATED = re.compile(
    rf"\b((?:[a-z0-9]+-)*?[a-z][a-z0-9]*?)-([{_SAFE}]{{8,10}}-[{_SAFE}]{{5}}|[{_SAFE}]{{8,10}}|[{_SAFE}]{{5}})\b"
)
_MASKS = [
    (re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"), "UID"),
    (re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?(Z| [+-]\d{4})"), "TIME"),
    (re.compile(r"(Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d\d \w{3} \d{4} \d\d:\d\d:\d\d [+-]\d{4}"), "TIME"),
    (re.compile(r'(resourceVersion"?: ?"?)\d+'), r"\1VERSION"),
    (re.compile(r"https?://(?:\w+:[\w-]+@)?\d+\.\d+\.\d+\.\d+:\d+(/token=[\w-]+)?"), "SERVER"),
    (re.compile(r"\b127\.0\.0\.1:\d+\b|\b192\.0\.2\.\d+:\d+\b"), "SERVER"),
    (
        re.compile(
            r"(?<![\w.-])(\d+d)?(\d+h)?(\d+m)?\d+(\.\d+)?(ms|s)(?![\w.])|(?<![\w.-])\d+m(?![\w.])(?= *$)", re.MULTILINE
        ),
        "AGE",
    ),
    (re.compile(r"\.[0-9a-f]{16}\b"), ".STAMP"),
    (re.compile(r"10\.\d+\.\d+\.\d+"), "ADDRESS"),
    (re.compile(r"(\$DIR|/tmp)/[\w./-]+"), "FILE"),
    (re.compile(r"E\d{4} \d\d:\d\d:\d\d\.\d+ +\d+ "), "LOG "),
    # How a stand-in for kubelets and bayplan's call the containers that neither runs.
    (re.compile(r"(fake|bayplan)://"), "CONTAINER://"),
    (re.compile(r"default-scheduler-[\w.-]+"), "default-scheduler-HOST"),
    (re.compile(r"(pod-template-hash\"?[=:] ?\"?)\w+"), r"\1HASH"),
    # The recording left out the prose of descriptions.
    (re.compile(r"(DESCRIPTION:\n)(    .*\n| *\n)*"), r"\1PROSE\n"),
    # How many steps of a rollout are seen is a matter of how soon one looks.
    (re.compile(r"^Waiting for .*\n", re.MULTILINE), ""),
    # The recording's stand-in for kubelets.
    (re.compile(r'(manager"?: "?)(Python|kubelet)\b'), r"\1KUBELET"),
    (re.compile(r"[ \t]+"), " "),
    (re.compile(r"(<none>) \d+m "), r"\1 AGE "),
    (re.compile(r" +$", re.MULTILINE), ""),
    (re.compile(r"-{3,}"), "---"),
]
#: Which of equally good nodes a pod gets is drawn by chance.
_PLACES = re.compile(r"\b(n[1-9]|z[1-9])\b")


def masked(text: str) -> str:
    """The text without what may differ."""
    for pattern, instead in _MASKS:
        text = pattern.sub(instead, text)
    return _GENERATED.sub(r"\1-GENERATED", text)


def without_chance(text: str) -> list[str]:
    """The lines of a masked text, in order of their content: names that are made up decide the order of lists."""
    return sorted(_PLACES.sub("PLACE", text).splitlines())


def generated_names(text: str) -> Iterator[str]:
    """Names with made-up parts, in the order in which they stand in the text."""
    for match in _GENERATED.finditer(text):
        yield match.group(0)
