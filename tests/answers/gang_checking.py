"""What an answer about a pod group said compared with what happened to it. Facts are as in `checking`."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

from tests.answers.checking import PENDING, Case, Checked, Facts


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
    racks = {
        node["metadata"]["name"]: node["metadata"]["labels"][document["within"]]
        for node in json.loads(case.cluster.shell("kubectl get nodes -o json"))["items"]
    }
    pods = [pod for pod in case.cluster.pods().values() if pod.app != name]
    where = Counter(racks[pod.node] if pod.node else PENDING for pod in pods)
    size = document["podsInEach"]
    said = {domain: groups * size for domain, groups in document["byDomain"].items()} | {PENDING: size}
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
