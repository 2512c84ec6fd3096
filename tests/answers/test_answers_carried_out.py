"""Answers carried out with the real kubectl on a running cluster: what they said is what happens."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from tests.answers.gang_questions import GANG_QUESTIONS
from tests.answers.questions import QUESTIONS, Question
from tests.answers.table import PAGE, line_of, played

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("kubectl") is None, reason="no kubectl on the path"),
]


#: `make answers` plays all of them.
PLAYED = (*QUESTIONS[::3], *GANG_QUESTIONS[::4])


@pytest.mark.parametrize("question", PLAYED, ids=lambda question: question.name)
def test_what_the_answer_says_is_what_happens(question: Question, tmp_path: Path) -> None:
    row = played(question, tmp_path)
    assert row.checked.happened == row.checked.said, f"{row.answer}\n{row.checked.done}"
    assert line_of(row) in PAGE.read_text(encoding="utf-8"), "the page is out of date: make answers"
