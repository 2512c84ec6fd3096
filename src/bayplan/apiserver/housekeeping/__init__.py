"""Controllers of what `bayplan.model` does not know: they see documents, of whatever kind.

Each takes the changes that are stored and writes what follows from them through a registry: garbage of any kind goes,
namespaces are filled and emptied, services get their endpoints, quotas their usage, rollouts their history. Workloads,
nodes and volumes are `bayplan.controllers`'. No clock, no threads: `now` is an argument.
"""
