"""Questions about pod groups: why one waits, and what would let it be scheduled.

Takes the cluster with the gate GenericWorkload on. Members are placed by `bayplan.core.groups`, as a scheduler would
place them, in trials on a cache; arithmetic only says what is worth trying.
"""
