"""The decision core: events in, decisions out. No clock, no I/O, no threads, no global randomness.

ARCHITECTURE.md goes through its modules in the order in which data flows.
"""
