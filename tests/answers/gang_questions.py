"""Questions about gangs, asked and carried out as those of `questions`, with the gates for pod groups on."""

from __future__ import annotations

from tests.answers.checking import Check, check_consolidate, check_exposure, check_fix, check_needs_no_fix, check_whatif
from tests.answers.gang_checking import (
    check_best_change,
    check_capacity_by_evicting,
    check_gang_capacity,
    check_group,
    check_group_capacity,
    check_group_moves,
    check_workload,
)
from tests.answers.gang_clusters import RACK, gang
from tests.answers.manifests import HOST, Document, node, pod, pod_spec
from tests.answers.questions import COMPLETE, Question, applied

GATES = "GenericWorkload=true,TopologyAwareWorkloadScheduling=true"
KINDS = f"{COMPLETE},podgroups.scheduling.k8s.io"
NEW_GANG: dict[str, list[Document]] = {"new.json": gang("new", 2, priority_class_name="high")}


def _about(
    name: str, ask: str, about: str, cluster: str, check: Check, app: str = "train", **fields: object
) -> Question:
    own = {"kinds": KINDS, "gates": GATES, **fields}
    return Question(f"gang-{name}", ask, about, cluster, check, app, **own)  # type: ignore[arg-type]


EXPLAIN, FIX = "explain podgroup/train", "fix podgroup/train"
GANG_QUESTIONS: tuple[Question, ...] = (
    _about("explain", EXPLAIN, "a gang that does not fit", "gang-too-large", check_group),
    _about("explain-rack", EXPLAIN, "a gang that fits in no rack", "gang-in-one-rack", check_group),
    _about("explain-runs", EXPLAIN, "a gang that lacks a pod", "gang-that-lacks-a-pod", check_group),
    _about(
        "explain-new",
        "explain podgroup/new -f dump.json -f new.json",
        "a gang that fits in one rack",
        "no-gang",
        check_group,
        "new",
        files={"new.json": gang("new", 3, within=RACK)},
        by_hand=applied("new.json"),
    ),
    _about(
        "explain-preempts",
        "explain podgroup/new -f dump.json -f new.json",
        "a gang that preempts another as a whole",
        "gang-in-a-full-cluster",
        check_group,
        "new",
        files=NEW_GANG,
        by_hand=applied("new.json"),
    ),
    _about(
        "explain-workload", "explain workload/model", "two gangs of a Workload", "gangs-of-a-workload", check_workload
    ),
    _about("best-change", EXPLAIN, "what would help: a cordoned node", "gang-and-a-cordoned-node", check_best_change),
    _about(
        "best-change-node",
        EXPLAIN,
        "what would help: one more node",
        "gang-too-large",
        check_best_change,
        files={"node.json": [node("a1-copy", labels={RACK: "a"})]},
        by_hand=applied("node.json"),
    ),
    _about("fix-cordoned", FIX, "a gang, a cordoned node", "gang-and-a-cordoned-node", check_fix),
    _about("fix-rack", FIX, "a gang in one rack, a cordoned node", "gang-in-one-rack-and-a-cordoned-node", check_fix),
    _about("fix-request", FIX, "a gang, cpu request", "gang-too-large", check_fix),
    _about("fix-min-count", FIX, "a gang, a lower quorum", "gang-too-large", check_fix, option=3),
    _about("fix-lacks-a-pod", FIX, "a gang that lacks a pod", "gang-that-lacks-a-pod", check_fix),
    _about("fix-runs", FIX, "a gang that runs", "gang-that-runs", check_needs_no_fix),
    _about(
        "whatif-new",
        "whatif --apply new.json",
        "a gang that preempts another as a whole",
        "gang-in-a-full-cluster",
        check_whatif,
        "new",
        files=NEW_GANG,
        by_hand=applied("new.json"),
    ),
    _about(
        "whatif-delete",
        "whatif --delete pod/other",
        "a pod in the way of a gang",
        "gang-beside-a-pod",
        check_whatif,
        by_hand="kubectl delete pod other",
    ),
    _about(
        "whatif-drain",
        "whatif --drain a1",
        "a node with a pod of a gang",
        "gang-that-runs",
        check_whatif,
        by_hand="kubectl drain a1",
    ),
    _about(
        "exposure-whole",
        "exposure podgroup/train",
        "what could evict a gang that goes as a whole",
        "gang-in-a-full-cluster",
        check_exposure,
        by_hand=applied("pod.json"),
        files={"pod.json": [pod("large", pod_spec("1001m", priorityClassName="high", nodeSelector={HOST: "a1"}))]},
    ),
    _about(
        "exposure-single",
        "exposure podgroup/train",
        "what could evict a gang, pod by pod",
        "gang-that-goes-pod-by-pod",
        check_exposure,
        by_hand=applied("pod.json"),
        files={"pod.json": [pod("large", pod_spec("1001m", priorityClassName="high", nodeSelector={HOST: "a1"}))]},
    ),
    _about(
        "capacity",
        "capacity --workload podgroup/train",
        "how many more gangs fit, each in one rack",
        "room-for-gangs",
        check_group_capacity,
    ),
    _about(
        "capacity-new",
        f"capacity --pod cpu=3 --gang 2 --within {RACK}",
        "how many gangs fit that nobody has created, each in one rack",
        "no-gang",
        check_gang_capacity,
        "new",
    ),
    _about(
        "capacity-new-anywhere",
        "capacity --pod cpu=3 --gang 2",
        "how many gangs fit that nobody has created",
        "no-gang",
        check_gang_capacity,
        "new",
    ),
    _about(
        "capacity-evicting",
        "capacity --workload podgroup/train",
        "how many more gangs fit by evicting another as a whole",
        "gangs-that-evict",
        check_capacity_by_evicting,
    ),
    _about(
        "capacity-devices",
        "capacity --workload podgroup/train",
        "how many more gangs fit, with a device for each pod and one for the gang",
        "room-for-gangs-with-devices",
        check_group_capacity,
        gates=f"{GATES},DRAWorkloadResourceClaims=true",
    ),
    _about(
        "defrag-rack",
        "defrag --for podgroup/train",
        "room for a gang in one rack",
        "web-in-the-way",
        check_group_moves,
        files={"gang.json": gang("train", 2, within=RACK)},
        later=applied("gang.json"),
    ),
    _about(
        "defrag",
        "defrag --for podgroup/train",
        "room for a gang",
        "webs-in-the-way",
        check_group_moves,
        files={"gang.json": gang("train", 2)},
        later=applied("gang.json"),
    ),
    _about(
        "consolidate-spare",
        "consolidate",
        "nodes that can be given back without the quorum being lost",
        "gang-that-is-spread",
        check_consolidate,
    ),
    _about(
        "consolidate-whole",
        "consolidate",
        "a node that all of a gang leaves together",
        "gang-on-one-node",
        check_consolidate,
        later="kubectl delete pod blocker",
    ),
)
