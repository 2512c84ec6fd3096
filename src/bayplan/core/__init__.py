"""The decision core: events in, decisions out. No clock, no I/O, no threads, no global randomness.

Read in the order in which data flows:

    columns/      nodes and pods as arrays; strings as ids; counts kept up to date
    cache.py      what happened in the cluster -> columns
    snapshot.py   one read-only instant, and what-if views of it
    framework/    the plugin contract, verdicts, profiles
    plugins/      one file for each plugin, upstream's names
    filtering.py  pod + snapshot -> which nodes pass, and why the others do not
    scoring.py    feasible nodes -> weighted totals
    choosing.py   totals -> one node
    preemption/   nothing fits -> who must make room
    cycle.py      the straight line through the steps above
"""
