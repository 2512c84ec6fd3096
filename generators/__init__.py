"""Programs that write files of the repository from published sources; `make` has a target for each."""
