"""The defaults an API server v1.36 gives to documents.

A file for each group; each function completes, in place, a document that is in the form the server writes. What only
creation brings (a pod's tolerations, a job's selector, cluster IPs) is not a default: see `kinds` and `plugins`.
"""
