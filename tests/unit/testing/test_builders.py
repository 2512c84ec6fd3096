"""Builders: the selectors they read, the independence of what they hand out, and what they start from."""

from __future__ import annotations

import pytest

from bayplan.testing.builders import deployment, node, node_term, pod, selector


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        ("app=x", [("app", "In", ["x"])]),
        ("app==x,tier!=y", [("app", "In", ["x"]), ("tier", "NotIn", ["y"])]),
        ("tier in (a, b), zone notin (c)", [("tier", "In", ["a", "b"]), ("zone", "NotIn", ["c"])]),
        ("gpu, !spot", [("gpu", "Exists", []), ("spot", "DoesNotExist", [])]),
        ("app.kubernetes.io/name=a.b-c", [("app.kubernetes.io/name", "In", ["a.b-c"])]),
        ("app=", [("app", "In", [""])]),
    ],
)
def test_selectors_as_text(text: str, expected: list[tuple[str, str, list[str]]]) -> None:
    assert [(e.key, e.operator, e.values) for e in selector(text).match_expressions] == expected


@pytest.mark.parametrize("text", ["a b", "in (a)", "a in b", "=x", "a,,b"])
def test_text_that_is_no_selector(text: str) -> None:
    with pytest.raises(ValueError, match="not a selector"):
        selector(text)


def test_node_terms_compare_and_name() -> None:
    term = node_term("cores > 4, cores < 8, metadata.name=n1")
    assert [(e.key, e.operator, e.values) for e in term.match_expressions] == [
        ("cores", "Gt", ["4"]),
        ("cores", "Lt", ["8"]),
    ]
    assert [(e.key, e.operator, e.values) for e in term.match_fields] == [("metadata.name", "In", ["n1"])]


def test_an_object_is_independent_of_its_builder() -> None:
    built = pod("a").labels(app="x").cpu("1")
    first = built.obj()
    built.labels(app="y").cpu("2")
    assert (first.metadata.labels, first.spec.containers[0].resources.requests) == ({"app": "x"}, {"cpu": "1"})


def test_manifests_carry_nothing_a_server_writes() -> None:
    assert pod("a").manifest().dict() == {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "a", "namespace": "default"},
        "spec": {"containers": [{"name": "main", "resources": {}}]},
        "status": {},
    }


def test_templates_carry_no_priority_of_their_pattern() -> None:
    made = deployment("d").template(pod("t").labels(app="x")).obj()
    assert made.spec.template.spec.priority is None
    assert made.spec.selector is not None
    assert made.spec.selector.match_labels == {"app": "x"}


def test_misspelled_fields_are_reported() -> None:
    with pytest.raises(AttributeError, match="no spec field 'replcas'"):
        deployment("d").set(replcas=3)


def test_capacity_is_allocatable_too() -> None:
    status = node("n").capacity(cpu="8").allocatable(cpu="7").obj().status
    assert (status.capacity["cpu"], status.allocatable["cpu"], status.allocatable["pods"]) == ("8", "7", 110)
