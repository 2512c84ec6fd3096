"""The table of questions: what is asked about which cluster, and how the answer is carried out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tests.answers.checking import (
    Check,
    check_capacity,
    check_consolidate,
    check_drain,
    check_explain,
    check_exposure,
    check_fix,
    check_moves,
    check_needs_no_fix,
    check_place,
    check_plan,
    check_whatif,
)
from tests.answers.manifests import (
    HOST,
    Document,
    claim,
    deployment,
    device_claim_template,
    node,
    pod,
    pod_spec,
    storage_class,
    volume,
)

from bayplan.analysis.input_gaps import DEVICE_KINDS, DUMP_KINDS

COMPLETE = f"{DUMP_KINDS},{DEVICE_KINDS}"
#: What somebody in a hurry types.
NODES_AND_PODS = "nodes,pods"
#: The name of the cluster in `big_cluster`.
BIG = "300 nodes, 5,700 pods"


@dataclass(frozen=True, slots=True)
class Question:
    """One row of the table."""

    name: str
    ask: str  # a command line without -f
    about: str  # the reason for pending, or what is asked about
    cluster: str  # in `small_clusters`
    check: Check
    app: str = "web"
    option: int = 1
    kinds: str = COMPLETE  # what of the cluster is dumped
    by_hand: str = ""
    files: Mapping[str, list[Document]] = field(default_factory=dict)  # that the question or the engineer uses
    gates: str = ""  # that are on in the cluster
    later: str = ""  # a command that is run when the cluster has come to rest, before it is dumped

    @property
    def input(self) -> str:
        if self.gates or self.kinds == COMPLETE:
            return self.cluster
        return f"{self.cluster}, only {self.kinds}"


def fix(name: str, what: str, about: str, **fields: object) -> Question:
    """About a cluster of the same name."""
    app = what.rpartition("/")[2]
    cluster = str(fields.pop("cluster", name))
    check = fields.pop("check", check_fix)
    return Question(f"fix-{name}", f"fix {what}", about, cluster, check, app, **fields)  # type: ignore[arg-type]


def applied(file: str) -> str:
    return f"kubectl apply -f {file}"


CATALOG = [
    {"name": "m4", "capacity": {"cpu": "4", "memory": "16Gi"}, "price": 1.1},
    {"name": "m8", "capacity": {"cpu": "8", "memory": "32Gi"}, "price": 2},
]
NEW_APP = {"new.json": [deployment("new", 1, pod_spec("3", priorityClassName="high"))]}

QUESTIONS: tuple[Question, ...] = (
    # Too large.
    fix(
        "cpu-for-one",
        "deployment/web",
        "cpu request",
        by_hand=applied("node.json"),
        files={"node.json": [node("n1-copy")]},
    ),
    fix("cpu-for-one-less", "deployment/web", "cpu request", cluster="cpu-for-one", option=2),
    fix("cpu-for-all", "deployment/web", "cpu request, several pods"),
    fix("cpu-unequal-nodes", "deployment/web", "cpu request, several pods, unequal nodes"),
    fix("cpu-larger-than-any-node", "deployment/web", "cpu request larger than any node"),
    fix("memory", "deployment/web", "memory request"),
    fix("cpu-statefulset", "statefulset/db", "cpu request", option=2),
    fix("cpu-job", "job/import", "cpu request", option=2),
    fix("cpu-pod", "once", "cpu request"),
    fix("cpu-daemonset", "daemonset/agent", "cpu request, one node is full"),
    # Taints.
    fix("taint-of-all", "deployment/web", "taint of all nodes"),
    fix("taint-of-all-tolerated", "deployment/web", "taint of all nodes", cluster="taint-of-all", option=2),
    fix("taint-of-gpus", "deployment/web", "taint of the nodes it asks for"),
    fix("taint-misspelled", "deployment/web", "misspelled toleration"),
    fix("taint-pod", "once", "taint", option=2),
    fix("taint-daemonset", "daemonset/agent", "taint of a node that it leaves out", check=check_needs_no_fix),
    # Where a pod may go.
    fix("selector-misspelled", "deployment/web", "misspelled node selector"),
    fix("selector-misspelled-statefulset", "statefulset/db", "misspelled node selector"),
    fix("selector-misspelled-job", "job/import", "misspelled node selector"),
    fix("selector-misspelled-daemonset", "daemonset/agent", "misspelled node selector"),
    fix("selector-misspelled-pod", "once", "misspelled node selector"),
    fix("selector-misspelled-replicaset", "replicaset/web", "misspelled node selector"),
    fix("selector-of-another-pool", "deployment/web", "node selector for nodes that do not exist"),
    fix("affinity", "deployment/web", "node affinity"),
    fix("affinity-misspelled", "deployment/web", "misspelled node affinity"),
    fix("resource-misspelled", "deployment/web", "misspelled resource"),
    # Other pods.
    fix(
        "anti-affinity",
        "deployment/web",
        "pod anti-affinity",
        by_hand=applied("node.json"),
        files={"node.json": [node("n1-copy")]},
    ),
    fix("spread", "deployment/web", "topology spread"),
    fix("host-port", "deployment/web", "host port"),
    fix("pods-per-node", "deployment/web", "pods per node"),
    # The state of nodes.
    fix("cordoned", "deployment/web", "cordoned node"),
    fix("cordoned-statefulset", "statefulset/db", "volume in the zone of a cordoned node"),
    # Volumes.
    fix("claim-misspelled", "deployment/web", "misspelled claim"),
    fix(
        "claim-missing",
        "once",
        "missing claim",
        by_hand=applied("claim.json"),
        files={"claim.json": [claim("data", "local")]},
    ),
    fix(
        "class-missing",
        "once",
        "missing storage class",
        by_hand=applied("class.json"),
        files={"class.json": [storage_class("fast", "WaitForFirstConsumer", "disk.example")]},
    ),
    fix(
        "no-volume",
        "once",
        "no volume for the claim",
        by_hand=applied("volume.json"),
        files={"volume.json": [volume("disk", "local")]},
    ),
    fix("volume-in-a-full-zone", "deployment/web", "volume in a zone that is full", option=2),
    # Devices.
    fix("devices-that-do-not-match", "deployment/web", "no matching device"),
    fix("devices-taken", "deployment/web", "no free device"),
    fix(
        "device-template-missing",
        "once",
        "missing device claim template",
        by_hand=applied("template.json"),
        files={"template.json": [device_claim_template("gpus")]},
    ),
    # Not tried, or not important enough.
    fix("gate", "once", "scheduling gate"),
    fix("gate-deployment", "deployment/web", "scheduling gate, several pods"),
    fix("priority", "deployment/web", "priority too low", option=3),
    fix(
        "never-preempts",
        "deployment/web",
        "preemptionPolicy Never",
        option=3,
        later="kubectl apply -f web.json",
        files={"web.json": [deployment("web", 1, pod_spec("3", priorityClassName="polite"))]},
    ),
    fix("two-reasons", "deployment/web", "node selector and cpu request"),
    # No pods yet, or none pending.
    fix(
        "cronjob-not-due",
        "cronjob/report",
        "misspelled node selector, not due yet",
        by_hand="kubectl create job --from cronjob/report now",
    ),
    fix(
        "cronjob-due",
        "cronjob/report",
        "misspelled node selector, a Job is pending",
        later="kubectl create job --from cronjob/report report-1",
    ),
    fix("suspended-job", "job/import", "misspelled node selector, suspended"),
    fix("suspended-job-that-fits", "job/import", "suspended"),
    fix("runs", "deployment/web", "nothing: all pods run", check=check_needs_no_fix),
    # Parts of a dump.
    fix(
        "selector-misspelled-nodes-and-pods",
        "deployment/web",
        "misspelled node selector",
        cluster="selector-misspelled",
        kinds=NODES_AND_PODS,
    ),
    fix(
        "cpu-statefulset-nodes-and-pods",
        "statefulset/db",
        "cpu request",
        cluster="cpu-statefulset",
        kinds=NODES_AND_PODS,
        option=2,
    ),
    fix(
        "selector-misspelled-job-nodes-and-pods",
        "job/import",
        "misspelled node selector",
        cluster="selector-misspelled-job",
        kinds=NODES_AND_PODS,
    ),
    fix("cordoned-nodes-and-pods", "deployment/web", "cordoned node", cluster="cordoned", kinds=NODES_AND_PODS),
    fix(
        "priority-without-classes",
        "deployment/web",
        "priority too low",
        cluster="priority",
        kinds=f"{NODES_AND_PODS},deploy,rs",
        option=2,
    ),
    # Draining.
    Question("drain-roomy", "drain n1", "a node that can be drained", "roomy", check_drain),
    Question("drain-daemonset", "drain n1", "a node with a daemon", "roomy-daemonset", check_drain),
    Question("drain-statefulset", "drain n1", "a node with a pod of a StatefulSet", "roomy-statefulset", check_drain),
    Question("drain-rolling", "drain --rolling n1 n2", "two nodes, one after the other", "roomy", check_drain),
    Question("drain-full", "drain n1", "no room elsewhere", "full", check_drain, by_hand="kubectl drain n1"),
    Question(
        "drain-protected",
        "drain n1",
        "a disruption budget",
        "protected",
        check_drain,
        by_hand="! kubectl drain n1 --timeout 2s",
    ),
    Question(
        "drain-preempts",
        "drain n1",
        "pods that preempt others",
        "important-and-unimportant",
        check_drain,
        by_hand="kubectl drain n1",
    ),
    # Changes.
    Question(
        "whatif-new",
        "whatif --apply new.json",
        "a workload that preempts",
        "tight",
        check_whatif,
        "new",
        files=NEW_APP,
        by_hand=applied("new.json"),
    ),
    Question(
        "whatif-scaled",
        "whatif --apply web.json",
        "more replicas than fit",
        "tight",
        check_whatif,
        files={"web.json": [deployment("web", 6, pod_spec("2"))]},
        by_hand="kubectl scale deployment web --replicas 6",
    ),
    Question(
        "whatif-deleted",
        "whatif --delete deployment/other",
        "a workload that makes room",
        "priority",
        check_whatif,
        by_hand="kubectl delete deployment other",
    ),
    Question("whatif-drained", "whatif --drain n1", "a node less", "full", check_whatif, by_hand="kubectl drain n1"),
    Question(
        "whatif-rollout",
        "whatif --apply web.json",
        "a new template",
        "roomy",
        check_whatif,
        files={"web.json": [deployment("web", 3, pod_spec("2"))]},
        by_hand=applied("web.json"),
    ),
    # Moving pods.
    Question(
        "defrag-new",
        "defrag --for pod.json",
        "room for a large pod",
        "tight",
        check_moves,
        "pod",
        files={"pod.json": [pod("large", pod_spec("4"))]},
        by_hand=applied("pod.json"),
    ),
    Question(
        "defrag-pending",
        "defrag --for deployment/new",
        "room for a pending pod",
        "fragmented",
        check_moves,
        "new",
        files={"large.json": [deployment("new", 1, pod_spec("3"))]},
        later=applied("large.json"),
    ),
    Question("consolidate", "consolidate", "nodes that can be given back", "roomy", check_consolidate),
    # How many fit.
    Question("capacity", "capacity --workload deployment/web", "how many more fit", "probe", check_capacity),
    Question(
        "capacity-spread",
        "capacity --workload deployment/web",
        "how many more fit, with a spread",
        "probe-spread",
        check_capacity,
    ),
    Question(
        "capacity-host-port",
        "capacity --workload deployment/web",
        "how many more fit, with a host port",
        "probe-host-port",
        check_capacity,
    ),
    Question(
        "exposure",
        "exposure deployment/web",
        "what could evict a pod",
        "tight",
        check_exposure,
        by_hand=applied("pod.json"),
        files={"pod.json": [pod("large", pod_spec("1001m", priorityClassName="low", nodeSelector={HOST: "n1"}))]},
    ),
    Question(
        "plan",
        "plan --nodes catalog.yaml --pods new.json",
        "the cheapest nodes for a workload",
        "tight",
        check_plan,
        files={
            "catalog.yaml": CATALOG,
            "new.json": [deployment("new", 3, pod_spec("2"))],
            "nodes.json": [node("m4-1")],
        },
        by_hand="kubectl apply -f nodes.json && kubectl apply -f new.json",
    ),
    # One pod.
    Question(
        "explain-next",
        "explain deployment/web",
        "where the next pod goes",
        "roomy",
        check_explain,
        by_hand="kubectl scale deployment web --replicas 4",
    ),
    Question(
        "explain-preempts",
        "explain deployment/new -f dump.json -f new.json",
        "a pod that preempts",
        "tight",
        check_explain,
        "new",
        files=NEW_APP,
        by_hand=applied("new.json"),
    ),
    Question("explain-cpu", "explain deployment/web", "cpu request", "cpu-for-all", check_explain),
    Question("explain-spread", "explain deployment/web", "topology spread", "spread", check_explain),
    Question(
        "explain-volume",
        "explain deployment/web",
        "volume in a zone that is full",
        "volume-in-a-full-zone",
        check_explain,
    ),
    Question(
        "explain-devices", "explain deployment/web", "no matching device", "devices-that-do-not-match", check_explain
    ),
    Question("place", "place -f cluster.json", "all pods of a cluster that does not run yet", "tight", check_place),
    Question(
        "place-spread", "place -f cluster.json", "all pods of a cluster that does not run yet", "spread", check_place
    ),
)
