"""Answers in a notebook: short as text, whole as HTML, and able to travel."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import pytest

import bayplan
from bayplan.cli import demo

QUESTIONS: dict[str, Callable[[bayplan.Cluster], Any]] = {
    "cluster": lambda cluster: cluster,
    "explain": lambda cluster: cluster.explain(demo.URGENT_POD),
    "place": lambda cluster: cluster.place(),
    "whatif": lambda cluster: cluster.whatif(drain=["node-1"]),
    "drain": lambda cluster: cluster.drain(["node-1"]),
    "defrag": lambda cluster: cluster.defrag("cpu=6", seconds=1),
    "consolidate": lambda cluster: cluster.consolidate(seconds=1),
    "fix": lambda cluster: cluster.fix(demo.URGENT_POD),
    "exposure": lambda cluster: cluster.exposure("dev/report-2"),
    "ranking": lambda cluster: cluster.exposure_ranking(),
    "capacity": lambda cluster: cluster.capacity(["cpu=1"]),
    "audit": lambda cluster: cluster.audit(),
    "pending": lambda cluster: cluster.pending(),
    "simulate": lambda cluster: bayplan.simulate(cluster, until="2min"),
    "compare": lambda cluster: bayplan.compare(*(bayplan.simulate(cluster, until=60, seed=seed) for seed in (1, 2))),
}


@pytest.fixture(scope="module")
def cluster() -> bayplan.Cluster:
    return bayplan.Cluster(demo.objects_of("cluster.yaml", "urgent.yaml"))


@pytest.mark.parametrize("question", QUESTIONS)
def test_an_answer_is_short_as_text_and_whole_in_a_notebook(question: str, cluster: bayplan.Cluster) -> None:
    answer = QUESTIONS[question](cluster)
    text = repr(answer)
    assert text.startswith(f"<{type(answer).__name__}: ")
    assert text.endswith(">")
    assert "\n" not in text
    assert 20 < len(text) < 400
    assert answer._repr_html_().startswith('<div class="bayplan">')


@pytest.mark.parametrize("question", QUESTIONS)
def test_an_answer_says_the_same_after_it_has_traveled(question: str, cluster: bayplan.Cluster) -> None:
    answer = QUESTIONS[question](cluster)
    copied = pickle.loads(pickle.dumps(answer))
    assert copied._repr_html_() == answer._repr_html_()
    if hasattr(answer, "to_dict"):
        assert copied.to_dict() == answer.to_dict()


def test_an_explanation_that_has_traveled_still_has_all_reasons(cluster: bayplan.Cluster) -> None:
    why = cluster.explain(demo.URGENT_POD)
    copied = pickle.loads(pickle.dumps(why))
    assert copied.fits is False
    assert copied.all_reasons() == why.all_reasons() != {}
    assert copied.document(all_reasons=True) == why.document(all_reasons=True)


def test_a_cluster_that_has_traveled_decides_like_the_same_version(cluster: bayplan.Cluster) -> None:
    newer = bayplan.Cluster(demo.objects_of("cluster.yaml", "urgent.yaml"), kubernetes_version="1.37")
    copied = pickle.loads(pickle.dumps(newer))
    assert copied.release is newer.release
    assert copied.explain(demo.URGENT_POD).to_dict() == newer.explain(demo.URGENT_POD).to_dict()


def test_a_cluster_is_shown_with_its_nodes(cluster: bayplan.Cluster) -> None:
    assert repr(cluster) == "<Cluster: 6 nodes, 13 pods; Kubernetes 1.37>"
    assert "node-6" in cluster._repr_html_()
