"""Answers carried out with the real kubectl on a running cluster: what they said is what happens."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from tests.answers.questions import QUESTIONS, Question
from tests.answers.table import played

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("kubectl") is None, reason="no kubectl on the path"),
]


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: question.name)
def test_what_the_answer_says_is_what_happens(question: Question, tmp_path: Path) -> None:
    row = played(question, tmp_path)
    assert row.checked.happened == row.checked.said, f"{row.answer.line}\n{row.checked.done}"
