"""A day of virtual machines in Azure as a trace with two classes: `python azure_day.py DAY.csv.gz azure_day.csv`.

The file has the arrivals, sizes and lifetimes of a day of Azure's public dataset V1 (CC-BY-4.0), as published in
`huaweicloud/trace_generation_rnn`, `resources/traces/v1.test.txt`, with the columns arrival_s, batch, cores,
memory_gib, duration_min_s, duration_max_s and censored. Machines that one tenant started together share a batch.

Keeps every hundredth batch. The trace has no priorities: every fifth of these batches is taken for critical, which is
an assumption. Machines that were still running when the recording ended run to the end.
"""

from __future__ import annotations

import csv
import gzip
import sys

KEPT = 100
CRITICAL = 5


def main(source: str, target: str) -> None:
    with gzip.open(source, "rt", encoding="utf-8") as day, open(target, "w", encoding="utf-8", newline="") as trace:
        rows = csv.writer(trace)
        rows.writerow(["arrival", "duration", "cpu", "memory", "class", "priority"])
        for machine in csv.DictReader(day):
            batch, left_over = divmod(int(machine["batch"]), KEPT)
            if left_over:
                continue
            shortest, longest = float(machine["duration_min_s"]), float(machine["duration_max_s"])
            duration = "" if machine["censored"] == "1" else f"{(shortest + longest) / 2:g}"
            memory = f"{round(float(machine['memory_gib']) * 1024)}Mi"
            of_class = ("batch", 10) if batch % CRITICAL else ("critical", 1000)
            rows.writerow([machine["arrival_s"], duration, machine["cores"], memory, *of_class])


if __name__ == "__main__":
    main(*sys.argv[1:])
