"""JSONPath: what a path finds in a document, and how values are written."""

from __future__ import annotations

from typing import Any

import pytest

from bayplan.apiserver.json_paths import PathError, parse_path, value_text

DOCUMENT: dict[str, Any] = {
    "spec": {
        "replicas": 3,
        "a.b/c": "dotted",
        "ports": [80, 443, 8080],
        "rules": [{"host": "a", "weight": 1}, {"host": "b", "weight": 2}, {"weight": 1.5}],
    },
    "status": {"conditions": [{"type": "Ready", "status": "True"}, {"type": "Synced", "status": "False"}]},
}


@pytest.mark.parametrize(
    ("path", "found"),
    [
        (".spec.replicas", [3]),
        (".spec.absent", []),
        (".spec.replicas.more", []),
        (".absent.more", []),
        (r".spec.a\.b/c", ["dotted"]),
        (r".spec['a\.b/c']", ["dotted"]),
        ("$.spec.replicas", [3]),
        (".spec.ports[0]", [80]),
        (".spec.ports[-1]", [8080]),
        (".spec.ports[*]", [80, 443, 8080]),
        (".spec.ports[1:]", [443, 8080]),
        (".spec.ports[:2]", [80, 443]),
        (".spec.ports[::2]", [80, 8080]),
        (".spec.ports[0,2]", [80, 8080]),
        (".spec.ports[1:1]", []),
        (".spec.rules[*].host", ["a", "b"]),
        (".spec.rules.host", []),
        ('.status.conditions[?(@.type=="Ready")].status', ["True"]),
        (".status.conditions[?(@.type=='Ready')].status", ["True"]),
        ('.status.conditions[?(@.type == "Ready")].status', ["True"]),
        ('.status.conditions[?(@.type!="Ready")].status', ["False"]),
        ('.status.conditions[?(@.type=="No)ne")].status', []),
        (".spec.rules[?(@.host)].weight", [1, 2]),
        ("..type", ["Ready", "Synced"]),
        (".status.*", [DOCUMENT["status"]["conditions"]]),
    ],
)
def test_a_path_finds(path: str, found: list[Any]) -> None:
    assert parse_path(path)([DOCUMENT]) == found


@pytest.mark.parametrize(("operator", "hosts"), [(">", ["b"]), (">=", ["a", "b"]), ("<", []), ("<=", ["a"])])
def test_numbers_compare(operator: str, hosts: list[str]) -> None:
    rules = {"rules": DOCUMENT["spec"]["rules"][:2]}
    assert parse_path(f".rules[?(@.weight{operator}1)].host")([rules]) == hosts


@pytest.mark.parametrize(
    "path",
    [
        ".spec.ports[3]",
        ".spec.ports[2:9]",
        ".spec.replicas[0]",
        ".spec.rules[0:2][?(@.weight>1)].host",
        ".spec.rules[?(@.weight==1)].host",
        '.spec.ports[?(@=="80")]',
        '.spec[?(@.a=="b")]',
    ],
)
def test_a_path_that_does_not_fit_the_document_is_an_error(path: str) -> None:
    with pytest.raises(PathError):
        parse_path(path)([DOCUMENT])


@pytest.mark.parametrize(
    "path", [".spec[", ".spec[a]", ".spec[]", ".a[?(@.b=~1)]", ".a[::0]", "#", ".a[?(@.b]", "1.2.3"]
)
def test_an_unreadable_path_is_an_error(path: str) -> None:
    with pytest.raises(PathError):
        parse_path(path)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("a", "a"),
        (3, "3"),
        (True, "true"),
        (False, "false"),
        (None, "<no value>"),
        (1.5, "1.5"),
        (1.0, "1"),
        (100000.0, "100000"),
        (1000000.0, "1e+06"),
        (1234567.5, "1.2345675e+06"),
        (0.0001, "0.0001"),
        (-0.00001, "-1e-05"),
        (["b", 1], '["b",1]'),
        ({"b": "<&>", "a": None}, '{"a":null,"b":"\\u003c\\u0026\\u003e"}'),
    ],
)
def test_values_are_written_as_go_prints_them(value: Any, text: str) -> None:
    assert value_text(value) == text
