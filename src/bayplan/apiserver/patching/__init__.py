"""Changes to documents: patches of every kind, server-side apply, and writes by those who see only a part of an object.

Takes documents (plain dicts) and gives new ones; no input is ever modified, untouched parts are shared. Refusals are
`ApiError`s in the API server's words. Nothing here reads a body, sets a default, validates or stores anything.

`json_patch`, `merge_patch` and `strategic_merge` have one function each; `server_side_apply` is a package of its own;
`overlay` carries a change from a narrow view of an object over to the whole object.
"""
