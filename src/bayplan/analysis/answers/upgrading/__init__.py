"""What another version of Kubernetes changes: decisions about pods, the scheduler's configuration, names of metrics.

Takes a cluster and the version to go to, newer or older; gives every difference with the change that causes it. Each
pod is decided on alone, in the cluster as it is, by the scheduler of either version. Upgrades nothing.
"""
