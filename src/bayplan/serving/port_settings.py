"""What can be set about the secure port, for those who only read options: nothing else is loaded for it."""

from __future__ import annotations

import ssl
from typing import Final

#: Paths that everybody may see.
ALWAYS_ALLOWED: Final = ("/healthz", "/readyz", "/livez")
#: The lowest version of TLS that is spoken, under Go's names; the first is the default.
TLS_VERSIONS: Final = {"VersionTLS12": ssl.TLSVersion.TLSv1_2, "VersionTLS13": ssl.TLSVersion.TLSv1_3}
