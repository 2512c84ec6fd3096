"""What a simulation is given: timelines and their commands, traces, node templates, defaults."""
