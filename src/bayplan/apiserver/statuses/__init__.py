"""Statuses as clients know them, from what scheduler, controllers and kubelets write through narrow structs.

Takes a document before and after such a write; gives the one that real components would have written: with container
statuses, times of conditions, and counts that are zero. Pure: `now` is an argument. Nothing here decides anything;
`kinds` says which function belongs to which kind.
"""
