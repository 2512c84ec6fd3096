"""Reading bad input: every fault is told, with file, object and field, all at once."""

import gzip
import io
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayplan.model.errors import Fault, InvalidObject
from bayplan.model.kinds import KINDS
from bayplan.model.quantity import FORMAT_MESSAGE
from bayplan.model.reading import from_dicts, read


def complaint(*files: Path) -> str:
    with pytest.raises(InvalidObject) as caught:
        read(files)
    return str(caught.value)


def complaint_about(folder: Path, name: str, text: str | bytes) -> str:
    """The complaint about one file, with `FILE` for its path."""
    file = folder / name
    file.write_bytes(text.encode() if isinstance(text, str) else text)
    return complaint(file).replace(str(file), "FILE")


def pod(**fields: Any) -> str:
    return json.dumps({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, **fields})


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        pytest.param("f.yaml", "", "FILE: the file is empty", id="empty-yaml"),
        pytest.param("f.json", " \n", "FILE: the file is empty", id="empty-json"),
        pytest.param("f.yaml", "# nothing\n---\n", "FILE: the file is empty", id="only-comments"),
        pytest.param("f.yaml", b"\x00\x01\x02", "FILE: is not text: contains a NUL byte", id="binary"),
        pytest.param("f.yaml", b"a: \xff\xfe", "FILE: is not UTF-8 text: invalid start byte at byte 3", id="latin-1"),
        pytest.param(
            "f.yaml",
            "kind: Pod\nmetadata: [a\nspec: {}\n",
            "FILE: line 3, column 5: did not find expected ',' or ']'",
            id="broken-yaml",
        ),
        pytest.param("f.yaml", "a: 1\na: 2\n", "FILE: line 2, column 4: duplicate key 'a'", id="duplicate-key"),
        pytest.param(
            "f.json",
            '{"kind": "Pod",\n "metadata": }',
            "FILE: line 2, column 14: not JSON: invalid character",
            id="json",
        ),
        pytest.param(
            "f.json", '{"kind": "Pod"', "FILE: line 1, column 15: not JSON: Input data was truncated", id="cut"
        ),
        pytest.param(
            "f.json", "kind: Pod", "FILE: line 1, column 1: not JSON: invalid character", id="yaml-named-json"
        ),
        pytest.param("f.json", "[" * 100_000, "FILE: nested too deeply", id="deep-json"),
        pytest.param(
            "f.yaml", "[" * 5_000, "FILE: line 1, column 1001: nested more than 1000 levels deep", id="deep-yaml"
        ),
        pytest.param("f.gz", gzip.compress(b"kind: Pod")[:-9], None, id="cut-gzip"),
        pytest.param(
            "f.yaml", "just text", "FILE: document 1: expected an object, got a string ('just text')", id="text"
        ),
        pytest.param("f.json", "5", "FILE: document 1: expected an object, got an integer (5)", id="number"),
        pytest.param("f.yaml", "a: b", "FILE: document 1: kind: is missing", id="no-kind"),
        pytest.param("f.json", '{"a": 1}', "FILE: document 1: kind: is missing", id="no-kind-json"),
        pytest.param(
            "f.json", '{"kind": "List", "items": [{"a": 1}]}', "FILE: document 1.items[0]: kind: is missing", id="item"
        ),
        pytest.param(
            "f.yaml", "kind: PodList\nitems: {}", "FILE: document 1: items: expected a list, got an object", id="items"
        ),
        pytest.param(
            "f.yaml", "kind: [Pod]", "FILE: document 1: apiVersion and kind must be strings", id="kind-is-list"
        ),
        pytest.param(
            "f.yaml",
            "kind: ConfigMap\n---\nkind: Secret\n",
            "FILE: no objects of a kind that affects scheduling (ignored: 1 ConfigMap, 1 Secret)",
            id="nothing-useful",
        ),
        pytest.param(
            "f.yaml", "kind: Pod\nspec: {}", "FILE: Pod (document 1): metadata.name: is missing", id="no-name"
        ),
        pytest.param(
            "f.json",
            pod(spec={"nodeName": 5}),
            "FILE: Pod default/a: spec.nodeName: expected a string, got an integer (5)",
            id="wrong-type-json",
        ),
        pytest.param(
            "f.yaml",
            "kind: Node\nmetadata: {name: n}\nspec: {unschedulable: 'yes'}\n",
            "FILE: Node n: spec.unschedulable: expected true or false, got a string ('yes')",
            id="wrong-type-yaml",
        ),
        pytest.param(
            "f.json",
            pod(spec={"containers": [{"resources": {"requests": {"cpu": "1GB"}}}]}),
            f"FILE: Pod default/a: spec.containers[0].resources.requests[cpu]: '1GB': {FORMAT_MESSAGE}",
            id="quantity",
        ),
        pytest.param(
            "f.json",
            pod(metadata={"generateName": "web-"}, spec={"tolerations": [{"operator": "Near"}]}),
            "FILE: Pod default/web-…: spec.tolerations[0].operator: 'Near' is not one of Equal, Exists, Gt, Lt",
            id="operator",
        ),
        pytest.param(
            "f.json",
            pod() + pod(),
            "FILE: Pod default/a: appears twice in the input",
            id="twice-in-one-file",
        ),
    ],
)
def test_one_bad_file(tmp_path: Path, name: str, text: str | bytes, expected: str | None) -> None:
    """Each kind of bad input has its own plain words, and none a traceback."""
    told = complaint_about(tmp_path, name, text)
    if expected is None:
        assert told.startswith("FILE: cannot be read: ")
    else:
        assert told == expected


def test_missing_file(tmp_path: Path) -> None:
    """A file that is not there is named."""
    assert complaint(tmp_path / "nope.yaml") == f"{tmp_path}/nope.yaml: no such file or directory"


def test_unreadable_file(tmp_path: Path) -> None:
    """What cannot be opened is named with the reason."""
    loop = tmp_path / "loop.yaml"
    loop.symlink_to(loop)
    assert complaint(loop).startswith(f"{loop}: cannot be read: ")


def test_empty_folder(tmp_path: Path) -> None:
    """A folder without manifests is a mistake."""
    (tmp_path / "notes.txt").write_text("x")
    assert complaint(tmp_path) == f"{tmp_path}: no .yaml, .yml, .json file in this directory"


def test_no_paths() -> None:
    """Nothing to read is a mistake."""
    assert complaint() == "no files: no objects of a kind that affects scheduling"


def test_duplicates_name_both_files(tmp_path: Path) -> None:
    """The same object in two files names both; another namespace is another object."""
    (tmp_path / "1.json").write_text(pod())
    (tmp_path / "2.json").write_text(pod() + pod(metadata={"name": "a", "namespace": "other"}))
    assert complaint(tmp_path) == f"{tmp_path}/2.json: Pod default/a: already defined in {tmp_path}/1.json"


def test_all_faults_at_once(tmp_path: Path) -> None:
    """Faults of several files, objects and fields come together, in order."""
    (tmp_path / "1.yaml").write_text("a: [")
    (tmp_path / "2.json").write_text(
        pod(spec={"nodeName": 5, "overhead": {"cpu": "x"}}) + pod(metadata={}, status={"startTime": "noon"})
    )
    (tmp_path / "3.yaml").write_text("kind: Node\nmetadata: {name: n}\n")
    with pytest.raises(InvalidObject) as caught:
        read([tmp_path, tmp_path / "4.yaml"])
    places = [(Path(fault.source).name, fault.object, fault.field) for fault in caught.value.faults]
    assert places == [
        ("1.yaml", "", ""),
        ("2.json", "Pod default/a", "spec.nodeName"),
        ("2.json", "Pod default/a", "spec.overhead[cpu]"),
        ("2.json", "Pod (document 2)", "metadata.name"),
        ("2.json", "Pod (document 2)", "status.startTime"),
        ("4.yaml", "", ""),
    ]


def test_alias_bomb(tmp_path: Path) -> None:
    """A small file that would expand to billions of values is refused at once."""
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{level}: &a{level} [{', '.join([f'*a{level - 1}'] * 10)}]" for level in range(1, 12)]
    told = complaint_about(tmp_path, "f.yaml", "\n".join(lines))
    assert told.endswith("aliases expand to more than 1,000,000 nodes")


@pytest.mark.parametrize("value", [5, "x", None, []])
def test_from_dicts_wants_objects(value: Any) -> None:
    """Anything but an object is named by its position."""
    with pytest.raises(InvalidObject, match=r"objects: \[1\]: expected an object"):
        from_dicts([{"kind": "Node", "metadata": {"name": "n"}}, value])


@given(st.binary(max_size=60) | st.text("{}[]:,\"'&*-|>!#%@ \nabk01\t", max_size=60).map(str.encode))
def test_any_bytes(data: bytes) -> None:
    """Whatever the bytes are, the answer is objects or a complaint."""
    faults: list[Fault] = []
    names: list[str] = []
    try:
        names = [obj.metadata.name for obj in read(["-"], stdin=io.BytesIO(data)).objects]
    except InvalidObject as error:
        faults = error.faults
    assert all(names)
    assert all(fault.message for fault in faults)


FIELDS = """metadata spec status name labels containers resources requests affinity template nodeAffinity
    tolerations operator priority selector volumes ephemeral cpu capacity"""
NAMES = st.sampled_from(FIELDS.split())
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(NAMES, inner, max_size=4),
    max_leaves=15,
)


@given(st.sampled_from(sorted(KINDS)), st.dictionaries(NAMES, VALUES, max_size=4))
def test_any_object(kind: str, fields: dict[str, Any]) -> None:
    """Whatever the fields hold, the answer is objects or a complaint that says where."""
    try:
        from_dicts([{"kind": kind, **fields}])
    except InvalidObject as error:
        assert all(fault.field for fault in error.faults)  # noqa: PT017 - most, but not all, are bad


def test_fault_leaves_out_what_is_absent() -> None:
    """The parts of a fault that do not apply do not show."""
    assert str(Fault("f.yaml", "Pod a/b", "spec", "is bad")) == "f.yaml: Pod a/b: spec: is bad"
    assert str(Fault("f.yaml", "", "", "is bad")) == "f.yaml: is bad"
    assert str(Fault("", "", "", "is bad")) == "is bad"


def test_invalid_object_has_a_line_for_each_fault() -> None:
    """The message is a list of the faults."""
    error = InvalidObject([Fault("f", "", "", "one"), Fault("g", "", "", "two")])
    assert str(error) == "f: one\ng: two"
    assert len(error.faults) == 2


@pytest.mark.parametrize("name", ["f.yaml", "f.json"])
def test_a_misspelled_kind_is_a_fault(tmp_path: Path, name: str) -> None:
    text = '{"apiVersion": "v1", "kind": "Podd", "metadata": {"name": "p"}}'
    assert complaint_about(tmp_path, name, text) == "FILE: document 1: kind: unknown kind 'Podd'; did you mean Pod?"
