"""Clusters without their names: objects in, objects out that say nothing of whose they are and decide the same.

`renaming` gives new names in the order of the old ones, `rules` says which text of which field is a name, `objects`
goes through a cluster. Amounts, times, kinds of resources, drivers and expressions stay as they are.
"""
