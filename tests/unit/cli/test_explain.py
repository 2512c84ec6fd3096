"""`bayplan explain`: exit codes, output, notes, and how pods are named."""

from __future__ import annotations

import json
from collections.abc import Callable
from io import BytesIO, TextIOWrapper
from pathlib import Path

import pytest
from tests.unit.testing.test_group_stories import gang, node, pod

from bayplan import Cluster
from bayplan.cli.answering import with_source
from bayplan.config.releases import NEWEST_RELEASE
from bayplan.model.reading import from_dicts
from bayplan.report.answers.terminal import terminal_parts
from bayplan.report.cluster_dump import dump_lines
from bayplan.report.explain.explanation import explanation_parts
from bayplan.report.json_output import answer_document
from bayplan.report.terminal import rendered
from bayplan.testing import builders as make

from .conftest import Bayplan

NEWEST = NEWEST_RELEASE.version

FileOf = Callable[..., str]


def test_it_fits(bayplan: Bayplan, file_of: FileOf) -> None:
    said = bayplan("explain", "x", "-f", file_of(make.node("a"), make.pod("x")))
    assert (said.code, said.err) == (0, "")
    assert said.first_line.startswith("default/x fits on the only node; a wins with ")


def test_it_does_not_fit(bayplan: Bayplan, file_of: FileOf) -> None:
    said = bayplan("explain", "x", "-f", file_of(make.node("a").taint("k"), make.pod("x")))
    assert said.code == 1


def test_it_would_fit_after_evictions(bayplan: Bayplan, file_of: FileOf) -> None:
    """The answer to "does it fit" is still no."""
    low, high = make.pod("low").cpu("4").running("a"), make.pod("x").cpu("4").priority(1)
    said = bayplan("explain", "x", "-f", file_of(make.node("a"), low, high))
    assert said.code == 1
    assert said.first_line.endswith("evicting default/low from a would make room.")


@pytest.mark.parametrize("output", ["table", "markdown", "html"])
def test_the_least_disruption_beside_what_the_scheduler_does(bayplan: Bayplan, file_of: FileOf, output: str) -> None:
    low, high = make.pod("low").cpu("4").running("a"), make.pod("x").cpu("4").priority(1)
    file = file_of(make.node("a").capacity(cpu="4"), low, high)
    said = bayplan("explain", "x", "-f", file, "--optimal", "-o", output)
    assert said.code == 1
    assert "kube-scheduler evicts 1 pod, on a. No choice of victims, on any nodes, disrupts less." in said.out
    document = bayplan("explain", "x", "-f", file, "--optimal", "-o", "json").json()
    assert document["leastDisruption"]["atLeast"] == {"numPDBViolations": 0, "victims": 1}


def test_json_is_the_document_of_the_explanation(bayplan: Bayplan, file_of: FileOf) -> None:
    file = file_of(make.node("a"), make.node("b").taint("k"), make.pod("x").running("a"))
    said = bayplan("explain", "x", "-f", file, "-o", "json")
    assert said.json() == answer_document("explanation", NEWEST, Cluster.load(file).explain("default/x").document())
    assert said.err.startswith("note: It is on a now")


@pytest.mark.parametrize("pod", ["fits", "rejected", "preempts", "never", "too-large", "gated", "runs", "deploy/web"])
@pytest.mark.parametrize("flags", [(), ("--all-reasons",)])
def test_the_table_has_nothing_that_the_json_lacks(
    bayplan: Bayplan, file_of: FileOf, pod: str, flags: tuple[str, ...]
) -> None:
    file = file_of(
        make.node("a").capacity(cpu="4"),
        make.node("b").capacity(cpu="4").taint("k"),
        make.node("c").capacity(cpu="4"),
        make.pod("runs").cpu("2").priority(1).running("a"),
        make.pod("equal").cpu("3").priority(9).running("c"),
        make.pod("fits").cpu("1"),
        make.pod("rejected").claim("none"),
        make.pod("preempts").cpu("4").priority(9),
        make.pod("never").cpu("4").priority(9).never_preempts(),
        make.pod("too-large").cpu("5"),
        make.pod("gated").gate("later"),
        make.deployment("web").template(make.pod("web").labels(app="web")),
    )
    table = bayplan("explain", pod, "-f", file, "--details", *flags).out
    document = bayplan("explain", pod, "-f", file, "-o", "json", *flags).json()
    assert rendered(terminal_parts(with_source(explanation_parts(document), f"-f {file}"))) == table


def test_a_page_and_a_comment(bayplan: Bayplan, file_of: FileOf) -> None:
    file = file_of(make.node("a").capacity(cpu="4"), make.pod("low").cpu("2").running("a"), make.pod("x").cpu("1"))
    page = bayplan("explain", "x", "-f", file, "-o", "html")
    assert (page.code, page.err) == (0, "")
    assert page.out.startswith("<!DOCTYPE html>")
    assert "<title>default/low: 2, priority 0</title>" in page.out
    comment = bayplan("explain", "x", "-f", file, "-o", "markdown")
    assert comment.first_line == "### bayplan explain x"
    assert "✅ **default/x fits on the only node; a wins with " in comment.out


def test_json_with_all_reasons(bayplan: Bayplan, file_of: FileOf) -> None:
    file = file_of(make.node("b").taint("k").unschedulable(), make.pod("x"))
    plain = bayplan("explain", "x", "-f", file, "-o", "json", "--all-reasons").json()
    assert [one["plugin"] for one in plain["allReasons"]["b"]] == ["NodeUnschedulable", "TaintToleration"]
    assert plain == answer_document(
        "explanation", NEWEST, Cluster.load(file).explain("default/x").document(all_reasons=True)
    )


@pytest.mark.parametrize(
    "arguments",
    [
        ("prod/deployment/web",),
        ("deployment/web", "-n", "prod"),
        ("deploy/web", "--namespace", "prod"),
    ],
)
def test_next_pod_of_a_workload(bayplan: Bayplan, file_of: FileOf, arguments: tuple[str, ...]) -> None:
    web = make.deployment("web", "prod").template(make.pod("web").labels(app="web"))
    said = bayplan("explain", *arguments, "-f", file_of(make.node("a"), web))
    assert said.code == 0
    assert "It is the next pod that Deployment prod/web would create." in said.out


def test_several_files_after_one_option(bayplan: Bayplan, file_of: FileOf) -> None:
    nodes, pods = file_of(make.node("a"), name="nodes.json"), file_of(make.pod("x"), name="pods.json")
    assert bayplan("explain", "-f", nodes, pods, "x").code == 0


def test_standard_input(bayplan: Bayplan, file_of: FileOf, monkeypatch: pytest.MonkeyPatch) -> None:
    data = Path(file_of(make.node("a"), make.pod("x"))).read_bytes()
    monkeypatch.setattr("sys.stdin", TextIOWrapper(BytesIO(data)))
    assert bayplan("explain", "x", "-f", "-").code == 0


def test_kinds_passed_over_are_noted_beside_the_answer(bayplan: Bayplan, tmp_path: Path) -> None:
    file = tmp_path / "app.yaml"
    file.write_text(
        "apiVersion: v1\nkind: Pod\nmetadata: {name: x}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: y}\n"
    )
    said = bayplan("explain", "x", "-f", str(file), "-o", "json")
    assert said.err == "note: ignored 1 object of kinds that do not affect scheduling: 1 ConfigMap\n"
    assert said.json()["feasible"] == []


def test_configuration(bayplan: Bayplan, file_of: FileOf, tmp_path: Path) -> None:
    config = tmp_path / "config.yaml"
    config.write_text(
        "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
        "profiles:\n- plugins: {multiPoint: {disabled: [{name: TaintToleration}]}}\n"
    )
    file = file_of(make.node("a").taint("k"), make.pod("x"))
    assert bayplan("explain", "x", "-f", file).code == 1
    assert bayplan("explain", "x", "-f", file, "--config", str(config)).code == 0


def test_unknown_pod_with_what_was_meant(bayplan: Bayplan, file_of: FileOf) -> None:
    said = bayplan("explain", "chekout", "-f", file_of(make.node("a"), make.pod("checkout")))
    assert said.code == 2
    assert said.err == ("error: Pod default/chekout: not found in the input; did you mean default/checkout?\n")


def test_feature_gates_are_heeded_or_refused_by_name(bayplan: Bayplan, file_of: FileOf) -> None:
    file = file_of(make.node("a").taint("price", "10"), make.pod("x").tolerates("price", "50", operator="Lt"))
    comparing = "TaintTolerationComparisonOperators"
    assert bayplan("explain", "x", "-f", file).code == 1
    assert bayplan("explain", "x", "-f", file, "--feature-gates", f"{comparing}=true").code == 0
    given_twice = ["--feature-gates", f"{comparing}=true", "--feature-gates", "VolumeLimitScaling=true"]
    assert bayplan("explain", "x", "-f", file, *given_twice).code == 0
    said = bayplan("explain", "x", "-f", file, "--feature-gates", "DRADerivedAttributes=true")
    assert said.code == 2
    assert "DRADerivedAttributes=true is not supported" in said.err


def test_the_kubernetes_version_is_that_of_the_scheduler_that_decides(bayplan: Bayplan, file_of: FileOf) -> None:
    file = file_of(make.node("a").capacity(cpu="1"), make.pod("x").cpu("2"))
    words = "no new claims to deallocate"
    assert words in bayplan("explain", "x", "-f", file, "--details", "--kubernetes-version", "v1.36.4-gke.100").out
    assert words not in bayplan("explain", "x", "-f", file, "--details").out
    told = bayplan("explain", "x", "-f", file, "--kubernetes-version", "v1.37.1")
    assert f"Next: bayplan fix default/x -f {file} --kubernetes-version 1.37" in told.out
    assert words not in bayplan("explain", "x", "-f", file, "--details", "--kubernetes-version", "1.37").out


def test_an_unknown_kubernetes_version_is_refused(bayplan: Bayplan, file_of: FileOf) -> None:
    said = bayplan("explain", "x", "-f", file_of(make.pod("x")), "--kubernetes-version", "1.12")
    assert said.code == 2
    assert "Kubernetes 1.12 is not known; bayplan knows 1.36 and 1.37" in said.err


def test_which_feature_gates_there_are_depends_on_the_version(bayplan: Bayplan, file_of: FileOf) -> None:
    file = file_of(make.node("a").capacity(cpu="1"), make.pod("x").cpu("1"))
    gates = ["--feature-gates", "DRAFractionalCapacityRange=false"]
    assert bayplan("explain", "x", "-f", file, *gates, "--kubernetes-version", "1.37").code == 0
    assert bayplan("explain", "x", "-f", file, *gates).code == 0
    older = bayplan("explain", "x", "-f", file, *gates, "--kubernetes-version", "1.36")
    assert (older.code, "unrecognized feature gate" in older.err) == (2, True)


def dump_of(tmp_path: Path, version: str | None) -> str:
    """A dump of a cluster that is too small for the pod `x`."""
    things = from_dicts([make.node("a").capacity(cpu="1").dict(), make.pod("x").cpu("2").dict()]).objects
    file = tmp_path / "dump.json"
    file.write_bytes(b"".join(dump_lines(things, version)))
    return str(file)


def test_a_dump_says_which_version_its_cluster_has(bayplan: Bayplan, tmp_path: Path, says_version: None) -> None:
    older = bayplan("explain", "x", "-f", dump_of(tmp_path, "v1.36.4"), "--details")
    assert "no new claims to deallocate" in older.out
    assert "Kubernetes" not in older.err
    file = dump_of(tmp_path, "v1.37.0-rc.1")
    assert "no new claims to deallocate" not in bayplan("explain", "x", "-f", file, "--details").out
    gates = bayplan("explain", "x", "-f", file, "--feature-gates", "SidecarContainers=true")
    said = "--feature-gates: unrecognized feature gate: SidecarContainers (Kubernetes v1.37)"
    assert (gates.code, said in gates.err) == (2, True)


def test_where_nothing_says_a_version_the_newest_decides_and_that_is_noted(
    bayplan: Bayplan, tmp_path: Path, says_version: None
) -> None:
    said = bayplan("explain", "x", "-f", dump_of(tmp_path, None))
    assert "note: nothing says which version of Kubernetes the cluster has: the scheduler of v1.37 decides" in said.err


def test_a_cluster_of_an_unknown_version_is_refused_unless_the_nearest_will_do(
    bayplan: Bayplan, tmp_path: Path, says_version: None
) -> None:
    file = dump_of(tmp_path, "v1.39.2")
    refused = bayplan("explain", "x", "-f", file)
    assert (refused.code, refused.out) == (2, "")
    assert "Kubernetes v1.39.2 is not known; bayplan knows 1.36 and 1.37; --kubernetes-version nearest" in refused.err
    nearest = bayplan("explain", "x", "-f", file, "--kubernetes-version", "nearest")
    assert nearest.out.startswith(bayplan("explain", "x", "-f", file, "--kubernetes-version", "1.37").first_line)
    assert "v1.39.2, which bayplan does not know: the scheduler of v1.37 decides" in nearest.err
    file = dump_of(tmp_path, "v1.30.0")
    nearest = bayplan("explain", "x", "-f", file, "--kubernetes-version", "nearest", "--details")
    assert "no new claims to deallocate" in nearest.out


def test_dumps_of_two_versions_do_not_go_together(bayplan: Bayplan, tmp_path: Path) -> None:
    one = Path(dump_of(tmp_path, "v1.36.4")).rename(tmp_path / "one.json")
    other = tmp_path / "other.json"
    other.write_bytes(b"".join(dump_lines(from_dicts([make.node("b").dict()]).objects, "v1.37.0")))
    said = bayplan("explain", "x", "-f", str(one), str(other))
    assert (said.code, "kubernetesVersion: v1.37.0, but other input is of v1.36.4" in said.err) == (2, True)


GROUPS = ("--kubernetes-version", "1.37", "--feature-gates", "GenericWorkload=true")


@pytest.fixture
def gang_file(tmp_path: Path) -> str:
    path = tmp_path / "gang.json"
    objects = [node("a"), gang("g", 2), pod("x", "g", cpu="3"), pod("y", "g", cpu="3")]
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}))
    return str(path)


def test_a_pod_group_is_explained_as_one(bayplan: Bayplan, gang_file: str) -> None:
    said = bayplan("explain", "default/podgroup/g", "-f", gang_file, *GROUPS)
    assert said.code == 1
    assert said.first_line == "The group default/g does not fit now: 1 of 2 pods would find a node."
    document = json.loads(bayplan("explain", "podgroup/g", "-f", gang_file, *GROUPS, "-o", "json").out)
    assert document["format"] == "bayplan group explanation v1"
    assert document["fitting"] == {"default/x": "a"}
    assert document["firstUnfit"]["pod"] == "default/y"


def test_groups_are_off_unless_asked_for(bayplan: Bayplan, gang_file: str) -> None:
    said = bayplan("explain", "podgroup/g", "-f", gang_file)
    assert said.code == 2
    assert "add --kubernetes-version 1.37 --feature-gates GenericWorkload=true" in said.err


def test_a_pod_of_a_group_is_explained_with_the_group(bayplan: Bayplan, gang_file: str) -> None:
    said = bayplan("explain", "x", "-f", gang_file, *GROUPS)
    assert said.code == 1
    assert said.first_line == "The group default/g does not fit now: 1 of 2 pods would find a node."
    assert "note: the pod belongs to the pod group default/g, which is tried as a whole" in said.err
    said = bayplan("explain", "x", "-f", gang_file, "--kubernetes-version", "1.37")
    assert said.code == 0
    assert "default/x fits on the only node" in said.first_line
    assert "note: the pod belongs to the pod group default/g; pod groups are off, so it is explained as if" in said.err


def test_a_pod_without_a_group_preempts_whole_groups(bayplan: Bayplan, tmp_path: Path) -> None:
    path, members = tmp_path / "cluster.json", [pod("x", "g", cpu="3", on="a"), pod("y", "g", cpu="3", on="b")]
    whole = gang("g", 2) | {"metadata": {"name": "g", "namespace": "default"}}
    whole["spec"]["disruptionMode"] = {"all": {}}
    boss = pod("boss", cpu="3", priority=9)
    boss["spec"]["nodeSelector"] = {"kubernetes.io/hostname": "b"}
    nodes = [node("a"), node("b") | {"metadata": {"name": "b", "labels": {"kubernetes.io/hostname": "b"}}}]
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": [*nodes, whole, boss, *members]}))
    said = bayplan("explain", "boss", "-f", str(path), *GROUPS, "--details")
    assert said.code == 1
    assert "evicting default/x and default/y would make room on b." in said.first_line
    record = json.loads(bayplan("explain", "boss", "-f", str(path), *GROUPS, "-o", "json").out)["preemption"]["record"]
    (candidate,) = record["candidates"]
    assert [victim["pod"] for victim in candidate["victims"]] == ["default/x", "default/y"]
    (reprieve,) = candidate["reprieves"]
    assert (reprieve["pod"], reprieve["together"]) == ("default/x", ["default/y"])
    assert (reprieve["kept"], reprieve["stoppedBy"]) == (False, "NodeResourcesFit")
    said = bayplan("explain", "boss", "-f", str(path), *GROUPS, "--optimal")
    assert (said.code, "--optimal does not know what is evicted as a whole" in said.err) == (2, True)


def test_a_group_that_is_not_there(bayplan: Bayplan, gang_file: str) -> None:
    said = bayplan("explain", "podgroup/other", "-f", gang_file, *GROUPS)
    assert said.code == 2
    assert "podgroup/default/other: not found in the input" in said.err


def test_groups_of_groups_are_named_and_not_explained(bayplan: Bayplan, tmp_path: Path) -> None:
    composite = {"apiVersion": "scheduling.k8s.io/v1alpha3", "kind": "CompositePodGroup", "metadata": {"name": "c"}}
    part = gang("g", 1)
    part["spec"]["parentCompositePodGroupName"] = "c"
    path = tmp_path / "composite.json"
    items = [node("a"), composite, part, pod("x", "g", cpu="3")]
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    said = bayplan("explain", "podgroup/g", "-f", str(path), *GROUPS)
    assert said.code == 2
    assert "podgroup/default/g: it is part of CompositePodGroup c, and those are not known here" in said.err
    assert "CompositePodGroups are not known here: pod groups that are part of one are taken" in said.err
