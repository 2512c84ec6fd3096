"""structlog for everybody who logs, without what it loads for a developer's terminal.

When it is imported it looks for a library that draws tracebacks, and spends more time on that than on itself. Nobody
here draws any: lines are made in `serving.logs`. Configures nothing.
"""

from __future__ import annotations

import sys

__all__ = ["structlog"]

_DRAWS_TRACEBACKS = "rich"

if _DRAWS_TRACEBACKS in sys.modules:
    import structlog
else:
    sys.modules[_DRAWS_TRACEBACKS] = None  # type: ignore[assignment]
    try:
        import structlog
    finally:
        del sys.modules[_DRAWS_TRACEBACKS]
