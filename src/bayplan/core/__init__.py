"""The decision core: events in, decisions out. No clock, no I/O, no threads, no global randomness.

Read in the order in which data flows:

    events.py      what happened in the world, as plain data
    columns/       nodes and pods as arrays; strings as ids; counts kept up to date
    cache.py       what happened in the cluster -> columns
    snapshot.py    one read-only instant, and what-if views of it
    framework/     the plugin contract, verdicts, profiles, and the language of wake-ups
    plugins/       one file or package for each plugin, upstream's names
    filtering.py   pod + snapshot -> which nodes pass, and why the others do not
    sampling.py    which of them a search that stops early would have seen, where a configuration asks for that
    scoring.py     feasible nodes -> weighted totals
    diagnosis.py   why nothing fits, in the scheduler's words
    preemption/    nothing fits -> who must make room
    cycle.py       the straight line through the steps above, for one pod
    decision.py    what was decided, as data
    following.py   whoever keeps something for each node and looks again at nodes that changed
    reuse/         what is known for pods like this one, kept up to date node by node
    deciding.py    the answers of `cycle`, pod after pod, from what is kept
    groups/        a pod group in one attempt: several pods, and who must make room for them
    explain.py     an attempt as plain data
    lifecycle.py   the states of a pod, and the moves between them
    queue/         which pod is tried next, and what brings a rejected one back
    evictions.py   who waits for whose eviction
    failure_handling.py  a pod goes back to the queue, with an event and a condition that say why
    binding.py     a pod on the way from a decision to its node
    scheduler.py   all of it in time: `observe` an event, `decide` on a pod
    actions.py     what is to be done in the world, as plain data
"""
