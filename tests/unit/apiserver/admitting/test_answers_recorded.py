"""Documents of all kinds, good and bad, that a real API server (v1.36.4) was sent, and its whole answers.

Those of `admission_drawn` were drawn because each of them reached something in the checks that none before did; those
of `admission_tables` are documents that say much, with one thing changed: each bound at, below and above it, each word
of an enumeration and one that is none, each field empty or missing.

Those that are answered differently are listed by reason in `admission_differences.txt`. The list only shrinks: a case
that comes to agree must be taken off it.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.recorded_answers import Replay, read_cases

FILES = {"admission.jsonl.xz": 6, "admission_drawn.jsonl.xz": 6, "admission_tables.jsonl.xz": 6}
"""In how many parts each file is played."""


def known_differences(file: Path) -> dict[str, str]:
    """Why each case differs, by its id; a line that begins with `#` is the reason of those after it."""
    found, reason = {}, ""
    for line in file.read_text(encoding="utf-8").splitlines():
        if line.startswith("#"):
            reason = line.removeprefix("#").strip()
        else:
            found.update(dict.fromkeys(line.split(), reason))
    return found


@pytest.mark.parametrize(("file", "part"), [(file, part) for file, parts in FILES.items() for part in range(parts)])
def test_documents_are_answered_as_recorded(recordings: Path, file: str, part: int) -> None:
    known = known_differences(recordings / "admission_differences.txt")
    replay, surprises, agreeing = Replay(), {}, []
    for case in read_cases(recordings / file)[part :: FILES[file]]:
        differences = replay.differences(case)
        if differences and case["id"] not in known:
            surprises[case["id"]] = (case["kind"], differences[:3])
        if not differences and case["id"] in known:
            agreeing.append(case["id"])
    assert not surprises, "\n".join(f"{name}: {what}" for name, what in surprises.items())
    assert not agreeing, f"take these off admission_differences.txt: {agreeing}"


def test_every_known_difference_is_a_recorded_case_with_a_reason(recordings: Path) -> None:
    known = known_differences(recordings / "admission_differences.txt")
    cases = [case for file in FILES for case in read_cases(recordings / file)]
    assert known.keys() <= {case["id"] for case in cases}
    assert all(known.values())
    assert len(known) < len(cases) // 100 * 10
