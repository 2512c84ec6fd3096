"""Checks of pods and of the templates of pods. `spec` is where to start; the other files are its parts.

All take a part of a document that has its defaults, and add what is wrong with it to the faults, in the order and
words of the real server. Upstream: pkg/apis/core/validation/validation.go (v1.36).
"""
