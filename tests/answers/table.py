"""Every question of the table asked, carried out and compared; and the table as a document."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from tests.answers.asking import DUMP, Answer, Asker
from tests.answers.checking import Case, Checked
from tests.answers.questions import Question
from tests.answers.running_cluster import running_cluster
from tests.answers.small_clusters import CLUSTERS


@dataclass(frozen=True, slots=True)
class Row:
    """A question with its answer and what came of it."""

    question: Question
    answer: Answer
    checked: Checked


def played(question: Question, folder: Path) -> Row:
    """Starts the cluster, dumps it, asks, carries out and looks."""
    for name, objects in question.files.items():
        document = {"apiVersion": "v1", "kind": "List", "items": objects}
        (folder / name).write_text(json.dumps(document), encoding="utf-8")
    with running_cluster(CLUSTERS[question.cluster], folder) as cluster:
        cluster.settle()
        if question.later:
            cluster.shell(question.later)
            cluster.settle()
        (folder / DUMP).write_text(cluster.shell(f"kubectl get {question.kinds} -A -o json"), encoding="utf-8")
        asker = Asker(folder)
        answer = asker.ask(question.ask)
        case = Case(question.ask, question.app, cluster, asker, answer, question.by_hand, question.option)
        return Row(question, answer, question.check(case))
