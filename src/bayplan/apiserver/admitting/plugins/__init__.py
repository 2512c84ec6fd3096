"""Admission that looks at the rest of the cluster, one file for each plugin of an API server.

Each takes a document that has its defaults and a view of the cluster. Some complete the document in place, some
raise Forbidden, some do both; `admitting` calls them in the server's order. Plugins that the recorded server had
off (ServiceAccount, TaintNodesByCondition) and those that need somebody's identity (NodeRestriction) are not here.
"""
