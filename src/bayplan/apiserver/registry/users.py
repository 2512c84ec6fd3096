"""Who asks: the administrator, who has the token of the cluster, or a ServiceAccount with a token of its own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

AUTHENTICATED: Final = "system:authenticated"
_ACCOUNTS: Final = "system:serviceaccounts"


class UserInfo(NamedTuple):
    """An identity as reviews show it."""

    name: str
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: Mapping[str, tuple[str, ...]] = {}

    def document(self) -> dict[str, Any]:
        """As a UserInfo."""
        fields = {
            "username": self.name,
            "uid": self.uid,
            "groups": [*self.groups],
            "extra": {key: [*values] for key, values in self.extra.items()},
        }
        return {field: value for field, value in fields.items() if value}


ADMIN: Final = UserInfo("admin", "admin", ("system:masters", AUTHENTICATED))


def service_account(namespace: str, name: str, uid: str, extra: Mapping[str, tuple[str, ...]]) -> UserInfo:
    groups = (_ACCOUNTS, f"{_ACCOUNTS}:{namespace}", AUTHENTICATED)
    return UserInfo(f"system:serviceaccount:{namespace}:{name}", uid, groups, extra)
