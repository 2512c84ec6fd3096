"""Every question of the table asked, carried out and compared; and the table as a document."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.answers.asking import DUMP, Asker
from tests.answers.big_cluster import big_cluster
from tests.answers.big_questions import BIG_QUESTIONS
from tests.answers.checking import Case, Checked, Facts
from tests.answers.gang_clusters import GANG_CLUSTERS
from tests.answers.manifests import Document
from tests.answers.questions import Question
from tests.answers.running_cluster import RunningCluster, running_cluster
from tests.answers.small_clusters import CLUSTERS

#: What there is of it; a complete dump takes kubectl a while.
BIG_KINDS = "nodes,pods,namespaces,priorityclasses,pdb,deploy,rs"
PAGE = Path(__file__).resolve().parents[2] / "docs" / "answers-checked.md"


@dataclass(frozen=True, slots=True)
class Row:
    """A question with its answer and what came of it."""

    question: Question
    answer: str  # in a line
    checked: Checked


def played(question: Question, folder: Path) -> Row:
    """Starts the cluster, dumps it, asks, carries out and looks."""
    objects = {**CLUSTERS, **GANG_CLUSTERS}[question.cluster]
    _write({**question.files, "cluster.json": objects}, folder)
    with running_cluster(objects, folder, question.gates) as cluster:
        cluster.settle()
        if question.later:
            cluster.shell(question.later)
            cluster.settle()
        cluster.shell(f"kubectl get {question.kinds} -A -o json > {DUMP}")
        return _asked(cluster, question, Asker(folder, question.gates))


def _asked(cluster: RunningCluster, question: Question, asker: Asker) -> Row:
    answer = asker.ask(question.ask)
    line = _proposal(asker, question) if question.option > 1 else answer.line
    case = Case(question.ask, question.app, cluster, asker, answer, question.by_hand, question.option)
    return Row(question, line, question.check(case))


def _write(files: Mapping[str, list[Document]], folder: Path) -> None:
    for name, objects in files.items():
        is_list = "kind" in objects[0]
        document = {"apiVersion": "v1", "kind": "List", "items": objects} if is_list else objects
        (folder / name).write_text(json.dumps(document), encoding="utf-8")


def played_on_the_big_cluster(folder: Path) -> list[Row]:
    """All questions about it, one after another."""
    with running_cluster(big_cluster(), folder) as cluster:
        cluster.settle()
        return [_played_there(cluster, question, folder) for question in BIG_QUESTIONS]


def _played_there(cluster: RunningCluster, question: Question, folder: Path) -> Row:
    _write(question.files, folder)
    cluster.shell(f"kubectl get {BIG_KINDS} -A -o json > {DUMP}")
    return _asked(cluster, question, Asker(folder))


def _proposal(asker: Asker, question: Question) -> str:
    """The heading of a proposal that is not the first one."""
    lines = asker.ask(question.ask, "--details").text.splitlines()
    return next(line for line in lines if line.startswith(f"{question.option}. "))


_HEAD = """# Answers, checked

Every row is a question asked on the command line about a dump of a running cluster (`bayplan up`), its answer, what was
then done to that cluster with kubectl, and what came of it. Commands are those that the answer prints; where it names
none, an engineer's own are marked *by hand*. Clusters are in `tests/answers/small_clusters.py`,
`tests/answers/gang_clusters.py` (Kubernetes 1.37 with the gates for pod groups on, in the cluster and in the question)
and `tests/answers/big_cluster.py`; generated parts of pod names are left out. `make answers` plays all rows again and
writes this page; `make test` plays some of them, and compares them with it.

| Question | About | Input | Answer | Carried out | What happened |
| --- | --- | --- | --- | --- | --- |
"""
_FACTS_MAX = 12
_PLACES_MAX = 12
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
    facts = checked.happened
    if len(facts) > _FACTS_MAX:
        return (
            f"all {len(facts)} of these are as the answer says, for example {_told_of(dict(list(facts.items())[:2]))}"
        )
    return _told_of(facts)


def _told_of(facts: Facts) -> str:
    return "; ".join(f"{name}: {_written(value)}" for name, value in facts.items())


def _written(value: object) -> str:
    if isinstance(value, list):
        more = f" and {len(value) - _PLACES_MAX} more" if len(value) > _PLACES_MAX else ""
        return ", ".join(map(str, value[:_PLACES_MAX])) + more or "none"
    return str(value)


def _masked(text: str) -> str:
    return _HASH.sub(r"\1-…", text)
