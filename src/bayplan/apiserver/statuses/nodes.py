"""What a kubelet reports of its node that nobody has to say: nothing runs here, so all kubelets report the same."""

from __future__ import annotations

from typing import Any, Final

from bayplan.config.releases import KubernetesRelease

_INFO: Final = {
    "machineID": "",
    "systemUUID": "",
    "bootID": "",
    "kernelVersion": "simulated",
    "osImage": "bayplan",
    "containerRuntimeVersion": "bayplan://simulated",
    "kubeProxyVersion": "",
    "operatingSystem": "linux",
    "architecture": "amd64",
}


def node_info(release: KubernetesRelease) -> dict[str, Any]:
    """`status.nodeInfo` of a node whose kubelet is of that release."""
    return {**_INFO, "kubeletVersion": release.recorded_from}
