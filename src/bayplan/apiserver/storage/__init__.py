"""Documents with versions, a watch log and their JSON; in memory, or also in a file that outlives the process.

In the order in which a write flows: `entries` is what is stored, `log` is how it changed, `storage` is the one place
where anything changes, and `durable` writes it down before anybody is answered.
"""
