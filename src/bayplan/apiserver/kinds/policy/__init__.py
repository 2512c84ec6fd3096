"""Kinds of policy."""
