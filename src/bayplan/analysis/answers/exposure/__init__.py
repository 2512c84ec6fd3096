"""What could evict a running pod, and which workloads of a cluster are most exposed to that.

`answer` is what comes out. `subjects` answers for a pod or a workload, `ranking` for all workloads, `preemptors` for
given pods. `exposing` looks at pods: `turns` says where to look, and `probing` decides.
"""
