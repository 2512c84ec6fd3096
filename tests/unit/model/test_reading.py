"""Reading: every form in which objects come, and what is made of them."""

import gzip
import io
import json
import os
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from bayplan.model import reading
from bayplan.model.errors import InvalidObject
from bayplan.model.pod import Pod
from bayplan.model.reading import ReadResult, from_dicts, read, read_documents

POD: dict[str, Any] = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a", "namespace": "prod"}}
NODE: dict[str, Any] = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}}
POD_YAML = "apiVersion: v1\nkind: Pod\nmetadata:\n  name: a\n  namespace: prod\n"
NODE_YAML = "apiVersion: v1\nkind: Node\nmetadata: {name: n}\n"


def names(result: ReadResult) -> list[str]:
    return [f"{type(obj).__name__} {obj.metadata.namespace}/{obj.metadata.name}" for obj in result.objects]


def read_text(folder: Path, name: str, text: str | bytes) -> ReadResult:
    file = folder / name
    file.write_bytes(text.encode() if isinstance(text, str) else text)
    return read([file])


BOTH = ["Pod prod/a", "Node /n"]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        pytest.param("f.yaml", POD_YAML + "---\n" + NODE_YAML, id="yaml-documents"),
        pytest.param("f.yaml", "---\n# nothing\n---\n" + POD_YAML + "---\n---\n" + NODE_YAML, id="empty-documents"),
        pytest.param("f.json", json.dumps({"apiVersion": "v1", "kind": "List", "items": [POD, NODE]}), id="json-list"),
        pytest.param("f.json", json.dumps(POD) + "\n" + json.dumps(NODE) + "\n", id="json-lines"),
        pytest.param("f.json", json.dumps(POD, indent=2) + json.dumps(NODE, indent=2), id="json-one-after-another"),
        pytest.param("f.json", json.dumps([POD, NODE]), id="json-array"),
        pytest.param("f.yaml", json.dumps([POD, NODE]), id="json-in-a-yaml-file"),
        pytest.param("f.yaml", f"{{kind: List, items: [{json.dumps(POD)}, {json.dumps(NODE)}]}}", id="yaml-flow"),
        pytest.param(
            "f.yml",
            "kind: List\napiVersion: v1\nitems:\n- {kind: Pod, metadata: {name: a, namespace: prod}}\n"
            "- {kind: Node, metadata: {name: n}}\n",
            id="yaml-list",
        ),
        pytest.param("f", POD_YAML + "---\n" + NODE_YAML, id="no-suffix"),
        pytest.param("f.yaml.gz", gzip.compress((POD_YAML + "---\n" + NODE_YAML).encode()), id="gzipped-yaml"),
        pytest.param("f.json.gz", gzip.compress(json.dumps([POD, NODE]).encode()), id="gzipped-json"),
        pytest.param("f.yaml", b"\xef\xbb\xbf" + (POD_YAML + "---\n" + NODE_YAML).encode(), id="byte-order-mark"),
        pytest.param("f.yaml", (POD_YAML + "---\n" + NODE_YAML).encode("utf-16"), id="utf-16"),
        pytest.param("f.yaml", (POD_YAML + "---\n" + NODE_YAML).replace("\n", "\r\n"), id="windows-line-ends"),
    ],
)
def test_forms(tmp_path: Path, name: str, text: str | bytes) -> None:
    """The same two objects, in every form they may come in, in order."""
    assert names(read_text(tmp_path, name, text)) == BOTH


@pytest.mark.parametrize("suffix", ["json", "yaml"])
def test_typed_list(tmp_path: Path, suffix: str) -> None:
    """Items of a typed list may leave out what the list says."""
    items = {"apiVersion": "v1", "kind": "PodList", "items": [{"metadata": {"name": "a"}}, {"metadata": {"name": "b"}}]}
    text = json.dumps(items) if suffix == "json" else "# yaml\n" + json.dumps(items)
    assert names(read_text(tmp_path, f"f.{suffix}", text)) == ["Pod default/a", "Pod default/b"]


def test_folder(tmp_path: Path) -> None:
    """A folder is read through and through, in order of path, and only its manifests."""
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "one.yml").write_text(POD_YAML)
    (tmp_path / "a.json").write_text(json.dumps(NODE))
    (tmp_path / "c.yaml.gz").write_bytes(gzip.compress(b"{kind: Node, metadata: {name: z}}"))
    (tmp_path / "README.md").write_text("# not a manifest")
    result = read([tmp_path])
    assert names(result) == ["Node /n", "Pod prod/a", "Node /z"]
    assert result.files == [str(tmp_path / name) for name in ("a.json", "b/one.yml", "c.yaml.gz")]


def test_standard_input() -> None:
    """A dash stands for standard input."""
    result = read(["-"], stdin=io.BytesIO(POD_YAML.encode()))
    assert names(result) == ["Pod prod/a"]
    assert result.files == ["standard input"]


def test_from_dicts() -> None:
    """Parsed objects are taken as they are, lists too, and stay unchanged."""
    given: list[dict[str, Any]] = [
        POD,
        {"kind": "NodeList", "apiVersion": "v1", "items": [{"metadata": {"name": "n"}}]},
    ]
    before = json.dumps(given)
    assert names(from_dicts(given)) == BOTH
    assert json.dumps(given) == before
    assert from_dicts([]).objects == []


def test_unknown_kinds_are_counted(tmp_path: Path) -> None:
    """Kinds without meaning to scheduling are passed over, as are namesakes of other groups."""
    kinds = [("v1", "ConfigMap"), ("v1", "ConfigMap"), ("serving.knative.dev/v1", "Service"), ("x.io/v1", "AllowList")]
    objects = [{"apiVersion": version, "kind": kind, "metadata": {"name": "x"}} for version, kind in kinds]
    expected = Counter({"ConfigMap": 2, "Service.serving.knative.dev": 1, "AllowList": 1})
    assert read_text(tmp_path, "f.json", json.dumps([*objects, POD])).skipped == expected
    lines = "\n".join(json.dumps(obj) for obj in [*objects, POD])
    assert read_text(tmp_path, "g.json", lines).skipped == expected


def test_unknown_fields_are_ignored(tmp_path: Path) -> None:
    """Fields that are not kept may hold anything."""
    pod = {**POD, "spec": {"dnsPolicy": 5, "containers": [{"env": None, "image": "x"}]}, "extra": [None]}
    result = read_text(tmp_path, "f.json", json.dumps(pod))
    assert isinstance(result.objects[0], Pod)
    assert result.objects[0].spec.containers[0].image == "x"


@pytest.mark.parametrize("name", ["f.json", "f.yaml"])
def test_nulls(tmp_path: Path, name: str) -> None:
    """Nulls are as good as nothing."""
    pod = {**POD, "spec": {"containers": None, "nodeName": "n1", "affinity": None}, "status": None}
    text = json.dumps(pod)
    result = read_text(tmp_path, name, text if name == "f.json" else "# yaml\n" + text)
    assert isinstance(result.objects[0], Pod)
    assert result.objects[0].spec.node_name == "n1"
    assert result.objects[0].spec.containers == []


def test_namespaces() -> None:
    """What lives in a namespace gets one, what does not has none."""
    result = from_dicts(
        [
            {"kind": "Pod", "metadata": {"name": "a"}},
            {"kind": "PersistentVolume", "metadata": {"name": "v", "namespace": "oops"}},
            {"kind": "Pod", "metadata": {"name": "a", "namespace": "prod"}},
        ]
    )
    assert names(result) == ["Pod default/a", "PersistentVolume /v", "Pod prod/a"]


def test_generated_names_may_repeat() -> None:
    """Pods still to be named are not the same pod."""
    pod = {"kind": "Pod", "metadata": {"generateName": "web-"}}
    assert len(from_dicts([pod, pod]).objects) == 2


def test_times_stay_text(tmp_path: Path) -> None:
    """An unquoted time in YAML is the text it was."""
    result = read_text(tmp_path, "f.yaml", POD_YAML + "  creationTimestamp: 2026-01-01T00:00:00Z\n")
    assert result.objects[0].metadata.creation_timestamp == "2026-01-01T00:00:00Z"


@pytest.mark.parametrize("name", ["f.json", "f.yaml"])
def test_long_line(tmp_path: Path, name: str) -> None:
    """A line of ten megabytes is nothing special."""
    pod = {**POD, "metadata": {"name": "a", "annotations": {"x": "y" * 10_000_000}}}
    assert names(read_text(tmp_path, name, json.dumps(pod))) == ["Pod default/a"]
    quoted = f"kind: Pod\nmetadata: {{name: a, annotations: {{x: {'y' * 10_000_000}}}}}\n"
    assert names(read_text(tmp_path, "g.yaml", quoted)) == ["Pod default/a"]


def test_empty_list_beside_others(tmp_path: Path) -> None:
    """A list without items is no fault as long as there is anything at all."""
    (tmp_path / "empty.json").write_text('{"apiVersion": "v1", "kind": "PodList", "items": null}')
    (tmp_path / "node.yaml").write_text(NODE_YAML)
    assert names(read([tmp_path])) == ["Node /n"]


def test_anchors_share_nothing(tmp_path: Path) -> None:
    """Two pods written with one anchor are two objects all the way down."""
    text = "- &p {kind: Pod, metadata: {name: a}, spec: {nodeSelector: {x: y}}}\n- {<<: *p, metadata: {name: b}}\n"
    one, other = read_text(tmp_path, "f.yaml", text).objects
    assert isinstance(one, Pod)
    assert isinstance(other, Pod)
    one.spec.node_selector["x"] = "z"
    assert other.spec.node_selector == {"x": "y"}


@pytest.mark.parametrize(("folder", "at_least"), [("manifests", 100), ("nodes", 20)])
def test_real_files(shared: Path, folder: str, at_least: int) -> None:
    """Manifests and dumps of real projects are read without a fault."""
    result = read([shared / "data" / folder])
    assert len(result.objects) >= at_least


def test_whole_documents_of_any_kind(tmp_path: Path) -> None:
    file = tmp_path / "all.yaml"
    file.write_text(
        "apiVersion: v1\nkind: PodList\nitems: [{metadata: {name: a}, spec: {nope: 1}}]\n---\n"
        "apiVersion: example.com/v1\nkind: Thing\nmetadata: {name: t}\n"
    )
    found = read_documents([file])
    assert [(one.where, one.document.get("kind")) for one in found] == [
        ("document 1.items[0]", "Pod"),
        ("document 2", "Thing"),
    ]
    assert found[0].document["spec"] == {"nope": 1}


def test_what_is_no_document_is_a_fault(tmp_path: Path) -> None:
    text, broken = tmp_path / "text.yaml", tmp_path / "broken.json"
    text.write_text("just words\n")
    broken.write_text("{")
    with pytest.raises(InvalidObject) as raised:
        read_documents([text, broken, tmp_path / "missing.yaml"])
    assert [Path(fault.source).name for fault in raised.value.faults] == ["text.yaml", "broken.json", "missing.yaml"]


def fault_of(path: Path) -> str:
    with pytest.raises(InvalidObject) as error:
        read([path])
    (fault,) = error.value.faults
    return fault.message


def test_a_pipe_or_a_device_is_not_waited_for(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe.yaml"
    os.mkfifo(pipe)
    assert "is a pipe" in fault_of(pipe)
    assert "is not a regular file" in fault_of(Path("/dev/zero"))


@pytest.mark.parametrize("name", ["large.json", "large.json.gz"])
def test_a_file_has_a_largest_size_decompressed(tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "BYTES_MAX", 2 * 1024 * 1024)
    data = b" " * (2 * 1024 * 1024 + 1)
    file = tmp_path / name
    file.write_bytes(gzip.compress(data) if name.endswith("gz") else data)
    assert "has more than 2 MiB" in fault_of(file)
