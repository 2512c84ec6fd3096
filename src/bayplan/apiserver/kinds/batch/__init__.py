"""Kinds of batch."""
