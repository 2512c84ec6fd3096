"""Questions about moving running pods: which ones, in which order, and where each goes.

A solver proposes moves from arithmetic on resources, and says how few could ever do. Each proposal is then played with
the scheduler's own decisions; only what holds there is an answer. Nothing here evicts anything.
"""
