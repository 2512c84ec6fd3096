"""Secrets for TLS that hold no certificate or no key. Upstream: pkg/registry/core/secret/strategy.go (v1.36)."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator
from typing import Final

from bayplan.apiserver.admitting.documents import Document
from bayplan.apiserver.admitting.validation.core import TLS_SECRET

_BLOCK: Final = re.compile(rb"^-----BEGIN [^\n]+-----\r?$.*?^-----END [^\n]+-----\r?$", re.DOTALL | re.MULTILINE)


def warn_of_secret(secret: Document, _old: Document | None) -> Iterator[str]:
    if secret.get("type") != TLS_SECRET:
        return
    data = secret.get("data") or {}
    for key, what in (("tls.crt", "certificate"), ("tls.key", "key")):
        if _BLOCK.search(base64.b64decode(data.get(key) or "")) is None:
            yield f"tls: failed to find any PEM data in {what} input"
            return
