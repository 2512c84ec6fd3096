"""What a running scheduler counts and times, under upstream's names, as Prometheus text.

`families` is the table of names, labels and buckets; `tallies` holds the numbers; `attempts`, `plugin_timings`,
`scheduler_state` and `rest_client` fill them; `own` has what upstream does not; `registry` puts all of it together and
renders it. Nothing here changes what the scheduler does.
"""
