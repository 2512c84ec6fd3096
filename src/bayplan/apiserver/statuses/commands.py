"""How containers end whose command says so: `true`, `false`, `sleep 5`, `sh -c "exit 3"`.

Takes containers and pods as documents; gives seconds and exit code, or None for everything else, which runs until it is
deleted. No command is run: only these few are known, and only where it is known what the image does with arguments.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final, NamedTuple

from bayplan.apiserver.storage.entries import Document
from bayplan.controllers.nodes.kubelet import Initialization

_SHELLS: Final = frozenset({"sh", "bash", "ash"})
#: Images without an entry point of their own, whose command is a shell.
_PLAIN_IMAGES: Final = frozenset({"alpine", "busybox", "debian", "fedora", "ubuntu"})
_SCRIPT: Final = re.compile(
    r"\s*(?:sleep\s+(?P<seconds>\d{1,9}(?:\.\d{1,9})?)\s*(?:;|&&|\n|$)\s*)?"
    r"(?P<last>true|false|exit\s+(?P<code>\d{1,3}))?\s*;?\s*"
)


class ProcessEnd(NamedTuple):
    """When and how a process ends."""

    seconds: float
    exit_code: int


def _runs_arguments(image: str) -> bool:
    """Whether it is an image of a plain system, whose command is what a container's arguments say."""
    name = image.partition("@")[0].rpartition("/")[2].partition(":")[0]
    return name in _PLAIN_IMAGES


def outcome_of(container: Document) -> ProcessEnd | None:
    """How the container ends; None if that is not known."""
    words = [*(container.get("command") or ()), *(container.get("args") or ())]
    if not (container.get("command") or _runs_arguments(container.get("image", ""))):
        return None  # the image decides
    if not words:
        return None if container.get("stdin") or container.get("tty") else ProcessEnd(0, 0)  # nothing for it to read
    program = words[0].rpartition("/")[2]
    if program in _SHELLS and len(words) == 3 and words[1] == "-c":
        return _outcome_of_script(words[2])
    if program in ("true", "false", "sleep") and len(words) <= 2:
        return _outcome_of_script(" ".join([program, *words[1:]]))
    return None


def _outcome_of_script(script: str) -> ProcessEnd | None:
    found = _SCRIPT.fullmatch(script)
    if found is None or not script.strip():
        return None
    code = 1 if found["last"] == "false" else int(found["code"] or 0) % 256
    return ProcessEnd(float(found["seconds"] or 0), code)


class PodEnd(NamedTuple):
    """When and how all containers of a pod have ended."""

    seconds: float
    exit_codes: Mapping[str, int]
    """By name, of those that failed."""


def is_restarted(container: Document, exit_code: int, pod_policy: str) -> bool:
    """Whether the container is started again after it ended so."""
    policy = container.get("restartPolicy") or pod_policy
    return policy == "Always" or (policy == "OnFailure" and exit_code != 0)


def pod_outcome(pod: Document) -> PodEnd | None:
    """How the pod ends by itself; None if some container runs on, or would be started again."""
    spec = pod["spec"]
    seconds, codes = 0.0, {}
    for container in spec.get("containers") or ():
        outcome = outcome_of(container)
        if outcome is None or is_restarted(container, outcome.exit_code, spec.get("restartPolicy", "Always")):
            return None
        seconds = max(seconds, outcome.seconds)
        if outcome.exit_code:
            codes[container["name"]] = outcome.exit_code
    return PodEnd(seconds, codes)


def initialization_of(pod: Document) -> Initialization | None:
    """How the pod's init containers end, one after the other, up to the first that fails."""
    spec = pod["spec"]
    policy = "OnFailure" if spec.get("restartPolicy", "Always") != "Never" else "Never"
    seconds = 0.0
    for container in spec.get("initContainers") or ():
        outcome = outcome_of(container) if container.get("restartPolicy") != "Always" else None
        if outcome is None:
            continue
        seconds += outcome.seconds
        if outcome.exit_code:
            codes = {container["name"]: outcome.exit_code}
            return Initialization(seconds, codes, is_restarted(container, outcome.exit_code, policy))
    return Initialization(seconds, {}, is_repeated=False) if seconds else None
