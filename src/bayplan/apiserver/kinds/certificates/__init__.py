"""Kinds of certificates.k8s.io."""
