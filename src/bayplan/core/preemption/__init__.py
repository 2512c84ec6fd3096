"""Nothing fits: who must make room?

Steps, in order, one file each:

    eligible.py    may this pod preempt at all, now
    potential.py   on which nodes could removing pods help
    candidates.py  which pods would have to go from each (the dry run, all nodes at once)
    budgets.py     which of them a PodDisruptionBudget protects
    select.py      which node is cheapest
    prepare.py     what is to be done: evictions, the nomination, nominations that end
    record.py      what was tried, in what order, and what decided

`post_filter.py` strings them together with the other PostFilter plugin there is.
"""
