"""What the controllers of a cluster do: pure, without an API server, a clock or threads.

Some modules answer questions over objects at hand and remember nothing: `expand` says which pods workloads would
create, `disruption` what PodDisruptionBudgets allow. The others are controllers in the sense of `contract`: they hear
of changes and write to a store.

    workloads   deployment (rollout), replica_set, stateful_set, daemon_set (daemons),
                job (job_attempt, job_pods, job_tracking), cron_job
    nodes       kubelet, node_lifecycle, taint_eviction, pod_collection
    volumes     volumes (volume_binding, volume_shelves, provisioning), ephemeral_volume
    the rest    budgets, garbage, namespaces

They share `agenda`, `timers` and `delays` (what is due when), `tally` (counts), `templates` and `stamping` (pods out of
templates), `ownership`, `conditions`, `availability`, `deletion_order` and `shares`.
"""
