"""What the controllers of a cluster would do, as pure functions over its objects.

`expand` says which pods workloads would create, `disruption` what PodDisruptionBudgets allow; both rest on
`ownership`. Nothing here talks to an API server, keeps a clock or remembers anything between calls.
"""
