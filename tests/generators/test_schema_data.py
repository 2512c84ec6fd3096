"""The generator of the API server's tables, on a small release of its own."""

from __future__ import annotations

import json
from pathlib import Path
from textwrap import dedent

import pytest
from generators.schema_data import changed, generate, main, without_gates

META = """
    package v1

    type TypeMeta struct {
        Kind string `json:"kind,omitempty" protobuf:"bytes,1,opt,name=kind"`
    }

    type ObjectMeta struct {
        Name string `json:"name,omitempty" protobuf:"bytes,1,opt,name=name"`
    }

    type ListMeta struct{}

    type Verbs []string

    type APIResource struct {
        Verbs Verbs `json:"verbs" protobuf:"bytes,4,opt,name=verbs"`
    }
"""
#: Types that every release has; here they are empty.
EMPTY = (
    *("GroupVersionForDiscovery", "PartialObjectMetadata", "PartialObjectMetadataList", "ServerAddressByClientCIDR"),
    *("CreateOptions", "DeleteOptions", "GetOptions", "ListOptions", "PatchOptions", "Status", "UpdateOptions"),
    "WatchEvent",
)
BATCH = """
    package v1

    import (
        corev1 "k8s.io/api/core/v1"
        metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
        "k8s.io/apimachinery/pkg/types"
    )

    // Job is work that ends.
    type Job struct {
        metav1.TypeMeta `json:",inline"`
        // +optional
        metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
        Spec JobSpec `json:"spec" protobuf:"bytes,2,opt,name=spec"`
    }

    type JobList struct {
        metav1.TypeMeta `json:",inline"`
        metav1.ListMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
        Items []Job `json:"items" protobuf:"bytes,2,rep,name=items"`
    }

    // +enum
    type Policy string

    const (
        Replace Policy = "Replace"
        Allow   Policy = "Allow now"
        Unused  Other  = "Never"
        Copied = Policy(corev1.Copied)
    )

    // +structType=atomic
    type JobSpec struct {
        corev1.Source `json:",inline" protobuf:"bytes,7,opt,name=source"`
        // +default=ref(Replace)
        Policy *Policy `json:"policy,omitempty" protobuf:"bytes,2,opt,name=policy,casttype=Policy"`
        Owner types.UID `json:"owner" protobuf:"bytes,3,opt,name=owner"`
        // +listType=map
        // +listMapKey=a
        // +listMapKey=b
        Parts []corev1.Part `json:"parts,omitempty" patchStrategy:"merge" patchMergeKey:"a" protobuf:"bytes,4,rep"`
        Weights map[Policy]int32 `json:"weights,omitempty" protobuf:"bytes,5,rep,name=weights"`
        // +required
        Data []byte `json:"data,omitempty" protobuf:"bytes,6,opt,name=data"`
        internal string
    }
"""
CORE = """
    package v1

    const Copied Kind = "Copied"

    type Source struct {
        // +default=5
        Port int `json:"port" protobuf:"varint,1,opt,name=port"`
    }

    type Part struct {
        Share float64 `json:"share,omitempty" protobuf:"fixed64,1,opt,name=share"`
        Nested *Part `json:"nested,omitempty" protobuf:"bytes,2,opt,name=nested"`
    }

    type Pod struct {
        Unsent string `json:"unsent"`
    }
"""
JOBS = {
    "resource": "jobs",
    "responseKind": {"kind": "Job"},
    "scope": "Namespaced",
    "verbs": ["create", "list"],
    "shortNames": ["j", "jo"],
    "categories": ["all"],
    "subresources": [
        {"subresource": "status", "responseKind": {"kind": "Job"}, "verbs": ["get", "patch", "update"]},
        {
            "subresource": "resources",
            "responseKind": {"group": "meta.k8s.io", "version": "v1", "kind": "APIResource"},
            "verbs": ["get"],
        },
    ],
}


@pytest.fixture
def kubernetes(tmp_path: Path) -> Path:
    """A checkout of a release with two group versions, one of which is not stable."""
    meta = META + "".join(f"\n    type {name} struct{{}}\n" for name in EMPTY)
    for path, text in (("apimachinery/pkg/apis/meta", meta), ("api/batch", BATCH), ("api/core", CORE)):
        folder = tmp_path / "staging/src/k8s.io" / path / "v1"
        folder.mkdir(parents=True)
        (folder / "types.go").write_text(dedent(text).replace(" " * 4, "\t"), encoding="utf-8")
    discovery = tmp_path / "api/discovery"
    discovery.mkdir(parents=True)
    core = [
        {"name": "pods", "kind": "Pod", "namespaced": True, "verbs": ["get"]},
        {"name": "pods/log", "kind": "Pod", "namespaced": True, "verbs": ["get"]},
    ]
    (discovery / "api__v1.json").write_text(json.dumps({"resources": core}), encoding="utf-8")
    versions = [{"version": "v1", "resources": [JOBS]}, {"version": "v1beta1", "resources": [JOBS]}]
    groups = {"items": [{"metadata": {"name": "batch"}, "versions": versions}]}
    (discovery / "aggregated_v2.json").write_text(json.dumps(groups), encoding="utf-8")
    return tmp_path


def test_types_field_by_field(kubernetes: Path) -> None:
    assert generate(kubernetes)["batch.v1.txt"] == dedent(
        """\
        Job
          0 apiVersion string
          0 kind string
          1 metadata+ meta.v1.ObjectMeta
          2 spec!+ JobSpec

        JobList
          0 apiVersion string
          0 kind string
          1 metadata+ meta.v1.ListMeta
          2 items!+ []Job

        JobSpec map=atomic
          7 ~ core.v1.Source
          2 policy *string default="Replace" enum=Allow_now,Copied,Replace go=v1.Policy
          3 owner!+ string go=types.UID
          4 parts []core.v1.Part patch=merge key=a list=map keys=a,b
          5 weights {}int32 go=map[v1.Policy]int32
          6 data! bytes
        """
    )


def test_types_of_other_group_versions_come_along(kubernetes: Path) -> None:
    texts = generate(kubernetes)
    assert texts["core.v1.txt"] == dedent(
        """\
        Part
          1 share double go=float64
          2 nested *Part

        Pod

        Source
          1 port!+ int64 default=5
        """
    )
    assert "APIResource\n  4 verbs!+ []string go=v1.Verbs\n" in texts["meta.v1.txt"]


def test_resources_of_stable_versions(kubernetes: Path) -> None:
    assert generate(kubernetes)["resources.txt"] == dedent(
        """\
        v1
          pods Pod namespaced verbs=get
            log Pod verbs=get
        batch/v1
          jobs Job namespaced verbs=create,list short=j,jo categories=all
            status Job
            resources APIResource verbs=get api=meta.k8s.io/v1
        """
    )


def test_of_a_later_release_only_what_differs(kubernetes: Path, tmp_path: Path) -> None:
    """New fields come with the gates that they wait for; those that were there before come without."""
    base = tmp_path / "base"
    assert main([str(kubernetes), str(base)]) == 0
    source = kubernetes / "staging/src/k8s.io/api/core/v1/types.go"
    text = source.read_text(encoding="utf-8")
    assert changed(generate(kubernetes), [base]) == {}
    tags = '`json:"mode,omitempty" protobuf:"bytes,9,opt,name=mode"`'
    mode = f"\t// +featureGate=Modes\n\t// +optional\n\tMode string {tags}\n"
    source.write_text(text.replace("type Part struct {\n", "type Part struct {\n" + mode), encoding="utf-8")
    texts = generate(kubernetes)
    part = "Part\n  9 mode string{}\n  1 share double go=float64\n  2 nested *Part\n"
    assert changed(texts, [base]) == {"core.v1.txt": part.format(" gate=Modes")}
    assert part.format("") in without_gates(texts)["core.v1.txt"]


def test_a_part_without_a_name_is_inlined(kubernetes: Path) -> None:
    source = kubernetes / "staging/src/k8s.io/api/batch/v1/types.go"
    before = generate(kubernetes)
    source.write_text(source.read_text(encoding="utf-8").replace('`json:",inline" protobuf', '`json:"" protobuf'))
    assert generate(kubernetes) == before


@pytest.mark.parametrize(
    ("missing", "said"),
    [
        ("api/discovery/api__v1.json", "api__v1.json: No such file"),
        ("staging/src/k8s.io/api/core/v1/types.go", "k8s.io/api/core/v1: no Go files"),
    ],
)
def test_what_is_missing_is_named(
    kubernetes: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], missing: str, said: str
) -> None:
    (kubernetes / missing).unlink()
    target = tmp_path / "written"
    assert main([str(kubernetes), str(target)]) == 2
    assert said in capsys.readouterr().err
    assert not target.exists()
