"""The nearest changes that would let a pending pod run, each one decided.

`answer` is what comes out, and what each kind of change costs. `edits` are changes of the pod itself, of which
`requests` lowers what it asks for; `surroundings` are changes of the cluster around it. `searching` tries them, alone
and then in pairs, `rehearsing` plays them to their end, and `patches` writes them down for kubectl. `idle` and
`daemons` are about pods that do not exist yet.
"""
