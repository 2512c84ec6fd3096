"""CEL as Kubernetes selects devices with it: compile an expression once, evaluate it for many devices.

`syntax` has a library parse and check the text and gives a tree; `evaluation` turns the tree into a function over plain
Python values; `values` and `functions` hold what Kubernetes adds to the language. Who may use which variables is for
`bayplan.model.device_selectors` to say. URLs, IP addresses, formats, authorization and comprehensions of two variables,
which upstream's environment has as well, are not known here: an expression that uses them does not compile. Nor does
one that compares numbers of different types as literals (`1 < 2.5`), which nobody needs.
"""
