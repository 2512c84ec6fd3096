"""`-l`: objects chosen by their labels, as kubectl understands it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

from bayplan.apiserver.selecting.label_selectors import parse_label_selector
from bayplan.model.errors import Fault, InvalidObject
from bayplan.store.errors import BadRequest

LabelTest: TypeAlias = Callable[[Mapping[str, str]], bool]


def selected_by(text: str) -> LabelTest:
    """Whether labels match the selector; "" matches all. Raises InvalidObject for one that cannot be understood."""
    try:
        return parse_label_selector(text).matches
    except BadRequest as error:
        raise InvalidObject([Fault("", "", "--selector", error.message)]) from error
