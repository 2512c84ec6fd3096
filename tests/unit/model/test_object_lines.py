"""The line on which an object begins, in every form that is read."""

from __future__ import annotations

import json

import pytest

from bayplan.model.object_lines import object_lines

POD, NODE = ("Pod", "default", "p"), ("Node", "", "n")
OBJECTS = [{"kind": "Node", "metadata": {"name": "n"}}, {"kind": "Pod", "metadata": {"name": "p"}}]


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        pytest.param("kind: Pod\nmetadata:\n  name: p\n", {POD: 1}, id="one document"),
        pytest.param(
            "# why\n\nkind: Node\nmetadata: {name: n}\n---\n# and\nkind: Pod\nmetadata: {name: p}\n",
            {NODE: 3, POD: 7},
            id="several documents",
        ),
        pytest.param(
            "kind: List\nitems:\n- kind: Node\n  metadata: {name: n}\n- kind: Pod\n  metadata: {name: p}\n",
            {NODE: 3, POD: 5},
            id="a list",
        ),
        pytest.param("kind: PodList\nitems:\n\n- metadata: {name: p}\n", {POD: 4}, id="a list of one kind"),
        pytest.param("- kind: Pod\n  metadata: {name: p}\n", {POD: 1}, id="a sequence"),
        pytest.param("kind: Pod\nmetadata: {generateName: p-}\n", {}, id="no name"),
        pytest.param("", {}, id="nothing"),
        pytest.param(json.dumps(OBJECTS[1], indent=2), {POD: 1}, id="JSON"),
        pytest.param(json.dumps({"kind": "List", "items": OBJECTS}, indent=2), {NODE: 4, POD: 10}, id="a JSON list"),
        pytest.param(json.dumps({"kind": "List", "items": OBJECTS}), {NODE: 1, POD: 1}, id="JSON on one line"),
        pytest.param("\n".join(map(json.dumps, OBJECTS)), {NODE: 1, POD: 2}, id="an object on each line"),
        pytest.param("{kind: Pod,\nmetadata: {name: p}}\n", {POD: 1}, id="YAML that begins with a brace"),
    ],
)
def test_where_objects_begin(text: str, lines: dict[tuple[str, str, str], int]) -> None:
    assert object_lines(text.encode()) == lines


def test_namespaces_tell_objects_of_one_name_apart() -> None:
    text = "kind: Pod\nmetadata: {name: p, namespace: a}\n---\nkind: Pod\nmetadata: {name: p, namespace: b}\n"
    assert object_lines(text.encode()) == {("Pod", "a", "p"): 1, ("Pod", "b", "p"): 4}
