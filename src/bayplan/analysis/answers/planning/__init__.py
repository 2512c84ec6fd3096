"""The cheapest nodes of a catalog for pods: `bayplan plan`. A solver proposes, the scheduler's decisions verify."""
