"""What the controllers of a cluster do: pure, without an API server, a clock or threads.

Two kinds of modules. Some answer questions over objects at hand and remember nothing: `expand` says which pods
workloads would create, `disruption` what PodDisruptionBudgets allow. The others are controllers in the sense of
`contract`: they hear of changes and write to a store. Workloads have `deployment` (with `rollout`), `replica_set`,
`stateful_set`, `daemon_set` and `job` (with `job_attempt`, `job_tracking`); `garbage` and `namespaces` clear away. They
work off an `agenda`, count with a `tally` and make pods with `stamping`.
"""
