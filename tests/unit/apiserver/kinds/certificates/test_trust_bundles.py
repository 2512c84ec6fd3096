"""Trust bundles and pods' requests for certificates, which v1.37 serves."""

from __future__ import annotations

from typing import Any

from bayplan.testing import cluster

BUNDLE: dict[str, Any] = {
    "apiVersion": "certificates.k8s.io/v1",
    "kind": "ClusterTrustBundle",
    "metadata": {"name": "roots"},
    "spec": {"trustBundle": "text"},
}


def test_they_are_stored() -> None:
    with cluster(nodes=0, scheduler=False, controllers=False, kubernetes_version="1.37") as live:
        live.apply(BUNDLE)
        (found,) = live.list("clustertrustbundles.certificates.k8s.io")
        assert found["spec"] == {"trustBundle": "text"}
        assert live.list("podcertificaterequests.certificates.k8s.io", namespace="default") == []
