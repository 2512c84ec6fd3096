"""What happened in a cluster, as a file: objects and their changes in, the same out again, whatever cut the file short.

`blocks` is the file: compressed blocks with checksums, to which is only added. `entries` says what is in them, and says
it briefly. `writer` and `reader` turn events into files and back; `recorder` follows an API server, and `disguise`
gives a recording other names. What a recording means for a simulation is the business of `simulation.replaying`.
"""
