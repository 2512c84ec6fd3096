"""Nothing fits: who must make room?

Steps, in order, one file each:

    eligible.py    may this pod preempt at all, now
    potential.py   on which nodes could removing pods help
    candidates.py  which pods would have to go from each (the dry run, all nodes at once)
    budgets.py     which of them a PodDisruptionBudget protects
    extending.py   what extenders make of the candidates
    select.py      which node is cheapest
    prepare.py     what is to be done: evictions, and nominations that end
    record.py      what was tried, in what order, and what decided

`search.py` goes through all nodes and keeps what the record needs; `candidacy.py` gives the same choice from candidates
kept row by row, and `foresight.py` does so where filters that read the cluster have a say. Where pod groups are known,
`units.py` says what is evicted as a whole, and `unit_search.py` looks for candidates. `unstable_order.py` sorts
pods of equal importance as upstream's sort leaves them. `post_filter.py` strings the steps together with the other
PostFilter plugin there is.
"""
