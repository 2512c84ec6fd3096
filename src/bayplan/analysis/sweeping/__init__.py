"""Many runs of one story under many settings.

Takes a cluster and axes (`axes`), makes a list of runs out of them (`design`), lets an engine do them (`local_engine`,
`ray_engine`), keeps what was found (`run_store`) and says what differs (`statistics`). A run is what `simulate` gives.
"""
