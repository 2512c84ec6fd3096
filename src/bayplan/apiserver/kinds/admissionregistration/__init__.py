"""Kinds of admissionregistration.k8s.io."""
