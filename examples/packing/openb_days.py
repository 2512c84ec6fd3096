"""The last two days of openb as a trace: `python openb_days.py openb_pod_list_default.csv openb_days.csv`.

The pod list is in `hkust-adsl/kubernetes-scheduler-simulator`, directory `data/csv`. The first 111 of its 149 days are
nearly empty. Pods that were there when the last days began arrive at once, with what was left of their time. GPUs are
thousandths of a GPU, of which only the sum is a limit. The QoS class becomes the priority class: latency-sensitive pods
(LS, Guaranteed) are critical, which is an assumption, as the trace has no priorities.
"""

from __future__ import annotations

import csv
import sys

DAYS = 2
DAY_S = 86400.0
CLASSES = {"LS": ("critical", 1000), "Guaranteed": ("critical", 1000), "Burstable": ("batch", 10), "BE": ("batch", 10)}


def main(source: str, target: str) -> None:
    with open(source, encoding="utf-8") as pods:
        rows = list(csv.DictReader(pods))
    begin = max(float(pod["creation_time"]) for pod in rows) - DAYS * DAY_S
    with open(target, "w", encoding="utf-8", newline="") as trace:
        out = csv.writer(trace)
        out.writerow(["arrival", "duration", "cpu", "memory", "resource:example.com/gpu-milli", "class", "priority"])
        for pod in rows:
            since, until = float(pod["scheduled_time"] or pod["creation_time"]), float(pod["deletion_time"])
            if until > begin:
                gpu_milli = int(pod["num_gpu"]) * int(pod["gpu_milli"])
                requests = [f"{pod['cpu_milli']}m", f"{pod['memory_mib']}Mi", gpu_milli or ""]
                arrival = max(since - begin, 0.0)
                out.writerow([f"{arrival:g}", f"{until - begin - arrival:g}", *requests, *CLASSES[pod["qos"]]])


if __name__ == "__main__":
    main(*sys.argv[1:])
