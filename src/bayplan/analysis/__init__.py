"""Questions about a cluster: why is this pod pending, what if I applied that."""
