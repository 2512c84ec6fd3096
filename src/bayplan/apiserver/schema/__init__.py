"""Facts about the built-in types of Kubernetes v1.36: their fields, the resources served, and what follows from them.

The facts are text files under `data/`, one for each group version; `messages` and `resources` read them, and discovery,
protobuf bodies, field validation and OpenAPI documents are made from those. Nothing here knows a stored object, and
custom resources appear only where a caller passes them in.
"""
