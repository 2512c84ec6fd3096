"""Requests to an API server as plain data. Whoever takes them answers with an object, or throws a `RefusedError`.

Objects are given as structs, before and after a change: structs know only some of an object's fields, and what they do
not know is to stay as it was.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any, Final, TypeAlias, TypeVar

from bayplan.model.groups import PodGroup
from bayplan.model.kinds import Object
from bayplan.model.pod import Pod
from bayplan.model.structs import Struct

T = TypeVar("T")

NOT_FOUND: Final = 404
CONFLICT: Final = 409


class RefusedError(Exception):
    """The server said no, in these words. Status 0: the object is not what it was when the scheduler decided."""

    def __init__(self, message: str, status: int = 0) -> None:
        super().__init__(message)
        self.status = status


class Get(Struct, frozen=True, gc=False):
    """Read an object; the answer is the object."""

    kind: str
    key: str  # namespace/name


class Post(Struct, frozen=True, gc=False):
    """Create an object; the answer is the object as it is stored."""

    obj: Object


class Put(Struct, frozen=True, gc=False):
    """Write an object that was read, if it still has the version that `after` names; the answer is the object then."""

    before: Object
    after: Object
    subresource: str = ""  # "status", or all but the status


class PatchStatus(Struct, frozen=True, gc=False):
    """Write what differs between two statuses, whatever the version of the object; the two are of one kind."""

    before: Pod | PodGroup
    after: Pod | PodGroup


class RemoveUser(Struct, frozen=True, gc=False):
    """Take a user off a resource claim, whatever its version."""

    key: str  # namespace/name of the claim
    claim_uid: str  # "" if it is not known
    user_uid: str


class PostBinding(Struct, frozen=True, gc=False):
    """Assign a pod to a node."""

    key: str
    uid: str
    node: str


class Delete(Struct, frozen=True, gc=False):
    """Delete an object, with its own grace period."""

    kind: str
    key: str
    uid: str = ""  # only if the object has it


class Pause(Struct, frozen=True, gc=False):
    """Wait before the next request. Where no time passes within an action there is nothing to wait for."""

    duration_ns: int


Request: TypeAlias = Get | Post | Put | PatchStatus | RemoveUser | PostBinding | Delete | Pause
Steps: TypeAlias = Generator[Request, Any, T]
"""Yields requests and is sent their answers; a refusal is thrown into it."""

Known: TypeAlias = Callable[[str, str], Object | None]
"""An object as it is known without asking the server, by kind and `namespace/name`."""


def find(kind: str, key: str) -> Steps[Object | None]:
    """The object as the server has it, None if there is none."""
    try:
        found: Object = yield Get(kind, key)
    except RefusedError as error:
        if error.status != NOT_FOUND:
            raise
        return None
    return found
