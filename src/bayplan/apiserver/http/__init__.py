"""Requests in, answers out: the Kubernetes REST API over the registry.

In the order in which a request flows: `application` receives it, `requests` and `routing` say what it is about,
`accepting` in which form the answer is wanted, `bodies` decodes what came with it; `reading`, `watching`, `writing`,
`deleting` and `subresources` do the work; `rendering` and `answers` put the result into bytes.
"""
