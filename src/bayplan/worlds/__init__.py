"""Worlds around the core: sources of events, performers of actions, and a clock.

    simulated.py   a whole cluster in virtual time, repeatable from a seed
    delayed_watch.py  the store's log -> what the scheduler observes, late and in order
    performing.py  actions -> their requests, handed to a store, and their answers
    delays.py      how long things take
    faults.py      what goes wrong now and then
    journal.py     what went in and out of the core, line by line, and the same played back

A world hands the core its times. Delays and faults are drawn from a seed; nothing here looks at a real clock.
"""
