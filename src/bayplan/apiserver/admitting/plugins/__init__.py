"""Admission that looks at the rest of the cluster, one file for each plugin of an API server.

Each takes a document that has its defaults and a view of the cluster. Some complete the document in place, some
raise Forbidden, some do both. The files in `kinds` name those that apply to their kind, and `registry` calls them and
those of all kinds in the server's order. TaintNodesByCondition, and plugins that need somebody's identity
(NodeRestriction), are missing.
"""
