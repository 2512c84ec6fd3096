"""Answers for people and for programs: text for a terminal or a pipe, and JSON.

    words.py        counts and lists in English
    terminal.py     parts of a report -> a stream, with colours and wrapping only where a person reads
    explanation.py  why a pod goes where it goes: scores.py, failures.py, preemption.py in order
    placement.py    where pods went
    nodes.py        how full the nodes are
    json_output.py  the same answers for programs
    simulation_html.py  a run through time as one HTML page, framed by page_templates/; its parts are
                    simulation_series.py, simulation_nodes.py, chain_drawing.py and simulation_records.py,
                    and simulation_view.py is what they share
    comparison_rows.py  runs side by side, for comparison_tables.py (a terminal) and comparison_html.py (a page, with
                    comparison_figures.py)
    html_page.py    what makes a page one file that works offline
    durations.py    spans of time in English

Takes plain data (`to_dict()`) and gives parts; what is printed where is decided by the caller.
"""
