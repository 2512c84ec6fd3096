"""Nodes that come and go by need: a simulated autoscaler, and the machines that it asks for.

`autoscaler.py` is the controller. It follows the cluster in a `Picture`, which is the scheduler's own cache, so that
whether a pod fits on a node that does not exist is decided by the scheduler's filters. `scale_up.py` and
`scale_down.py` are the rules of Cluster Autoscaler, `provisioning.py` and `consolidation.py` those of Karpenter.
"""
