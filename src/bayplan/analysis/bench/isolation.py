"""Each measurement in a process of its own, so that its peak memory is its own.

`measure_apart` starts this module as a program and reads the one JSON document it prints. Nothing is shared with the
calling process but the workload's name and the numbers.
"""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace

import msgspec

from bayplan.analysis.bench.measure import Measurement, measure
from bayplan.analysis.bench.workloads import WORKLOADS, PodTemplate
from bayplan.analysis.memory import keep_memory
from bayplan.config.releases import KubernetesRelease, release_named

#: What runs on the nodes already, where a measurement asks for more than the workload says.
BYSTANDER = PodTemplate(10, 16)


def measure_apart(
    workload: str, node_count: int, pod_count: int, release: KubernetesRelease, bystanders_per_node: int = 0
) -> Measurement:
    """Measure in a new process. Raises CalledProcessError with what it said when it fails."""
    arguments = [workload, str(node_count), str(pod_count), release.version, str(bystanders_per_node)]
    ended = subprocess.run([sys.executable, "-m", __spec__.name, *arguments], stdout=subprocess.PIPE, check=True)
    return msgspec.json.decode(ended.stdout, type=Measurement)


def main(arguments: list[str]) -> None:
    keep_memory()
    name, node_count, pod_count, version, bystanders_per_node = arguments
    workload = WORKLOADS[name]
    workload = replace(workload, running=(*workload.running, *(BYSTANDER,) * int(bystanders_per_node)))
    found = measure(workload, int(node_count), int(pod_count), release_named(version))
    sys.stdout.write(msgspec.json.encode(found).decode())


if __name__ == "__main__":
    main(sys.argv[1:])
