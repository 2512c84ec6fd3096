"""Owner references that a client has written twice are kept once, and the client is warned.

Upstream: apiserver/pkg/endpoints/handlers/rest.go dedupOwnerReferences (v1.36).
"""

from __future__ import annotations

from typing import Final

from bayplan.apiserver.admitting.documents import Document

_REPEATED: Final = (
    ".metadata.ownerReferences contains duplicate entries; API server dedups owner references in 1.20+, and may reject "
    "such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: "
)


def drop_repeated_owners(document: Document, warnings: list[str]) -> Document:
    """The document, in whose metadata no reference is left that came before."""
    references = document["metadata"].get("ownerReferences") or ()
    kept = [one for position, one in enumerate(references) if one not in references[:position]]
    if len(kept) < len(references):
        repeated = [one["uid"] for position, one in enumerate(references) if one in references[:position]]
        document["metadata"]["ownerReferences"] = kept
        warnings.append(_REPEATED + ", ".join(repeated))
    return document
