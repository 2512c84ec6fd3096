"""Server-side tables: what `kubectl get` prints, as columns and cells made by the server.

`building` answers requests; `printers` has the default, and the files in `kinds` name the printer of each built-in
kind. The other modules hold the columns and cells, by subject. `custom_columns` makes the printer of a custom resource
from its definition.
Documents in, dicts out: no clock (`now` is an argument in nanoseconds), no lookup of other objects.
"""
