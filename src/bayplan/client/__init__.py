"""A Kubernetes API server, seen from a client: kubeconfig, HTTP, lists and watches, writes, events, leases, extenders.

Takes where the server is and who asks; gives objects as the structs of `model` and events of `core`, and performs
actions. Decides nothing. Everything here runs on one asyncio event loop, but for what a thread must do because it waits
(exec plugins, extenders).
"""
