"""Moves as a shell script for kubectl: pods are evicted one by one, through the API, which asks their budgets.

kubectl cannot tell the scheduler where to put a pod; it can only keep pods off nodes. So nodes are cordoned while a pod
moves, and released afterwards, whatever happens. The script stops at the first command that fails.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from bayplan.analysis.answers.moving.defrag import Defrag
from bayplan.analysis.answers.moving.group_defrag import GroupDefrag
from bayplan.analysis.answers.moving.playing import PlayedMove
from bayplan.report.words import counted

_HEAD = """\
# Pods are evicted through the API, so disruption budgets hold, and their controllers recreate them. kubectl cannot
# choose a pod's node: nodes it must not go to are cordoned meanwhile, and other new pods cannot go there either.
# Worked out from a snapshot; if the cluster has changed, pods may land elsewhere. Stops at the first failure.
set -eu

target=""
meanwhile=""
release() {
  for node in $meanwhile; do kubectl uncordon "$node"; done
  meanwhile=""
}
trap 'release; for node in $target; do kubectl uncordon "$node"; done' EXIT
trap 'exit 130' INT TERM

move() { # namespace, pod, its controller, pods of that controller that are ready
  printf '{"apiVersion":"policy/v1","kind":"Eviction","metadata":{"name":"%s","namespace":"%s"}}\\n' "$2" "$1" |
    kubectl create --raw "/api/v1/namespaces/$1/pods/$2/eviction" -f -
  kubectl wait --namespace "$1" --for=delete "pod/$2" --timeout=10m
  kubectl wait --namespace "$1" --for=jsonpath='{.status.readyReplicas}'="$4" "$3" --timeout=10m
}
"""


def move_script(answer: Defrag) -> str:
    """The whole script; where there is nothing to move, one that only says so."""
    namespace, _, name = answer.pod.partition("/")
    after = f"kubectl wait --namespace {namespace} --for=condition=PodScheduled pod/{name} --timeout=5m"
    if answer.is_new:
        after = f"# Now there is room for the new pod, on {answer.node}."
    return _script(answer.pod, answer.steps or (), [answer.target] if answer.target else [], [after])


def group_move_script(answer: GroupDefrag) -> str:
    """The same for a pod group."""
    pods = [pod.partition("/") for pod in answer.nodes]
    after = [
        f"kubectl wait --namespace {namespace} --for=condition=PodScheduled pod/{name} --timeout=10m"
        for namespace, _, name in pods
    ]
    return _script(f"podgroup {answer.group}", answer.steps or (), answer.targets, after)


def _script(name: str, steps: Sequence[PlayedMove], targets: Sequence[str], after: Sequence[str]) -> str:
    title = f"# Makes room for {name}: {counted(len(steps), 'move')}."
    if not steps:
        return f"#!/bin/sh\n# {name}: there is nothing to move.\n"
    lines = ["#!/bin/sh", title, _HEAD, *_commands(steps, targets), *after]
    return "\n".join(lines) + "\n"


def _commands(steps: Sequence[PlayedMove], targets: Sequence[str]) -> Iterator[str]:
    """The targets stay cordoned throughout; everything else is released after its step."""
    if targets:
        yield f'target="{" ".join(targets)}"\nkubectl cordon $target'
    for number, step in enumerate(steps, 1):
        namespace, _, name = step.pod.partition("/")
        yield f"\n# {number} of {len(steps)}: {step.pod} goes from {step.source} to {step.node}"
        meanwhile = " ".join(node for node in step.cordoned if node not in targets)
        if meanwhile:
            yield f'meanwhile="{meanwhile}"\nkubectl cordon $meanwhile'
        yield f"move {namespace} {name} {step.owner} {step.ready_pods}"
        if meanwhile:
            yield "release"
    yield ""
    if targets:
        yield 'kubectl uncordon $target\ntarget=""'
