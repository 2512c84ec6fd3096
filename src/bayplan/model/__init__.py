"""Kubernetes objects as narrow structs, their quantities, selectors and tolerations, and reading them.

In the order in which data flows: `reading` opens files, `conversion` makes objects of their JSON or
`yaml_documents`, `checks` looks through them, and `errors` name file, object and field of all that is wrong.
`kinds` lists the objects (`pod`, `node`, `workloads`, `storage`, `policy`, `cluster`, over `meta` and `volumes`).
`quantity`, `selectors` (over `names`), `tolerations`, `conditions`, `timestamps`, `durations` and `cron_schedules` give
meaning to what they keep as written; `well_known` and `time_units` hold names and numbers that all share.
Nothing is defaulted here beyond the namespace: that is the work of `bayplan.admission`.
"""
