"""What each action of the scheduler means, as requests to an API server, one after the other.

    actions.py          an action -> its requests, and the event that answers it
    requests.py         the requests, as plain data, and a refusal
    pods.py             bind, mark, nominate and evict
    groups.py           what came of a pod group, in its status
    claims.py           resource claims: devices and users
    extended_claims.py  who uses which request of a claim for extended resources
    volumes.py          volumes and volume claims
    preemption.py       the order of a preemption's writes
    event_series.py     Kubernetes Events: what is written, and what is only counted
    regarding.py        the pod that such an Event is about
    recent.py           a dict that forgets

The steps of an action are a generator: it yields a request, is sent the answer, and returns when all is done. `client`
sends the requests over HTTP, with retries and limits; `worlds` hands them to a store, with delays and faults. Nothing
here waits, sends, or knows where the objects are kept. See docs/decisions/0049-one-meaning-for-an-action.md.
"""
