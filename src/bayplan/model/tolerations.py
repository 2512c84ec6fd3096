"""Whether a toleration tolerates a taint.

Takes structs as written. `tolerationSeconds` plays no part, as it only says when a running pod is evicted.
The operators Gt and Lt belong to a feature that is off by default: unless it is on they tolerate nothing.
"""

import re
from collections.abc import Iterable

from bayplan.model.node import Taint
from bayplan.model.pod import Toleration

NO_SCHEDULE = "NoSchedule"
PREFER_NO_SCHEDULE = "PreferNoSchedule"
NO_EXECUTE = "NoExecute"

_WHOLE_NUMBER = re.compile(r"0|-?[1-9][0-9]{0,18}")


def tolerates(toleration: Toleration, taint: Taint, *, compares: bool = False) -> bool:
    """An empty effect or key of the toleration matches any. With `compares`, Gt and Lt compare whole numbers."""
    if toleration.effect and toleration.effect != taint.effect:
        return False
    if toleration.key and toleration.key != taint.key:
        return False
    if toleration.operator in ("", "Equal"):
        return toleration.value == taint.value
    if compares and toleration.operator in ("Gt", "Lt"):
        return _compare(toleration, taint)
    return toleration.operator == "Exists"


def any_tolerates(tolerations: Iterable[Toleration], taint: Taint, *, compares: bool = False) -> bool:
    """Whether at least one of the tolerations tolerates the taint."""
    return any(tolerates(toleration, taint, compares=compares) for toleration in tolerations)


def _compare(toleration: Toleration, taint: Taint) -> bool:
    """False where either side is not a whole number as Kubernetes writes them."""
    limit, value = _whole_number(toleration.value), _whole_number(taint.value)
    if limit is None or value is None:
        return False
    return value > limit if toleration.operator == "Gt" else value < limit


def _whole_number(text: str) -> int | None:
    number = int(text) if _WHOLE_NUMBER.fullmatch(text) else None
    return number if number is not None and -(1 << 63) <= number < 1 << 63 else None
