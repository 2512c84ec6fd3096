"""What the server knows of each built-in kind, in one place for each kind.

A folder for each API group, a file for each kind or small family, and in it one `Kind` value for each served version:
defaults, checks, what the server fills in, admission, columns, field selectors, storage form. `contract` defines the
value; `served` lists all of them. Custom resources are not here: their definitions say what there is to know.
"""
