"""The rule about what of a pod a plugin looks at: pods that differ in nothing else get the same answers.

Answers of plugins that declare `pod_parts` are shared by all pods that agree in these parts.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from random import Random

from bayplan.core.framework.speed_hints import PodParts
from bayplan.model.meta import OwnerReference
from bayplan.model.pod import Container, Pod
from bayplan.testing.asking import case_of, require
from bayplan.testing.plugin_rules import Trial


def looks_at_the_parts_it_says(trial: Trial) -> None:
    parts: PodParts | None = getattr(trial.plugin, "pod_parts", None)
    if parts is None:
        return
    for case, pod in zip(trial.cases(), trial.scene.waiting, strict=True):
        said = trial.transcript(case)
        for what, change in _changes_outside(parts).items():
            other = deepcopy(pod)
            change(other, trial.rng())
            heard = trial.transcript(case_of(trial.scene.objects, other))
            for (point, answer), (_, answer_to_other) in zip(said, heard, strict=True):
                require(answer == answer_to_other, "pod parts", f"it answers differently at {point} for other {what}")


def _changes_outside(parts: PodParts) -> dict[str, Callable[[Pod, Random], None]]:
    changes: dict[str, Callable[[Pod, Random], None]] = {
        "labels, owner, volumes and terms about other pods": _change_the_rest
    }
    if PodParts.REQUESTS not in parts:
        changes["requests"] = _change_requests
    if PodParts.CONSTRAINTS not in parts:
        changes["constraints"] = _drop_constraints
    return changes


def _change_the_rest(pod: Pod, rng: Random) -> None:
    spec = pod.spec
    pod.metadata.labels = {"other": str(rng.random())}
    pod.metadata.owner_references = [OwnerReference(api_version="v1", kind="Other", name="other", controller=True)]
    spec.volumes = [volume for volume in spec.volumes if volume.image is not None]
    spec.topology_spread_constraints = []
    if spec.affinity is not None:
        spec.affinity.pod_affinity = spec.affinity.pod_anti_affinity = None


def _change_requests(pod: Pod, rng: Random) -> None:
    for container in _containers(pod):
        container.resources.requests = {"cpu": f"{rng.randint(1, 9_000)}m", "memory": f"{rng.randint(1, 9_000)}Mi"}


def _drop_constraints(pod: Pod, rng: Random) -> None:  # noqa: ARG001
    spec = pod.spec
    spec.node_selector, spec.tolerations, spec.host_network = {}, [], False
    if spec.affinity is not None:
        spec.affinity.node_affinity = None
    for container in _containers(pod):
        container.image, container.ports = "other", []


def _containers(pod: Pod) -> list[Container]:
    return [*pod.spec.containers, *pod.spec.init_containers]
