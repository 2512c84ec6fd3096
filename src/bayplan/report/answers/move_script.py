"""Moves as a shell script for kubectl: pods are evicted one by one, through the API, which asks their budgets.

kubectl cannot tell the scheduler where to put a pod; it can only keep pods off nodes. So nodes are cordoned while a pod
moves, and released afterwards, whatever happens. The script stops at the first command that fails.
"""

from __future__ import annotations

from collections.abc import Iterator

from bayplan.analysis.answers.moving.defrag import Defrag
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
    steps = answer.steps or ()
    title = f"# Makes room for {answer.pod}: {counted(len(steps), 'move')}."
    if not steps:
        return f"#!/bin/sh\n# {answer.pod}: there is nothing to move.\n"
    lines = ["#!/bin/sh", title, _HEAD, *_commands(answer, steps)]
    return "\n".join(lines) + "\n"


def _commands(answer: Defrag, steps: tuple[PlayedMove, ...]) -> Iterator[str]:
    """The target stays cordoned throughout; everything else is released after its step."""
    if answer.target:
        yield f"target={answer.target}\nkubectl cordon $target"
    for number, step in enumerate(steps, 1):
        namespace, _, name = step.pod.partition("/")
        yield f"\n# {number} of {len(steps)}: {step.pod} goes from {step.source} to {step.node}"
        meanwhile = " ".join(step.cordoned)
        if meanwhile:
            yield f'meanwhile="{meanwhile}"\nkubectl cordon $meanwhile'
        yield f"move {namespace} {name} {step.owner} {step.ready_pods}"
        if meanwhile:
            yield "release"
    yield ""
    if answer.target:
        yield 'kubectl uncordon $target\ntarget=""'
    namespace, _, name = answer.pod.partition("/")
    if answer.is_new:
        yield f"# Now there is room for the new pod, on {answer.node}."
    else:
        yield f"kubectl wait --namespace {namespace} --for=condition=PodScheduled pod/{name} --timeout=5m"
