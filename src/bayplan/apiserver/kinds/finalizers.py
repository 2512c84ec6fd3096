"""Finalizers that keep objects while they are in use."""

from __future__ import annotations

from bayplan.apiserver.admitting.documents import Document


def protect(document: Document, finalizer: str) -> None:
    """Adds the finalizer, once."""
    finalizers = document["metadata"].setdefault("finalizers", [])
    if finalizer not in finalizers:
        finalizers.append(finalizer)
