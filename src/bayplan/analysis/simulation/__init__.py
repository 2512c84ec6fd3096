"""A cluster through time: files and a timeline in, what happened to whom out.

In the order in which data flows: `timeline` (or `simkube`) reads what users do and when, `traces` (`openb`,
`csv_trace`, `azure`) the pods to come, `commands` does it, `running` builds the world (`storage` and `run_times` say
what the input leaves open) and lets time pass, `listening` listens (`pod_ledger`, `series`, `preemption_log`),
`cascades` follows victims, and `result` is what comes out of it all, also as `columns` and for `arrow`. `run_files`
reads it back, and `comparison` holds runs against each other (`pod_matching`; `inputs` tells whether they had the same
story).
"""
