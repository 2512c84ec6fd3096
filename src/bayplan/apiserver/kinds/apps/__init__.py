"""Kinds of apps."""
