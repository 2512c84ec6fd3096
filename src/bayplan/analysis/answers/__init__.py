"""Questions that people ask about a cluster, each answered by deciding: one module or package for each question.

Takes a `Cluster` and a question, returns plain data with `to_dict`. An answer is never a formula alone: what it says is
tried with the scheduler's own code, on a cache that is put back as it was.
"""
