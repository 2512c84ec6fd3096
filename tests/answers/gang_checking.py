"""What an answer about a pod group said compared with what happened to it. Facts are as in `checking`."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

from tests.answers.checking import PENDING, Case, Checked, Facts
from tests.answers.gang_clusters import gang
from tests.answers.manifests import HOST


def check_group(case: Case) -> Checked:
    """The group is there, or is created: the scheduler says and does the same."""
    document = case.document()
    before = case.cluster.pods()
    done = case.carry_out([]) if case.by_hand else ""
    after = case.cluster.pods()
    own = [pod for pod in after.values() if pod.app == case.app]
    untried = [PENDING for _ in document.get("preEnqueue", ())]
    said: Facts = {
        "on": sorted([*untried, *(pod["node"] or PENDING for pod in document["pods"].values())]),
        "condition": _written(document["condition"]),
    }
    preemption = document["preemption"] or {"evicted": []}
    victims = preemption["evicted"]
    if victims:  # the attempt after the evictions is another one
        said = {"on": sorted(preemption["proposed"].values())}
    happened: Facts = {"on": sorted(pod.node or PENDING for pod in own)}
    if not victims:
        happened["condition"] = _written(_condition(case))
    gone = {pod.key for pod in before.values() if pod.runs and not (pod.uid in after and after[pod.uid].runs)}
    return Checked(done, said | {"evicted": sorted(victims)}, happened | {"evicted": sorted(gone)})


def check_workload(case: Case) -> Checked:
    """Every group of it is as it was said to be."""
    groups = case.document()["groups"]
    said = {group["group"]: _written(group["condition"]) for group in groups}
    happened = {group["group"]: _written(_condition(case, group["group"].partition("/")[2])) for group in groups}
    return Checked("", said, happened)


def check_best_change(case: Case) -> Checked:
    """The best changes that let all pods of the gang fit are made: so many of them run."""
    best = case.document()["bestChanges"][-1]
    commands = [f"kubectl {change['kind']} {change['what']}" for change in best["changes"]]
    done = case.carry_out(commands if all(change["kind"] == "uncordon" for change in best["changes"]) else [])
    running = sum(pod.runs for pod in case.cluster.pods().values() if pod.app == case.app)
    return Checked(done, {"running": best["fitting"]}, {"running": running})


def check_group_capacity(case: Case) -> Checked:
    """One group more than the answer said: all but one of them are scheduled, in the domains that it said."""
    document = case.document()
    namespace, _, name = document["group"].partition("/")
    made = json.loads(case.cluster.shell(f"kubectl get podgroup,job {name} --namespace {namespace} -o json"))["items"]
    numbers = range(1, document["fits"] + 2)
    copies = [_copy(obj, f"{name}{number}") for number in numbers for obj in made]
    (case.cluster.folder / "more.json").write_text(
        json.dumps({"apiVersion": "v1", "kind": "List", "items": copies}), encoding="utf-8"
    )
    case.cluster.shell("kubectl apply -f more.json")
    case.cluster.settle()
    return _counted(case, document, name)


def check_gang_capacity(case: Case) -> Checked:
    """One gang more than the answer said, of pods such as it was asked about: all but one of them are scheduled."""
    document = case.document()
    requests = dict(pair.split("=") for pair in document["group"].split(","))
    names = [f"{case.app}{number}" for number in range(1, document["fits"] + 2)]
    within, size = document["within"] or "", document["podsInEach"]
    made = [obj for name in names for obj in gang(name, size, requests["cpu"], within=within)]
    (case.cluster.folder / "more.json").write_text(
        json.dumps({"apiVersion": "v1", "kind": "List", "items": made}), encoding="utf-8"
    )
    case.cluster.shell("kubectl apply -f more.json")
    case.cluster.settle()
    return _counted(case, document, case.app)


def check_capacity_by_evicting(case: Case) -> Checked:
    """As many groups as fit by evictions, and one more: all but one are scheduled, and the victims have gone."""
    document = case.document()
    namespace, _, name = document["group"].partition("/")
    made = json.loads(case.cluster.shell(f"kubectl get podgroup,job {name} --namespace {namespace} -o json"))["items"]
    count = document["fits"] + document["byEvicting"]
    before = case.cluster.pods()
    for number in range(1, count + 2):
        copies = [_copy(obj, f"{name}{number}") for obj in made]
        (case.cluster.folder / f"more{number}.json").write_text(
            json.dumps({"apiVersion": "v1", "kind": "List", "items": copies}), encoding="utf-8"
        )
        case.cluster.shell(f"kubectl apply -f more{number}.json")
        case.cluster.settle()
    after = case.cluster.pods()
    ours = [pod for pod in after.values() if pod.app.startswith(name) and pod.app != name]
    gone = {pod.key for pod in before.values() if pod.runs and not (pod.uid in after and after[pod.uid].runs)}
    said = {"running": count * document["podsInEach"], "pending": document["podsInEach"]}
    happened: Facts = {"running": sum(pod.runs for pod in ours), "pending": sum(pod.waits for pod in ours)}
    done = "\n".join(f"kubectl apply -f more{number}.json" for number in range(1, count + 2))
    return Checked(done, said | {"evicted": sorted(document["victims"])}, happened | {"evicted": sorted(gone)})


def check_group_moves(case: Case) -> Checked:
    """The script; then the gang's pods are where room was made, and those that made it where they were to go."""
    document = case.document()
    script = case.asker.ask(f"{case.question} --script").text
    (case.cluster.folder / "moves.sh").write_text(script, encoding="utf-8")
    before = case.cluster.pods()
    done = case.carry_out(["sh moves.sh"])
    after = case.cluster.pods()
    moved = {each["pod"] for each in document["moves"]}
    gone = {pod.key for pod in before.values() if pod.runs and not (pod.uid in after and after[pod.uid].runs)}
    new = [pod for pod in after.values() if pod.runs and pod.uid not in before and pod.app != case.app]
    said = {
        "gang on": sorted(document["nodes"].values()),
        "moved": sorted(moved),
        "moved to": sorted(each["to"] for each in document["moves"]),
    }
    happened = {
        "gang on": sorted(pod.node for pod in after.values() if pod.app == case.app and pod.runs),
        "moved": sorted(gone),
        "moved to": sorted(pod.node for pod in new),
    }
    return Checked(done, said, happened)


def _counted(case: Case, document: dict[str, Any], name: str) -> Checked:
    """Where pods of the new groups are: in which domains or, where these do not matter, on which nodes."""
    nodes = json.loads(case.cluster.shell("kubectl get nodes -o json"))["items"]
    label, size = document["within"], document["podsInEach"]
    domains = {each["metadata"]["name"]: each["metadata"]["labels"][label or HOST] for each in nodes}
    pods = [pod for pod in case.cluster.pods().values() if pod.app.startswith(name) and pod.app != name]
    where = Counter(domains[pod.node] if pod.node else PENDING for pod in pods)
    fitting = (
        {domain: groups * size for domain, groups in document["byDomain"].items()} if label else document["byNode"]
    )
    said = fitting | {PENDING: size}
    return Checked("kubectl apply -f more.json", dict(sorted(said.items())), dict(sorted(where.items())))


def _copy(obj: dict[str, Any], name: str) -> dict[str, Any]:
    """As an engineer would write another one of its kind."""
    spec = obj["spec"]
    if obj["kind"] == "Job":
        pod = spec["template"]
        kept = {key: spec[key] for key in ("parallelism", "completions")}
        own = {**pod["spec"], "schedulingGroup": {"podGroupName": name}}
        spec = {**kept, "template": {"metadata": {"labels": {"app": name}}, "spec": own}}
    metadata = {"name": name, "namespace": obj["metadata"]["namespace"]}
    return {"apiVersion": obj["apiVersion"], "kind": obj["kind"], "metadata": metadata, "spec": spec}


def _condition(case: Case, group: str = "") -> dict[str, Any] | None:
    name = group or case.app
    found = json.loads(case.cluster.shell(f"kubectl get podgroup {name} -o json"))
    return next(iter(found.get("status", {}).get("conditions", [])), None)


def _written(condition: dict[str, Any] | None) -> str:
    if condition is None:
        return "none"
    message = f": {condition['message']}" if condition.get("message") else ""
    return f"{condition['reason']}{message}"
