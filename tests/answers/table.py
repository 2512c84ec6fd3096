"""Every question of the table asked, carried out and compared; and the table as a document."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path

from tests.answers.asking import DUMP, Asker
from tests.answers.checking import Case, Checked
from tests.answers.questions import Question
from tests.answers.running_cluster import running_cluster
from tests.answers.small_clusters import CLUSTERS

PAGE = Path(__file__).resolve().parents[2] / "docs" / "answers-checked.md"


@dataclass(frozen=True, slots=True)
class Row:
    """A question with its answer and what came of it."""

    question: Question
    answer: str  # in a line
    checked: Checked


def played(question: Question, folder: Path) -> Row:
    """Starts the cluster, dumps it, asks, carries out and looks."""
    for name, objects in {**question.files, "cluster.json": CLUSTERS[question.cluster]}.items():
        is_list = "kind" in objects[0]
        document = {"apiVersion": "v1", "kind": "List", "items": objects} if is_list else objects
        (folder / name).write_text(json.dumps(document), encoding="utf-8")
    with running_cluster(CLUSTERS[question.cluster], folder) as cluster:
        cluster.settle()
        if question.later:
            cluster.shell(question.later)
            cluster.settle()
        (folder / DUMP).write_text(cluster.shell(f"kubectl get {question.kinds} -A -o json"), encoding="utf-8")
        asker = Asker(folder)
        answer = asker.ask(question.ask)
        line = _proposal(asker, question) if question.option > 1 else answer.line
        case = Case(question.ask, question.app, cluster, asker, answer, question.by_hand, question.option)
        return Row(question, line, question.check(case))


def _proposal(asker: Asker, question: Question) -> str:
    """The heading of a proposal that is not the first one."""
    lines = asker.ask(question.ask, "--details").text.splitlines()
    return next(line for line in lines if line.startswith(f"{question.option}. "))


_HEAD = """# Answers, checked

Every row is a question asked on the command line about a dump of a running cluster (`bayplan up`), its answer, what was
then done to that cluster with kubectl, and what came of it. Commands are those that the answer prints; where it names
none, an engineer's own are marked *by hand*. Clusters are in `tests/answers/small_clusters.py`; generated parts of pod
names are left out. `make answers` plays all rows again and writes this page; `make test` plays some of them, and
compares them with it.

| Question | About | Input | Answer | Carried out | What happened |
| --- | --- | --- | --- | --- | --- |
"""
_HASH = re.compile(
    r"\b([a-z][a-z0-9]*)-(?:[a-z0-9]{8,10}-)?(?=[a-z0-9]*\d|[b-df-hj-np-tv-xz]{5}\b)[b-df-hj-np-tv-xz2-9]{5}\b"
)


def line_of(row: Row) -> str:
    """The row in Markdown."""
    question = row.question
    cells = (
        f"`{question.ask}`",
        question.about,
        question.input,
        row.answer,
        _commands(row),
        _told(row.checked),
    )
    return f"| {' | '.join(_masked(cell).replace('|', chr(92) + '|') for cell in cells)} |"


def page_of(rows: list[Row]) -> str:
    return _HEAD + "".join(f"{line_of(row)}\n" for row in rows)


def _commands(row: Row) -> str:
    commands = row.checked.done.splitlines()
    hand = row.question.by_hand
    return "<br>".join(f"`{command}`{' *by hand*' if command == hand else ''}" for command in commands) or "nothing"


def _told(checked: Checked) -> str:
    return "; ".join(f"{name}: {_written(value)}" for name, value in checked.happened.items())


def _written(value: object) -> str:
    if isinstance(value, list):
        return ", ".join(map(str, value)) or "none"
    return str(value)


def _masked(text: str) -> str:
    return _HASH.sub(r"\1-…", text)
