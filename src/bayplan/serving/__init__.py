"""What a running scheduler shows of itself over HTTP: health, metrics, debug pages. Decides and writes nothing."""
