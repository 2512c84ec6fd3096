"""What is kept while a simulation runs: pods and nodes, preemptions, figures over time."""
