"""What is wrong with a cluster before it hurts: `auditing.audit` is the entry, `rules` lists what is looked for.

Each family of rules has a module that takes an `Audited` (the cluster seen as workloads) and gives findings. What can
be tried is tried with the scheduler's own code; nothing is changed, and nothing is said of objects that are fine.
"""
