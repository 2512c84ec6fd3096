"""The recorded life of a cluster, played again: a recording in, plans and run times out, and how alike both lives are.

`intentions` tells what users and machines did from what followed from it, `lives` says how long recorded pods ran, and
`recorded_life` reads it all. What followed is decided anew by the simulation; `fidelity` compares.
"""
