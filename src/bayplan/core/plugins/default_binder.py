"""DefaultBinder: a pod is bound to the node that was chosen for it.

Gives the target only: the core performs nothing, the binding itself is an action of the world around it.
Upstream: plugins/defaultbinder/default_binder.go (v1.36).
"""

from __future__ import annotations

from typing import ClassVar

from bayplan.core.columns.shapes import PodInfo


class DefaultBinder:
    """Bind."""

    name: ClassVar[str] = "DefaultBinder"

    def bind_target(self, pod: PodInfo, node_name: str) -> str:  # noqa: ARG002
        return node_name
