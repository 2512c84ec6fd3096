"""Values (strings, sets of taints, kinds of pods) become integers, for as long as something in the cluster uses them.

Both classes count users: `take` adds one, `drop` removes one, and the last one takes the value with it. A `Vocabulary`
then gives the id to the next new value, so that ids stay small and can index arrays; what is worked out for each id is
good only while `version` stays. `Serials` never gives a number twice, so that a number can be the key of something that
outlives the value.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Generic, TypeVar

from bayplan.core.columns import ABSENT

Value = TypeVar("Value")


class Vocabulary(Generic[Value]):
    """A two-way table between values in use and small ids."""

    __slots__ = ("_blank", "_free_ids", "_ids", "_users", "values", "version")

    def __init__(self, blank: Value) -> None:
        """`blank` stands in `values` wherever an id is free."""
        self._blank = blank
        self._ids: dict[Value, int] = {}
        self._users: list[int] = []
        self._free_ids: list[int] = []
        self.values: list[Value] = []
        self.version = 0  # grows with every value that gets an id

    def __len__(self) -> int:
        """The length of an array with an entry for each id, free ones included."""
        return len(self.values)

    @property
    def in_use(self) -> int:
        """How many values there are."""
        return len(self._ids)

    def __iter__(self) -> Iterator[Value]:
        """The values in use."""
        return iter(self._ids)

    def take(self, value: Value) -> int:
        """The id of `value`, which has one more user from now on."""
        known = self._ids.get(value)
        if known is None:
            known = self._ids[value] = self._new_id(value)
        self._users[known] += 1
        return known

    def _new_id(self, value: Value) -> int:
        self.version += 1
        if self._free_ids:
            new = self._free_ids.pop()
            self.values[new] = value
            return new
        self.values.append(value)
        self._users.append(0)
        return len(self.values) - 1

    def drop(self, value_id: int) -> bool:
        """One user less; True if it was the last, and the id is free."""
        users = self._users[value_id] - 1
        assert users >= 0, f"nothing uses {value_id}"
        self._users[value_id] = users
        if users:
            return False
        del self._ids[self.values[value_id]]
        self.values[value_id] = self._blank
        self._free_ids.append(value_id)
        return True

    def find(self, value: Value) -> int:
        """The id of `value`, or ABSENT."""
        return self._ids.get(value, ABSENT)


class Serials(Generic[Value]):
    """Numbers for values in use. A value that comes back gets a new number."""

    __slots__ = ("_last", "_serials", "_users")

    def __init__(self) -> None:
        self._serials: dict[Value, int] = {}
        self._users: dict[int, tuple[Value, int]] = {}
        self._last = 0

    def __len__(self) -> int:
        return len(self._serials)

    def __contains__(self, serial: int) -> bool:
        """Whether the value with this number is still in use."""
        return serial in self._users

    def items(self) -> Iterator[tuple[Value, int]]:
        return iter(self._serials.items())

    def take(self, value: Value) -> int:
        """The number of `value`, which has one more user from now on."""
        serial = self._serials.get(value)
        if serial is None:
            self._last += 1
            serial = self._serials[value] = self._last
            self._users[serial] = (value, 1)
        else:
            self._users[serial] = (value, self._users[serial][1] + 1)
        return serial

    def drop(self, serial: int) -> None:
        """One user less."""
        value, users = self._users[serial]
        if users > 1:
            self._users[serial] = (value, users - 1)
        else:
            del self._users[serial], self._serials[value]
