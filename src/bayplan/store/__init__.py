"""API objects with versions, a watch log, conflicts, finalizers and graceful deletion; in memory, without HTTP.

In the order in which a write flows: `objects` is the front door (`Store`), `arriving`, `updating`, `deleting` and
`pods` decide what becomes of a write, `content` keeps what is stored and `log` tells watchers. `rules` says what
is special about kinds, `stamping` makes names and uids, `errors` has the refusals in the server's words.
"""

from bayplan.store.deleting import BACKGROUND, FOREGROUND, ORPHAN
from bayplan.store.errors import (
    AlreadyExists,
    ApiError,
    BadRequest,
    Conflict,
    Forbidden,
    Gone,
    InternalError,
    Invalid,
    NotFound,
    Timeout,
)
from bayplan.store.log import Cursor, WatchEvent, WatchLog
from bayplan.store.objects import DeletionResult, ListedObjects, Store

__all__ = [
    "BACKGROUND",
    "FOREGROUND",
    "ORPHAN",
    "AlreadyExists",
    "ApiError",
    "BadRequest",
    "Conflict",
    "Cursor",
    "DeletionResult",
    "Forbidden",
    "Gone",
    "InternalError",
    "Invalid",
    "ListedObjects",
    "NotFound",
    "Store",
    "Timeout",
    "WatchEvent",
    "WatchLog",
]
