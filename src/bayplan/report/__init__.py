"""Answers for people and for programs: text for a terminal or a pipe, and JSON.

    words.py        counts and lists in English
    terminal.py     parts of a report -> a stream, with colours and wrapping only where a person reads
    explanation.py  why a pod goes where it goes: scores.py, failures.py, preemption.py in order
    placement.py    where pods went
    nodes.py        how full the nodes are
    json_output.py  the same answers for programs

Takes plain data (`to_dict()`) and gives parts; what is printed where is decided by the caller.
"""
