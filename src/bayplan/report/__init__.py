"""Answers for people and for programs: text for a terminal or a pipe, JSON, and HTML pages.

    words.py, durations.py  counts, lists and spans of time in English
    terminal.py             parts of a report -> a stream, with colors and wrapping only on a terminal
    explain/                where a pod fits and why: scores, failures, preemption
    placement.py, nodes.py  where pods were placed, how full the nodes are
    simulation/             a run over time: tables, Parquet files, a page
    comparison/             runs side by side: tables and a page from the same rows
    html_page.py            what makes a page a single file that works offline
    json_output.py          the same answers for programs

Takes plain data or typed results and returns parts; the caller decides what is printed where.
"""
