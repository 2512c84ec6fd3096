"""Claims and volumes: binding, provisioning, and the claims of ephemeral volumes."""
