"""Lets a field of a new document be what it was in the old one."""

from __future__ import annotations

from bayplan.apiserver.admitting.documents import Document


def keep(new: Document, old: Document, name: str) -> None:
    """Gives the field its old value, or none if it had none."""
    if name in old:
        new[name] = old[name]
    else:
        new.pop(name, None)
