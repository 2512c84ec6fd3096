"""Plots as SVG, drawn here: what they show is in the file, and a script is needed only to look closer.

`bands` draws lines and areas over time, `marks` draws quantiles on a logarithmic axis, `pixels` writes pictures for
heat maps, `ticks` chooses the numbers on axes. Colors are classes (`c0` to `c7`, `r0` to `r6`), which a page's style
knows for a light and a dark background. Nothing here knows about clusters.
"""
