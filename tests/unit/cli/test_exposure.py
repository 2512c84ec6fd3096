"""`bayplan exposure`: exit codes, formats, and bad input."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from bayplan import Cluster
from bayplan.config.releases import NEWEST_RELEASE
from bayplan.report.json_output import answer_document
from bayplan.testing import builders as make

from .conftest import Bayplan

NEWEST = NEWEST_RELEASE.version

FileOf = Callable[..., str]
CLUSTER = (make.node("n").capacity(cpu="4"), make.pod("a").cpu("1").running("n"))


@pytest.mark.parametrize("arguments", [("a",), (), ("-A",)])
@pytest.mark.parametrize("output", ["table", "json", "yaml", "markdown", "html"])
def test_all_formats(bayplan: Bayplan, file_of: FileOf, arguments: tuple[str, ...], output: str) -> None:
    said = bayplan("exposure", *arguments, "-f", file_of(*CLUSTER), "-o", output)
    assert (said.code, said.err) == (0, "")
    assert "default/a" in said.out


def test_json_is_the_answer_of_the_method(bayplan: Bayplan, file_of: FileOf) -> None:
    file = file_of(*CLUSTER)
    cluster = Cluster.load(file)
    one = bayplan("exposure", "a", "-f", file, "-o", "json")
    assert one.json() == answer_document("exposure", NEWEST, cluster.exposure("a").to_dict())
    every = bayplan("exposure", "-f", file, "-o", "json")
    assert every.json() == answer_document("exposure ranking", NEWEST, cluster.exposure_ranking().to_dict())


def test_a_namespace_narrows_the_ranking_only_if_it_is_given(bayplan: Bayplan, file_of: FileOf) -> None:
    file = file_of(*CLUSTER, make.pod("b", "shop").cpu("1").running("n"))

    def ranked(*arguments: str) -> list[str]:
        document = bayplan("exposure", "-f", file, "-o", "json", *arguments).json()
        return sorted(each["workload"] for each in document["workloads"])

    assert ranked() == ["default/a", "shop/b"]
    assert ranked("-n", "shop") == ["shop/b"]
    assert ranked("-n", "default") == ["default/a"]


@pytest.mark.parametrize(("cpu", "code"), [("4", 1), ("3", 0)])
def test_against_a_preemptor(bayplan: Bayplan, file_of: FileOf, cpu: str, code: int) -> None:
    new = file_of(make.pod("x").cpu(cpu).priority(9), name="new.json")
    said = bayplan("exposure", "a", "-f", file_of(*CLUSTER), "--against", new)
    assert (said.code, said.first_line.partition(":")[0]) == (code, "Yes" if code else "No")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("b",), "error: Pod default/b: not found in the input"),
        (("deployment/web",), "error: Deployment default/web: not found in the input"),
        (("node/n",), "error: Pod node/n: not found in the input"),
        (("a", "--class", "x"), "Error: --class cannot be combined with a pod."),
        (("-n", "x"), "error: --namespace: no pod has 'x'; there are: default"),
        (("a", "-A"), "Error: -A lists workloads, and cannot be combined with POD."),
        (("--against", "x.yaml"), "Error: --against needs a pod or a workload."),
        (("a", "--against", "missing.yaml"), "missing.yaml"),
    ],
)
def test_bad_input(bayplan: Bayplan, file_of: FileOf, arguments: tuple[str, ...], message: str) -> None:
    said = bayplan("exposure", *arguments, "-f", file_of(*CLUSTER))
    assert (said.code, said.out) == (2, "")
    assert message in said.err


def test_a_file_without_a_preemptor(bayplan: Bayplan, file_of: FileOf) -> None:
    new = file_of(make.namespace("x"), name="new.json")
    said = bayplan("exposure", "a", "-f", file_of(*CLUSTER), "--against", new)
    assert (said.code, said.out) == (2, "")
    assert "contains no pod without a node" in said.err


def test_all_manifests_and_dumps(bayplan: Bayplan, shared: Path) -> None:
    """Whatever is in them."""
    data = shared / "data"
    dumps = sorted((data / "nodes").glob("*.json"))
    for file in [*(data / "manifests").glob("*.yaml"), data / "manifests", *dumps]:
        said = bayplan("exposure", "-f", str(file))
        assert said.code == 0, (file, said.err)
    running = [
        key for key, pod in Cluster.load(data / "nodes" / "honeycomb-pods.json").pods.items() if pod.spec.node_name
    ]
    nodes = data / "nodes" / "honeycomb-nodes.json"
    for pod in running[:3]:
        said = bayplan("exposure", pod, "-f", str(data / "nodes" / "honeycomb-pods.json"), "-f", str(nodes))
        assert said.code == 0, (pod, said.err)
