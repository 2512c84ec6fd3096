"""What can be set about the secure port, for those who only read options: nothing else is loaded for it."""

from __future__ import annotations

import ssl
from typing import Final

#: Paths that everybody may see.
ALWAYS_ALLOWED: Final = ("/healthz", "/readyz", "/livez")
#: The lowest version of TLS that is spoken, under Go's names. What is older than 1.2 is not spoken at all.
TLS_VERSIONS: Final = {
    "VersionTLS10": ssl.TLSVersion.TLSv1_2,
    "VersionTLS11": ssl.TLSVersion.TLSv1_2,
    "VersionTLS12": ssl.TLSVersion.TLSv1_2,
    "VersionTLS13": ssl.TLSVersion.TLSv1_3,
}
