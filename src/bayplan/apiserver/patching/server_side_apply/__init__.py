"""Who owns which fields of an object (`metadata.managedFields`), and server-side apply.

`tracking.track` says who owns what after a create, update or patch; `applying.apply` merges an applied configuration
into an object, or refuses with the conflicts. Both take documents and a `Scope` (`scopes`), and give a new document.

Field sets are kept as the nested objects of `fieldsV1` themselves, so nothing is parsed on the way (`field_sets`,
`path_elements`). `shapes` says how values of a type split into fields; `comparing`, `extracting`, `merging` and
`removing` walk documents along a shape; `managed_fields` holds the entries; `scaling` carries ownership of replicas
between an object and its scale. No clock: `now` is an argument. No conversion between versions of a type: entries of
other versions are compared as if their fields had the same names.
"""
