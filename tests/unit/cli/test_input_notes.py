"""What is said about input that is not complete."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from bayplan.analysis.default_storage_class import EXPLANATION
from bayplan.analysis.input_gaps import DUMP_COMMAND
from bayplan.model.workloads import CronJob, CronJobSpec, Deployment, JobTemplateSpec
from bayplan.testing import builders as make
from bayplan.testing.builders import WorkloadBuilder
from bayplan.testing.building import Builder
from bayplan.testing.pods import PodBuilder

from .conftest import Bayplan

FileOf = Callable[..., str]

COMMANDS = [("place",), ("explain", "db-0"), ("fix", "db-0"), ("audit",), ("simulate", "--until", "1m")]


@pytest.mark.parametrize("command", COMMANDS)
def test_kinds_that_are_missing_are_named_with_the_command_that_gets_them(
    bayplan: Bayplan, file_of: FileOf, command: tuple[str, ...]
) -> None:
    pods = [make.pod(f"db-{at}").owner("StatefulSet", "db").claim(f"data-{at}") for at in range(2)]
    said = bayplan(*command, "-f", file_of(make.node("a"), *pods))
    (note,) = [line for line in said.err.splitlines() if "input" in line]
    assert note == (
        "note: the input has no PersistentVolumeClaims (2 references), StatefulSets (2 references), Services. "
        "Affected: where pods with volumes fit; budgets, rollouts, which pods come back; default spreading. "
        f"Complete input: {DUMP_COMMAND}"
    )


@pytest.mark.parametrize("command", COMMANDS)
def test_a_claim_without_a_class_is_treated_alike(bayplan: Bayplan, file_of: FileOf, command: tuple[str, ...]) -> None:
    """A default class is assumed, which is said, and the pod gets a node."""
    claim, pod = make.claim("data").manifest(), make.pod("db-0").claim("data").manifest()
    said = bayplan(*command, "-f", file_of(make.node("a"), claim, pod))
    assert EXPLANATION in " ".join((said.out + said.err).split())
    assert "the input has no StorageClass" not in said.err
    assert said.code == 0


def lacking(name: str) -> WorkloadBuilder[Deployment]:
    pattern = make.pod(name).labels(app=name).priority(None, class_name="gone")
    return make.deployment(name).replicas(1).template(pattern)


@pytest.mark.parametrize("command", [("place",), ("explain", "p"), ("whatif", "--drain", "a"), ("audit",)])
def test_a_workload_of_a_dump_whose_class_is_gone_does_not_spoil_other_answers(
    bayplan: Bayplan, file_of: FileOf, command: tuple[str, ...]
) -> None:
    """Its controller cannot create pods, which is all that follows from it."""
    others = (make.node("a"), make.node("b"), make.priority_class("high", 5), make.pod("p"))
    said = bayplan(*command, "-f", file_of(*others, lacking("web"), lacking("api")))
    assert (
        "note: Deployment default/web and Deployment default/api cannot create pods: "
        "no PriorityClass with name gone was found; add the class to the input, or name another one\n"
    ) in said.err
    assert said.code == (1 if command[0] == "audit" else 0)  # an audit reports the class as missing


@pytest.mark.parametrize("is_dumped", [True, False])
def test_a_workload_whose_class_is_missing_is_an_error_where_its_pods_are_asked_for(
    bayplan: Bayplan, file_of: FileOf, is_dumped: bool
) -> None:
    web = lacking("web") if is_dumped else lacking("web").manifest()
    for command in (("place", "deployment/web"), ("explain", "deployment/web"), *([] if is_dumped else [("place",)])):
        said = bayplan(*command, "-f", file_of(make.node("a"), web, name=f"{is_dumped}.json"))
        assert said.code == 2
        assert "Deployment default/web: spec.template.spec.priorityClassName: no PriorityClass" in said.err


def nightly(pattern: PodBuilder) -> Builder[CronJob]:
    template = JobTemplateSpec(spec=make.job("t").template(pattern).manifest().obj().spec)
    return Builder(
        CronJob(spec=CronJobSpec(schedule="0 3 * * *", job_template=template)), "nightly", "batch"
    ).manifest()


def test_workloads_that_create_no_pods_for_now_are_named(bayplan: Bayplan, file_of: FileOf) -> None:
    later = make.job("later").template(make.pod("t")).set(suspend=True).manifest()
    file = file_of(make.node("a"), nightly(make.pod("t")), later)
    said = bayplan("place", "-f", file)
    assert said.err == (
        "note: 1 CronJob creates no pods until due: try bayplan explain batch/cronjob/nightly\n"
        "note: 1 suspended Job creates no pods: try bayplan explain default/job/later\n"
    )
    for named, why in (("batch/cronjob/nightly", "only when its schedule is due"), ("job/later", "is suspended")):
        refused = bayplan("place", named, "-f", file)
        assert (refused.code, why in refused.err) == (2, True)
        assert bayplan("explain", named, "-f", file).code == 0


def test_the_next_pod_of_a_cron_job_is_explained(bayplan: Bayplan, file_of: FileOf) -> None:
    file = file_of(make.node("a").capacity(cpu="1"), nightly(make.pod("t").cpu("2")))
    said = bayplan("explain", "batch/cronjob/nightly", "-f", file, "-o", "json")
    document = said.json()
    assert said.code == 1
    assert document["pod"]["workload"] == "CronJob batch/nightly"
    assert "Insufficient cpu" in document["message"]
    fixed = bayplan("fix", "batch/cronjob/nightly", "-f", file)
    expected = "A pod of batch/cronjob/nightly would run on a if you lower its cpu request from 2 cores to 1 core."
    assert (fixed.code, fixed.out.splitlines()[0]) == (0, expected)


def test_a_bad_template_of_a_cron_job_is_told_with_its_path(bayplan: Bayplan, file_of: FileOf) -> None:
    file = file_of(make.node("a"), nightly(make.pod("t").priority(None, class_name="gone")))
    said = bayplan("explain", "batch/cronjob/nightly", "-f", file)
    assert said.code == 2
    assert "CronJob batch/nightly: spec.jobTemplate.spec.template.spec.priorityClassName: no Prio" in said.err


def test_a_namespace_that_does_not_exist_is_noted(bayplan: Bayplan, file_of: FileOf) -> None:
    there = make.node("a"), make.namespace("shop")
    said = bayplan("place", "-f", file_of(*there, make.pod("p", "shopp").manifest(), make.pod("q").manifest()))
    assert said.err == (
        "note: the input has no Namespace shopp, but 1 object is in it, which an API server would refuse; "
        "did you mean shop?\n"
    )


@pytest.mark.parametrize(
    "command", [("drain", "a"), ("whatif", "--drain", "a"), ("consolidate",), ("defrag", "--for", "cpu=1")]
)
def test_a_dump_without_budgets_is_noted_where_pods_are_evicted(
    bayplan: Bayplan, file_of: FileOf, command: tuple[str, ...]
) -> None:
    nodes, running = (make.node("a"), make.node("b")), make.pod("p").running("a")
    text = "note: the input has no PodDisruptionBudgets: if the cluster has some, they may block evictions\n"
    assert text in bayplan(*command, "-f", file_of(*nodes, running)).err
    assert text not in bayplan(*command, "-f", file_of(*nodes, running, make.budget("b").selects(app="x"))).err


def test_a_fix_for_a_pod_whose_claims_are_not_in_the_input_is_not_certain(bayplan: Bayplan, file_of: FileOf) -> None:
    said = bayplan("fix", "p", "-f", file_of(make.node("a"), make.pod("p").claim("data")))
    assert said.out.splitlines()[1] == (
        "Not certain: the input has no PersistentVolumeClaim. If the cluster has one, ask again with complete input."
    )
    complete = file_of(make.node("a"), make.pod("p").claim("data"), make.claim("other"))
    assert "Not certain" not in bayplan("fix", "p", "-f", complete).out
