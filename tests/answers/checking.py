"""What an answer said compared with what happened when somebody did as it said.

Takes a question, its answer and a cluster that is in the state that the answer is about. Each command has its own way
to be carried out; what it promised and what came of it are facts of the same form, so that they can be compared and
printed.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from tests.answers.asking import Answer, Asker
from tests.answers.running_cluster import RunningCluster, SeenPod

Facts = dict[str, Any]
Pods = dict[str, SeenPod]
PENDING = "pending"
#: How bayplan calls pods that do not exist yet.
_NEW = re.compile(r"(-new)?-\d+$")


@dataclass(frozen=True, slots=True)
class Case:
    """A question about a running cluster, and what was answered about a dump of it."""

    question: str
    app: str  # the workload in question, which its pods have as a label
    cluster: RunningCluster
    asker: Asker
    answer: Answer
    by_hand: str = ""  # what an engineer does where the answer names no command
    option: int = 1  # which of several proposals

    def document(self) -> dict[str, Any]:
        return self.asker.ask(self.question, "-o", "json").document

    def carry_out(self, commands: Iterable[str]) -> str:
        """Does it and waits until nothing happens any more; gives what was done."""
        done = [command for command in (*commands, self.by_hand) if command]
        assert done, f"nothing to carry out: {self.answer.text}"
        for command in done:
            self.cluster.shell(command)
        self.cluster.settle()
        return "\n".join(done)


@dataclass(frozen=True, slots=True)
class Checked:
    """What was done, and both sides of the comparison."""

    done: str
    said: Facts
    happened: Facts


Check = Callable[[Case], Checked]


def check_fix(case: Case) -> Checked:
    """The proposal's commands, in order; then as many pods run as it said, where it said, and no others have gone."""
    document = case.document()
    fix = document["fixes"][case.option - 1]
    printed = case.asker.ask(case.question, "--details").text
    commands = [patch["command"] for patch in fix["patches"] if patch["command"]]
    for command in commands:
        assert command in printed, f"in JSON, but not in the text: {command}"
    before = case.cluster.pods()
    done = case.carry_out(commands)
    after = case.cluster.pods()
    own = _running(after, case.app)
    ran = {pod.key for pod in _running(before, case.app)}
    said = {
        "running": len(ran) + document["fitting"] + fix["fixed"],
        "on": sorted(fix["nodes"]),
        "evicted": sorted(fix["victims"]),
        "others pending": len(fix["leftPending"]) + _others_waiting(before, case.app),
    }
    happened = {
        "running": len(own),
        "on": sorted({pod.node for pod in own if pod.key not in ran}),
        "evicted": sorted(pod.key for pod in _gone(before, after) if pod.app != case.app),
        "others pending": _others_waiting(after, case.app),
    }
    return Checked(done, said, happened)


def check_needs_no_fix(case: Case) -> Checked:
    """Nothing is done; the pod runs, or gets its node without help."""
    document = case.document()
    assert not document["fixes"]
    case.cluster.settle()
    own = _running(case.cluster.pods(), case.app)
    return Checked("", {"running": document["running"]}, {"running": len(own)})


def check_drain(case: Case) -> Checked:
    """The drain that the answer prints, or the one that it warns of."""
    document = case.document()
    before = case.cluster.pods()
    done = case.carry_out(_printed_commands(case))
    leaving = [each["pod"] for node in document["nodes"] for each in (*node["evictions"], *node["preempted"])]
    arriving = {**document["endsOn"], **{each["pod"]: PENDING for each in document["pending"]}}
    return _compared(case, done, before, leaving, arriving)


def check_whatif(case: Case) -> Checked:
    """The change that was asked about."""
    document = case.document()
    before = case.cluster.pods()
    done = case.carry_out([])
    leaving = [each["pod"] for each in (*document["evicted"], *document["removed"])]
    arriving = {each["pod"]: each["after"] for each in (*document["placed"], *document["moved"])}
    arriving |= {each["pod"]: PENDING for each in document["pending"]}
    return _compared(case, done, before, leaving, arriving)


def check_new(case: Case) -> Checked:
    """A new workload, where many pods are evicted for it: who is recreated where depends on which is first to go."""
    document = case.document()
    done = case.carry_out([])
    placed = [each["after"] for each in document["placed"] if _app_of(each["pod"]) == case.app]
    own = _running(case.cluster.pods(), case.app)
    return Checked(done, {case.app: sorted(placed)}, {case.app: sorted(pod.node for pod in own)})


def check_moves(case: Case) -> Checked:
    """The script, then the pod that was to get room."""
    document = case.document()
    before = case.cluster.pods()
    script = case.asker.ask(f"{case.question} --script").text
    (case.cluster.folder / "moves.sh").write_text(script, encoding="utf-8")
    done = case.carry_out(["sh moves.sh"])
    moves = document["moves"]
    arriving = {each["pod"]: each["to"] for each in moves} | {document["pod"]: document["node"]}
    return _compared(case, done, before, [each["pod"] for each in moves], arriving)


def check_consolidate(case: Case) -> Checked:
    """The script; then the nodes are empty, and every pod is where the answer said."""
    document = case.document()
    before = case.cluster.pods()
    script = case.asker.ask(f"{case.question} --script").text
    (case.cluster.folder / "moves.sh").write_text(script, encoding="utf-8")
    done = case.carry_out(["sh moves.sh"])
    ends_on = document["draining"]["endsOn"]
    return _compared(case, done, before, ends_on, ends_on)


def check_capacity(case: Case) -> Checked:
    """One pod more than the answer said: all but one of them run."""
    document = case.document()
    namespace, _, _ = document["pods"][0]["pod"].partition("/")
    wanted = document["fits"] + 1
    done = case.carry_out([f"kubectl scale deployment {case.app} --namespace {namespace} --replicas {wanted}"])
    after = case.cluster.pods()
    said = {each["node"]: each["fits"][0] for each in document["byNode"] if each["fits"][0]} | {PENDING: 1}
    where = Counter(pod.node or PENDING for pod in after.values() if pod.app == case.app)
    return Checked(done, said, dict(sorted(where.items())))


def check_exposure(case: Case) -> Checked:
    """A pod that is just large enough, on the node of the pod that it evicts."""
    (exposed,) = case.document()["pods"][:1]
    before = case.cluster.pods()
    done = case.carry_out([])
    gone = sorted(pod.key for pod in _gone(before, case.cluster.pods()))
    return Checked(done, {"evicted": exposed["lowest"]["thresholds"][0]["victims"]}, {"evicted": gone})


def check_plan(case: Case) -> Checked:
    """The nodes of the plan are added, then the pods."""
    document = case.document()
    before = case.cluster.pods()
    done = case.carry_out([])
    return _compared(case, done, before, [], document["placements"])


def check_place(case: Case) -> Checked:
    """The cluster was started with what the answer is about: it decides the same."""
    said: Facts = {}
    for decision in case.document()["decisions"]:
        said.setdefault(_app_of(decision["pod"]), []).append(decision["node"] or PENDING)
    happened = _places(case.cluster.pods())
    return Checked("bayplan up -f cluster.json", {app: sorted(nodes) for app, nodes in said.items()}, happened)


def check_explain(case: Case) -> Checked:
    """The pod that was asked about is created, or is there: the scheduler says and does the same."""
    document = case.document()
    before = case.cluster.pods()
    done = case.carry_out([]) if case.by_hand else ""
    after = case.cluster.pods()
    own = [pod for pod in after.values() if pod.app == case.app and (pod.uid not in before or pod.waits)]
    gone = sorted(pod.key for pod in _gone(before, after))
    preemption = document["preemption"] or {"selected": []}
    node = next(iter((*document["best"], *preemption["selected"])), "")
    victims = preemption["candidates"][node]["victims"] if node in preemption["selected"] else []
    said = {"on": node or PENDING, "evicted": sorted(victims)}
    happened = {"on": own[0].node or PENDING, "evicted": gone}
    if not node:
        said["message"] = document["message"]
        namespace, _, name = own[0].key.partition("/")
        happened["message"] = case.cluster.shell(
            f"kubectl get pod {name} --namespace {namespace} -o "
            "jsonpath='{.status.conditions[?(@.type==\"PodScheduled\")].message}'"
        )
    return Checked(done, said, happened)


def check_refused(case: Case) -> Checked:
    """There is no answer but a message: nothing may be claimed."""
    return Checked("", {"exit code": 2}, {"exit code": case.answer.code})


# ---------------------------------------------------------------- facts


def _printed_commands(case: Case) -> list[str]:
    """Commands for kubectl in the text; none if something is to be done by hand."""
    lines = [line.strip().removeprefix("Next: ") for line in case.answer.text.splitlines()]
    return [] if case.by_hand else [line for line in lines if line.startswith("kubectl ")]


def _running(pods: Pods, app: str) -> list[SeenPod]:
    return [pod for pod in pods.values() if pod.app == app and pod.runs]


def _others_waiting(pods: Pods, app: str) -> int:
    return sum(pod.waits and pod.app != app for pod in pods.values())


def _gone(before: Pods, after: Pods) -> list[SeenPod]:
    return [pod for pod in before.values() if pod.runs and not (pod.uid in after and after[pod.uid].runs)]


def _places(pods: Pods) -> Facts:
    """By workload, the nodes of its pods."""
    found: dict[str, list[str]] = {}
    for pod in pods.values():
        if pod.runs or pod.waits:
            found.setdefault(pod.app, []).append(pod.node or PENDING)
    return {app: sorted(nodes) for app, nodes in sorted(found.items())}


def _places_after(before: Pods, leaving: Iterable[str], arriving: Mapping[str, str | None]) -> Facts:
    """Where pods are if these leave, and these get a node."""
    apps = {pod.key: pod.app for pod in before.values()}
    places = {pod.key: pod.node or PENDING for pod in before.values() if pod.runs or pod.waits}
    for key in leaving:
        places.pop(key, None)
    places |= {key: node or PENDING for key, node in arriving.items()}
    found: dict[str, list[str]] = {}
    for key, node in places.items():
        found.setdefault(apps.get(key) or _app_of(key), []).append(node)
    return {app: sorted(nodes) for app, nodes in sorted(found.items())}


def _compared(
    case: Case, done: str, before: Pods, leaving: Iterable[str], arriving: Mapping[str, str | None]
) -> Checked:
    """Of the workloads that something happens to, or should."""
    said, happened = _places_after(before, leaving, arriving), _places(case.cluster.pods())
    unchanged = {app for app, places in _places(before).items() if places == said.get(app) == happened.get(app)}
    kept = {app for app in {**said, **happened} if app not in unchanged} or {*said}
    return Checked(
        done,
        {app: places for app, places in said.items() if app in kept},
        {app: places for app, places in happened.items() if app in kept},
    )


def _app_of(key: str) -> str:
    """Of a pod that does not exist yet."""
    return _NEW.sub("", key.partition("/")[2])
