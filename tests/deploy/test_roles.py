"""The chart's roles are just enough: all works with them, none of their rights is idle, and a missing one is named."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.deploy.upstream_roles import RIGHTS, RIGHTS_FOR_GROUPS
from tests.support.helm_charts import chart_documents
from tests.support.role_server import Attempt, Authorizer, AuthorizingProxy, Right, attempt_of, rights_of
from tests.support.scheduler_process import RunningScheduler, running_scheduler

from bayplan.testing import LiveCluster, builders, cluster

CHART = Path(__file__).resolve().parents[2] / "deploy" / "helm" / "bayplan"
WORKLOAD = Path(__file__).with_name("workload.yaml")
VALUES = {"schedulerName": "default-scheduler"}
DOCUMENTS = chart_documents(CHART, VALUES, name="bayplan", namespace="bayplan-system")
ROLES = [document for document in DOCUMENTS if document["kind"] in ("Role", "ClusterRole")]
#: What a scheduler of v1.37 looks at besides.
SINCE_1_37 = {Right(verb, "resource.k8s.io", "devicetaintrules") for verb in ("list", "watch")}
READS = {right for right in rights_of(ROLES) if right.verb in ("list", "watch")} - SINCE_1_37
#: Checked by a real API server beside the request itself, so that no request shows them.
CHECKED_WITHIN = {
    Right("patch", "resource.k8s.io", "resourceclaims/binding"),
    Right("update", "resource.k8s.io", "resourceclaims/binding"),
    Right("update", "", "pods/finalizers"),
}


PREEMPTOR = builders.pod("high").cpu(3).image("web").priority_class("high").manifest().dict()
#: Failed attempts are repeated soon.
CONFIGURATION = """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
podMaxBackoffSeconds: 1
"""


def _right(text: str) -> Right:
    """From `update resourceclaims/status.resource.k8s.io`, as kubectl has it."""
    verb, _, named = text.partition(" ")
    resource, _, subresource = named.partition("/")
    resource, _, group = resource.partition(".")
    if subresource:
        subresource, _, group = subresource.partition(".")
        resource = f"{resource}/{subresource}"
    return Right(verb, group, resource)


#: Rights in the order in which they are needed. First all are missing; when those of a stage have been named, they are
#: given, and those of the next are missed.
STAGES = [
    ["get leases.coordination.k8s.io"],
    ["create leases.coordination.k8s.io"],
    ["update leases.coordination.k8s.io", "create events"],
    [
        "create tokenreviews.authentication.k8s.io",
        "create subjectaccessreviews.authorization.k8s.io",
        "create events.events.k8s.io",
        "patch pods/status",
        "get persistentvolumes",
        "get persistentvolumeclaims",
        "get resourceclaims.resource.k8s.io",
    ],
    ["update persistentvolumes", "update persistentvolumeclaims"],
    ["create resourceclaims.resource.k8s.io", "update resourceclaims.resource.k8s.io"],
    ["update resourceclaims/status.resource.k8s.io"],
    [
        "create pods/binding",
        "patch events.events.k8s.io",
        "delete resourceclaims.resource.k8s.io",
        "patch resourceclaims/status.resource.k8s.io",
    ],
    ["delete pods"],
]


class Trial:
    """A scheduler that may do what the roles say."""

    def __init__(self, live: LiveCluster, authorizer: Authorizer, scheduler: RunningScheduler) -> None:
        self.live, self.authorizer, self.scheduler = live, authorizer, scheduler

    def wait_until_bound(self, *names: str) -> None:
        def all_bound() -> bool:
            bound = {pod["metadata"]["name"] for pod in self.live.list("pods") if pod["spec"].get("nodeName")}
            return bound.issuperset(names)

        self.scheduler.wait_for(all_bound)

    def wait_until_named(self, right: Right) -> None:
        # The log quotes the message, which has quotes itself.
        self.scheduler.wait_for(lambda: right.text in self.scheduler.log().replace('\\"', '"'))


@contextmanager
def trial(
    folder: Path, *flags: str, withheld: Iterable[Right] = (), roles: Sequence[Any] = ROLES, **settings: Any
) -> Iterator[Trial]:
    with ExitStack() as stack:
        live = stack.enter_context(cluster(nodes=1, scheduler=False, **settings))
        authorizer = Authorizer(roles, withheld)
        proxy = AuthorizingProxy(live, authorizer)
        stack.callback(proxy.close)
        kubeconfig, configuration = folder / "kubeconfig", folder / "scheduler.yaml"
        kubeconfig.write_text(proxy.kubeconfig())
        configuration.write_text(CONFIGURATION)
        own = (f"--config={configuration}", "--leader-elect-resource-name=bayplan", "-v=2")
        scheduler = stack.enter_context(running_scheduler(kubeconfig, folder / "log", *own, *flags))
        yield Trial(live, authorizer, scheduler)


def test_requests_are_read_as_a_server_reads_them() -> None:
    pods = "/api/v1/namespaces/a/pods"
    assert attempt_of("POST", f"{pods}/b/binding") == Attempt(Right("create", "", "pods/binding"), "a", "b")
    assert attempt_of("GET", "/api/v1/pods?watch=true") == Attempt(Right("watch", "", "pods"), "", "")
    assert attempt_of("GET", "/api/v1/namespaces") == Attempt(Right("list", "", "namespaces"), "", "")
    assert attempt_of("GET", "/api/v1/namespaces/a") == Attempt(Right("get", "", "namespaces"), "", "a")
    leases = "/apis/coordination.k8s.io/v1/namespaces/a/leases/b?timeout=5s"
    assert attempt_of("PUT", leases) == Attempt(Right("update", "coordination.k8s.io", "leases"), "a", "b")
    assert attempt_of("GET", "/apis/events.k8s.io/v1") is None


def test_every_right_to_write_is_missed_in_some_stage() -> None:
    missed = {_right(text) for stage in STAGES for text in stage}
    assert missed == rights_of(ROLES) - READS - SINCE_1_37 - CHECKED_WITHIN


#: What kube-scheduler may do and bayplan never does: it reads by watching, writes a claim or a status as a whole or as
#: a patch but not both, writes events of one group only, and takes part in no election of candidates.
NEVER_DONE = {
    *(Right("get", group, resource) for verb, group, resource in RIGHTS["1.37"] if verb == "watch"),
    *(right for right in RIGHTS["1.37"] if right.resource == "leasecandidates"),
    *(Right(verb, "extensions", "replicasets") for verb in ("list", "watch")),
    *(Right(verb, "coordination.k8s.io", "leases") for verb in ("list", "watch")),
    *(Right(verb, "", "events") for verb in ("patch", "update")),
    Right("update", "events.k8s.io", "events"),
    Right("create", "", "bindings"),
    Right("update", "", "pods/status"),
    *(Right("patch", "", resource) for resource in ("persistentvolumeclaims", "persistentvolumes")),
    Right("patch", "resource.k8s.io", "resourceclaims"),
    *(Right(verb, "resource.k8s.io", "resourceclaims/status") for verb in ("list", "watch")),
}


@pytest.mark.parametrize(("version", "only_later"), [("1.36", SINCE_1_37), ("1.37", set[Right]())])
def test_the_roles_allow_what_upstreams_allow_and_nothing_else(version: str, only_later: set[Right]) -> None:
    ours = rights_of(ROLES)
    assert ours - RIGHTS[version] == only_later
    assert RIGHTS[version] - ours == (NEVER_DONE - ours) & RIGHTS[version]


def test_the_roles_for_pod_groups_allow_what_upstreams_allow_and_nothing_else() -> None:
    documents = chart_documents(CHART, {**VALUES, "podGroups": True}, name="bayplan", namespace="bayplan-system")
    ours = rights_of(each for each in documents if each["kind"] in ("Role", "ClusterRole")) - rights_of(ROLES)
    assert ours <= RIGHTS_FOR_GROUPS
    assert RIGHTS_FOR_GROUPS - ours == {
        Right("get", "scheduling.k8s.io", "podgroups"),
        Right("update", "scheduling.k8s.io", "podgroups/status"),
    }


@pytest.mark.slow
def test_each_missing_right_to_write_is_named_and_with_all_of_them_everything_works(tmp_path: Path) -> None:
    stages = [[_right(text) for text in stage] for stage in STAGES]
    with trial(tmp_path, withheld=[right for stage in stages for right in stage]) as tried:
        tried.live.apply(str(WORKLOAD))
        for number, stage in enumerate(stages):
            tried.authorizer.withheld = frozenset(right for later in stages[number:] for right in later)
            if stage == [_right("delete pods")]:
                tried.wait_until_bound("low", "with-disk", "with-new-disk", "with-claim")
                tried.live.apply(PREEMPTOR)
            for right in stage:
                if right.resource in ("tokenreviews", "subjectaccessreviews"):
                    tried.scheduler.ask("/debug/queue", token="somebody's" if right.resource == "tokenreviews" else "")
                tried.wait_until_named(right)
        tried.authorizer.withheld = frozenset({_right("create pods/binding")})
        # Its claim could not be deleted, and nothing wakes it.
        tried.live.delete("pod", "with-gpu")
        tried.live.wait_until(lambda live: live.list("resourceclaims", "default")[1:] == [])
        tried.live.apply(str(WORKLOAD))
        tried.scheduler.wait_for(lambda: _right("delete resourceclaims.resource.k8s.io") in tried.authorizer.used)
        tried.authorizer.withheld = frozenset()
        tried.wait_until_bound("high", "with-gpu")
        # None is idle: each was asked for. A kind is listed only where its stream is refused or has a gap.
        assert tried.authorizer.refused == {right for stage in stages for right in stage}
        assert {right for right in READS if right.verb == "watch"} <= tried.authorizer.used


@pytest.mark.slow
def test_every_missing_right_to_read_is_named_and_the_rest_goes_on(tmp_path: Path) -> None:
    spared = {Right(verb, "", resource) for verb in ("list", "watch") for resource in ("nodes", "pods")}
    with trial(tmp_path, withheld=READS - spared) as tried:
        missing = {right.resource for right in READS - spared}
        tried.scheduler.wait_for(lambda: all(f" {name} in API group" in tried.scheduler.log() for name in missing))
        tried.scheduler.wait_until_ready()
        tried.live.apply(builders.pod("plain").cpu(1).image("web").manifest().dict())
        tried.wait_until_bound("plain")


@pytest.mark.slow
def test_the_shadow_gets_by_with_rights_to_read(tmp_path: Path) -> None:
    documents = chart_documents(CHART, {**VALUES, "shadow": True}, name="bayplan", namespace="bayplan-system")
    role = [document for document in documents if document["kind"] == "ClusterRole"]
    with trial(tmp_path, "--shadow", "--leader-elect=false", roles=role) as tried:
        tried.scheduler.wait_until_ready()
        tried.live.apply(str(WORKLOAD))
        tried.scheduler.wait_for(lambda: "default/low" in tried.scheduler.ask("/debug/decisions").text)
        assert tried.authorizer.refused == set()
        assert {right.verb for right in tried.authorizer.used} == {"watch", "create"}


@pytest.mark.slow
def test_pod_groups_take_rights_of_their_own(tmp_path: Path) -> None:
    documents = chart_documents(CHART, {**VALUES, "podGroups": True}, name="bayplan", namespace="bayplan-system")
    roles = [document for document in documents if document["kind"] in ("Role", "ClusterRole")]
    (deployment,) = [document for document in documents if document["kind"] == "Deployment"]
    flags = [flag for flag in deployment["spec"]["template"]["spec"]["containers"][0]["args"] if "gates" in flag]
    of_groups = rights_of(roles) - rights_of(ROLES)
    assert of_groups == {
        *(Right(verb, "scheduling.k8s.io", "podgroups") for verb in ("list", "watch")),
        Right("patch", "scheduling.k8s.io", "podgroups/status"),
    }
    with trial(tmp_path, *flags, roles=roles, feature_gates="GenericWorkload=true", kubernetes_version="1.37") as tried:
        gang = builders.pod_group("g").gang(2).manifest().dict()
        pods = [builders.pod(name).cpu(1).image("web").in_group("g").manifest().dict() for name in ("a", "b")]
        tried.live.apply([gang, *pods])
        tried.wait_until_bound("a", "b")
        tried.live.wait_until(lambda live: live.get("podgroup", "g")["status"]["conditions"][0]["status"] == "True")
        assert {right.verb for right in of_groups & tried.authorizer.used} == {"watch", "patch"}
        assert tried.authorizer.refused == set()
