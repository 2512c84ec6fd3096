"""Worlds around the core: sources of events, performers of actions, and a clock.

`simulated` is a whole cluster in virtual time, repeatable from a seed. `performing` does actions on a store, `faults`
spoils them now and then, `reflector` tells the scheduler what was written, `journal` writes down what went in and out
of the core and plays it back.
"""
