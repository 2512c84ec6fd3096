"""A cluster through time: files and a timeline in, what happened to whom out.

In the order in which data flows: `timeline` (or `simkube`) reads what users do and when, `commands` does it, `running`
builds the world (`storage` and `run_times` say what the input leaves open) and lets time pass, `listening` listens
(`pod_ledger`, `series`, `preemption_log`), `cascades` follows victims, and `result` is what comes out of it all.
"""
