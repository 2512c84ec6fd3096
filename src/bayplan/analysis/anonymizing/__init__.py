"""Clusters without their names: objects in, objects out that do not say whose they are and decide the same.

`rules` says what kind of text each field holds, `well_known` lists what is kept, `texts` gives new texts for old ones
(`renaming` those of names, in the order of the old ones) and `objects` goes through a cluster. `verdicts` and
`device_attributes` take the place of CEL expressions and what they read. Amounts and counts stay as they are.
"""
