"""The rule about what a plugin looks at in a pod: pods with equal signatures get the same answers.

The core shares answers of plugins with `sign_pod` among such pods, and compares nothing. So each pod that waits is
changed here and there, and where the signature stays as it was, the answers must, too.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import deepcopy
from random import Random
from types import MappingProxyType
from typing import Final

from bayplan.core.framework.speed_hints import Signer, hint
from bayplan.model.meta import OwnerReference
from bayplan.model.pod import Container, Pod
from bayplan.testing.asking import case_of, require
from bayplan.testing.plugin_rules import Trial


def looks_at_what_it_signs(trial: Trial) -> None:
    sign: Signer | None = hint(trial.plugin, "sign_pod")
    if sign is None:
        return
    for case, pod in zip(trial.cases(), trial.scene.waiting, strict=True):
        said = trial.transcript(case)
        for what, change in _CHANGES.items():
            other = deepcopy(pod)
            change(other, trial.rng())
            if sign(case.info) != sign(case.cache.info(other)):
                continue
            heard = trial.transcript(case_of(trial.scene.objects, other))
            for (point, answer), (_, answer_to_other) in zip(said, heard, strict=True):
                require(answer == answer_to_other, "signature", f"it answers differently at {point} for other {what}")


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


_CHANGES: Final[Mapping[str, Callable[[Pod, Random], None]]] = MappingProxyType(
    {
        "labels, owner, volumes and terms about other pods": _change_the_rest,
        "requests": _change_requests,
        "constraints": _drop_constraints,
    }
)
