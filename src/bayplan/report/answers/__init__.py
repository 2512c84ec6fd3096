"""Answers for people: each question has a module that turns its answer into `parts`; three writers show any parts.

Takes what `analysis/answers` returns. Decides nothing, and reads no cluster.
"""
