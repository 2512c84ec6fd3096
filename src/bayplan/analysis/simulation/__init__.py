"""A cluster over time: takes files and a timeline, returns what happened to each pod.

In the order in which data flows: `inputs` reads what users do and when, and the pods to come; `running` builds the
world, lets time pass in it and gives the result; `recording` listens meanwhile. Of `results`, `run` defines what a run
holds, `summary` and `cascades` work out what follows from the records, `result` offers it all also as `columns` and for
`arrow`, `run_files` reads it back, and `comparison` (with `pod_matching`) finds the `differences` between runs.
"""
