"""CEL as Kubernetes selects devices with it: compile an expression once, evaluate it for many devices.

A library parses and checks the text; `syntax` decodes the tree it gives, `evaluation` turns the tree into a function
over plain Python values; `operators`, `extensions` and `values` hold the language and what Kubernetes adds to it. Which
variables there are is for whoever compiles to say: device selectors, custom resources, admission policies.
Comprehensions of two variables, which upstream's environment has as well, are not known here: an expression that uses
them does not compile. Nor does one that compares literal numbers of different types (`1 < 2.5`), or makes a text of an
IP address, which nobody needs.
"""
