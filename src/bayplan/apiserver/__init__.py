"""A Kubernetes API server: requests in, documents, tables, watch events and `Status` bodies out.

Objects are documents here: plain dicts with every field a client sent, because the structs of `bayplan.model` keep only
what scheduling reads. A stored document is never modified; a change makes a new one. `schema` holds the facts about the
built-in types, and only the packages that serve HTTP or keep a file do I/O.
"""
