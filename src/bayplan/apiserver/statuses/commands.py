"""How containers end whose command says so: `true`, `false`, `sleep 5`, `sh -c "exit 3"`.

Takes containers and pods as documents; gives seconds and exit code, or None for everything else, which runs until it is
deleted. No command is run: only these few are known, and only where no image is needed to know what they do.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from bayplan.apiserver.storage.entries import Document

_SHELLS: Final = frozenset({"sh", "bash", "ash"})
_SCRIPT: Final = re.compile(
    r"\s*(?:sleep\s+(?P<seconds>\d{1,9}(?:\.\d{1,9})?)\s*(?:;|&&|\n|$)\s*)?"
    r"(?P<last>true|false|exit\s+(?P<code>\d{1,3}))?\s*;?\s*"
)


class Outcome(NamedTuple):
    """When and how a process ends."""

    seconds: float
    exit_code: int


def outcome_of(container: Document) -> Outcome | None:
    """How the container ends; None if that is not known."""
    words = [*(container.get("command") or ()), *(container.get("args") or ())]
    if not container.get("command"):
        return None  # the image decides
    program = words[0].rpartition("/")[2]
    if program in _SHELLS and len(words) == 3 and words[1] == "-c":
        return _outcome_of_script(words[2])
    if program in ("true", "false", "sleep") and len(words) <= 2:
        return _outcome_of_script(" ".join([program, *words[1:]]))
    return None


def _outcome_of_script(script: str) -> Outcome | None:
    found = _SCRIPT.fullmatch(script)
    if found is None or not script.strip():
        return None
    code = 1 if found["last"] == "false" else int(found["code"] or 0) % 256
    return Outcome(float(found["seconds"] or 0), code)


def pod_outcome(pod: Document) -> Outcome | None:
    """How the pod ends by itself; None if some container runs on, or would be started again."""
    spec = pod["spec"]
    policy = spec.get("restartPolicy", "Always")
    outcomes = [outcome_of(container) for container in spec.get("containers") or ()]
    known = [outcome for outcome in outcomes if outcome is not None]
    if policy == "Always" or len(known) < len(outcomes):
        return None
    code = max(outcome.exit_code for outcome in known)
    if policy == "OnFailure" and code:
        return None
    return Outcome(max(outcome.seconds for outcome in known), code)
