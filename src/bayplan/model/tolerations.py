"""Whether a toleration tolerates a taint.

Takes structs as written. `tolerationSeconds` plays no part, as it only says when a running pod is evicted.
The operators Gt and Lt tolerate nothing: they belong to a feature that is off by default.
"""

from collections.abc import Iterable

from bayplan.model.node import Taint
from bayplan.model.pod import Toleration

NO_SCHEDULE = "NoSchedule"
PREFER_NO_SCHEDULE = "PreferNoSchedule"
NO_EXECUTE = "NoExecute"


def tolerates(toleration: Toleration, taint: Taint) -> bool:
    """An empty effect or key of the toleration matches any."""
    if toleration.effect and toleration.effect != taint.effect:
        return False
    if toleration.key and toleration.key != taint.key:
        return False
    if toleration.operator in ("", "Equal"):
        return toleration.value == taint.value
    return toleration.operator == "Exists"


def any_tolerates(tolerations: Iterable[Toleration], taint: Taint) -> bool:
    """Whether at least one of the tolerations tolerates the taint."""
    return any(tolerates(toleration, taint) for toleration in tolerations)
