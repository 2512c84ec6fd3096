"""Faults of a document, collected as an API server words them.

A `Faults` is filled by the checks of this package, in the server's order, and is the list of causes of an Invalid.
Values are shown as Go shows them: texts in quotes, everything else as JSON. Which values are at fault is
decided elsewhere.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from bayplan.apiserver.admitting.documents import Document, Path, is_emptied
from bayplan.apiserver.admitting.release import admission_release
from bayplan.store.errors import (
    DUPLICATE,
    FORBIDDEN,
    INVALID,
    NOT_FOUND,
    REQUIRED,
    TOO_LONG,
    TOO_MANY,
    UNSUPPORTED,
    StatusCause,
    field_cause,
)

IMMUTABLE = "field is immutable"
NEGATIVE = "must be greater than or equal to 0"
NOT_POSITIVE = "must be greater than zero"


class Faults(list[StatusCause]):
    """The faults found so far."""

    def __init__(self) -> None:
        super().__init__()
        self._declared: DeclaredFaults | None = None

    @property
    def declared(self) -> Faults:
        """For what the types of the API declare themselves: `declared.required(path)` where a field may not be empty.

        Where the server checks its declarations, their faults come after all others and in their own words.
        """
        if not admission_release().declarations_report:
            return self
        if self._declared is None:
            self._declared = DeclaredFaults()
        return self._declared

    def settled(self) -> list[StatusCause]:
        """All of them, in the order in which the server lists them."""
        if not admission_release().declarations_report:
            return [*self]
        return [*dict.fromkeys((*self, *(self._declared or ())))]

    def required(self, path: Path, text: str = "") -> None:
        self.append(StatusCause(REQUIRED, f"Required value: {text}" if text else "Required value", path))

    def invalid(self, path: Path, value: Any, text: str) -> None:
        self.append(field_cause(INVALID, path, f"{shown(value)}: {text}" if text else shown(value)))

    def invalid_whole(self, path: Path, text: str) -> None:
        """Of a part that is too large to be shown."""
        self.append(field_cause(INVALID, path, text))

    def all_invalid(self, path: Path, value: Any, texts: Iterable[str]) -> None:
        for text in texts:
            self.invalid(path, value, text)

    def forbidden(self, path: Path, text: str) -> None:
        self.append(field_cause(FORBIDDEN, path, text))

    def unsupported(self, path: Path, value: Any, supported: Iterable[str]) -> None:
        listed = ", ".join(shown(choice) for choice in supported)
        self.append(field_cause(UNSUPPORTED, path, f"{shown(value)}: supported values: {listed}"))

    def duplicate(self, path: Path, value: Any, text: str = "") -> None:
        self.append(field_cause(DUPLICATE, path, f"{shown(value)}: {text}" if text else shown(value)))

    def not_found(self, path: Path, value: Any, text: str = "") -> None:
        self.append(field_cause(NOT_FOUND, path, f"{shown(value)}: {text}" if text else shown(value)))

    def too_long(self, path: Path, length_max: int, unit: str = "bytes") -> None:
        self.append(field_cause(TOO_LONG, path, f"may not be more than {length_max} {unit}"))

    def too_many(self, path: Path, count: int, count_max: int) -> None:
        items = "item" if count_max == 1 else "items"
        self.append(field_cause(TOO_MANY, path, f"{count}: must have at most {count_max} {items}"))

    def immutable(self, path: Path, new: Any, old: Any, value: Any = None) -> None:
        """A fault where the two differ; `value` is what is shown in place of the new one."""
        if new != old:
            self.invalid(path, new if value is None else value, IMMUTABLE)

    def not_negative(self, path: Path, number: int | None) -> None:
        if number is not None and number < 0:
            self.invalid(path, number, NEGATIVE)

    def named(self, path: Path, name: str | None, rule: Callable[[str], tuple[str, ...]], text: str = "") -> None:
        """A fault for a missing name, and those of the rule for any other."""
        if not name:
            self.required(path, text)
        else:
            self.all_invalid(path, name, rule(name))

    def named_if_given(self, path: Path, name: str | None, rule: Callable[[str], tuple[str, ...]]) -> None:
        if name:
            self.all_invalid(path, name, rule(name))

    def supported(self, path: Path, value: str | None, supported: Iterable[str]) -> None:
        """A fault unless the value is missing or one of the supported ones; an empty one is none of them."""
        if value is not None and value not in supported:
            self.unsupported(path, value, supported)

    def one_of(self, path: Path, value: str | None, supported: Iterable[str]) -> None:
        """A fault unless the value is one of the supported ones; an empty one is missing."""
        if not value:
            self.required(path)
        elif value not in supported:
            self.unsupported(path, value, supported)


class DeclaredFaults(Faults):
    """Faults as declarations word them: they give no reasons, and do not show what may not change."""

    def required(self, path: Path, text: str = "") -> None:  # noqa: ARG002 - what is checked by hand says why
        super().required(path)

    def forbidden(self, path: Path, text: str) -> None:  # noqa: ARG002 - likewise
        self.append(StatusCause(FORBIDDEN, "Forbidden", path))

    def immutable(self, path: Path, new: Any, old: Any, value: Any = None) -> None:  # noqa: ARG002 - likewise
        if new != old:
            self.invalid(path, None, IMMUTABLE)


def shown_labels(labels: Mapping[str, str]) -> dict[str, str] | None:
    """A map as Go shows it: in the order of its keys, and null where there is none."""
    return dict(sorted(labels.items())) or None


def shown_labels_of(template: Document) -> dict[str, str] | None:
    """The labels of a template as Go shows them: where there are none, as they were given."""
    metadata = template.get("metadata", {})
    return {} if is_emptied(metadata, "labels") else shown_labels(metadata.get("labels", {}))


def shown_selector(selector: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """A label selector as Go shows it."""
    if selector is None:
        return None
    made: dict[str, Any] = {}
    if selector.get("matchLabels"):
        made["matchLabels"] = shown_labels(selector["matchLabels"])
    if selector.get("matchExpressions"):
        made["matchExpressions"] = [
            {name: one[name] for name in ("key", "operator", "values") if name in one}
            for one in selector["matchExpressions"]
        ]
    return made


def shown(value: Any) -> str:
    """As Go writes it: compact JSON, in which Go escapes what could close a script."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    if isinstance(value, str):
        return text
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")
