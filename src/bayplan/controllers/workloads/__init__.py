"""Controllers of the objects that create pods, and the questions about the pods they would create."""
