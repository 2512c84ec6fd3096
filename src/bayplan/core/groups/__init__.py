"""Pods that are scheduled together: a PodGroup, its members, and what becomes of all of them in one cycle.

Steps, in order, one file each:

    status.py      how it goes for a group as a whole
    member.py      one member, tried as a single pod is but without preemption
    checking.py    what members must have in common
    waiting.py     whether a group may enter the queue, and in which order its members are tried
    feasible.py    whether enough members can still be placed
    placing.py     all members on some nodes, one after another; everything is taken back
    placements.py  the same for each placement that plugins make of the nodes, and which is best
    preempting.py  which units have to go so that the group fits
    post_filter.py the PodGroupPostFilter chain
    cycle.py       one attempt from start to end, and what each pod and the group are told

What is evicted as a whole is in `bayplan.core.preemption.units`; `single.py` tries a pod without a group, which may
preempt groups. Takes a cache, a profile and the members. Members are placed in trials (`Cache.trial`), so the cache is
afterwards as it was: the caller decides what to do with the answer. Groups of groups are not known here. Members are
looked for on all nodes: a profile's percentage of nodes to score, which is for single pods, has no say. Upstream:
schedule_one_podgroup.go, plugins/gangscheduling, plugins/topologyaware, plugins/podgrouppodscount,
framework/preemption/podgrouppreemption.go (v1.37).
"""
