"""Custom resources: what a CustomResourceDefinition says about its objects, and what becomes of them because of it.

`definitions` reads a definition: which resources it serves, and its status once it is established. `versions` is what
one served version does to documents on their way in: `pruning`, `defaulting`, then `validation` against the schema,
`lists` that must not repeat themselves, and `rules` in CEL. All pure. Whether the definition itself is valid, and where
objects are stored, is decided elsewhere; conversion between versions is the strategy None: only apiVersion changes.
"""
