"""Plays all questions and writes docs/answers-checked.md; fails if an answer does not hold."""

from __future__ import annotations

import sys
import tempfile
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from tests.answers.gang_questions import GANG_QUESTIONS
from tests.answers.questions import QUESTIONS
from tests.answers.table import PAGE, Row, page_of, played, played_on_the_big_cluster

_SMALL = (*QUESTIONS, *GANG_QUESTIONS)
#: They mostly wait.
_AT_ONCE = 4


def main() -> int:
    with ProcessPoolExecutor(_AT_ONCE) as pool:
        on_the_big_one = pool.submit(_played_on_the_big_cluster)
        rows = [*pool.map(_played, range(len(_SMALL))), *on_the_big_one.result()]
    wrong = [row for row in rows if row.checked.happened != row.checked.said]
    for row in wrong:
        sys.stderr.write(f"{row.question.name}\n  said: {row.checked.said}\n  happened: {row.checked.happened}\n")
    if not wrong:
        PAGE.write_text(page_of(rows), encoding="utf-8")
    sys.stdout.write(f"{len(rows)} questions, {len(wrong)} of them answered wrongly\n")
    return 1 if wrong else 0


def _played(number: int) -> Row:
    with tempfile.TemporaryDirectory(prefix="bayplan-") as folder:
        return played(_SMALL[number], Path(folder))


def _played_on_the_big_cluster() -> list[Row]:
    with tempfile.TemporaryDirectory(prefix="bayplan-") as folder:
        return played_on_the_big_cluster(Path(folder))


if __name__ == "__main__":
    sys.exit(main())
