"""Admission policies in CEL: ValidatingAdmissionPolicy, MutatingAdmissionPolicy and their bindings.

`Policies` takes a write (`Attributes`) and gives the document as policies change it, or raises what they refuse. Which
policies apply is decided by `matching`, with which parameters by `params`; `expressions` compiles and evaluates,
`object_types` tells CEL's checker of the types. Nothing is stored here, and nothing else of admission is done.
"""
