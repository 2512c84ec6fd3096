"""What each verb does to documents, whoever asks: a client over HTTP, a controller or the scheduler.

`registry` is the front door. `creating`, `updating`, `deleting` and `scaling` decide what becomes of a
document, `typed` keeps the stored objects as the narrow structs that scheduler and controllers work with, and
`catalogue` knows which resources are served.
"""
