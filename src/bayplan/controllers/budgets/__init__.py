"""PodDisruptionBudgets: the status a budget should have (`status`), and the controller that writes it."""
