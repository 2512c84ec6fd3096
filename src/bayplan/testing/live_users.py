"""Users of a live cluster: each a ServiceAccount with a token, a kubeconfig and faults of its own."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from bayplan.testing.live_faults import RequestFaults


@dataclass(frozen=True)
class ClusterUser:
    """Somebody who uses a cluster.

    Attributes:
        name: as the cluster knows it: `system:serviceaccount:NAMESPACE:NAME`.
        namespace: where its ServiceAccount is, and what its kubeconfig names.
        url: the address of the API, for clients that send the token in a header (`Authorization: Bearer …`).
        token: what its requests carry.
        kubeconfig: a file for kubectl and every client that reads one.
        faults: what goes wrong with its requests.
    """

    name: str
    namespace: str
    url: str
    token: str
    kubeconfig: Path
    faults: RequestFaults
