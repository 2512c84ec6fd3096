"""What the controllers of a cluster do: pure, without an API server, a clock or threads.

Some modules answer questions over objects at hand and remember nothing: `workloads.expand` says which pods workloads
would create, `budgets.status` what PodDisruptionBudgets allow. The others are controllers in the sense of `contract`:
they observe changes and write to a store.

    workloads/  deployment (rollout), replica_set, stateful_set, daemon_set (daemon_placement),
                job (job_attempt, job_pods, job_tracking), cron_job
    nodes/      kubelet, node_lifecycle, taint_eviction, pod_garbage_collector
    volumes/    persistent_volume (claim_binding, free_volumes, provisioning), ephemeral_volume
    budgets/    disruption_controller
    the rest    garbage_collector, namespace, resource_claims, device_driver, device_taint_eviction

They share `work_queue`, `timers` and `delays` (what is due when), `tally` (counts), `ownership`, `writes`, `eviction`
and `int_or_percent`; workloads also `templates` and `pods_from_templates`, `availability` and `deletion_order`.
"""
