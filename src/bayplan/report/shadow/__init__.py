"""What a scheduler in the shadow found out, for people."""
