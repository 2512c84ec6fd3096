"""HTML and SVG from elements: text is escaped because it is text, and only an element is markup.

Takes names, children and attributes. There is no way to make an element that runs something or has a style of its own:
a page's policy would refuse both, so that this fails before anybody sees the page.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from markupsafe import Markup, escape

from bayplan.report.hidden_characters import visible

#: Elements without content, and those of drawings that are written without an end if they have none.
_VOID: Final = frozenset({"br", "meta", "input", "img"})
_SHAPES: Final = frozenset({"rect", "path", "line", "image", "svg", "text"})

NOTHING: Final = Markup()


def tag(name: str, /, *children: Any, **attributes: Any) -> Markup:
    """An element. `class_` is `class`, `aria_label` is `aria-label`; None and False are left out, in both."""
    written = "".join(
        _attribute(key, value) for key, value in attributes.items() if value is not None and value is not False
    )
    content = joined(*children)
    if name in _VOID or (name in _SHAPES and not content):
        return Markup(f"<{name}{written}/>" if name in _SHAPES else f"<{name}{written}>")
    return Markup(f"<{name}{written}>{content}</{name}>")


def joined(*children: Any) -> Markup:
    """Elements and text one after another; lists are taken apart, text is escaped."""
    return Markup("".join(_content(child) for child in children))


def _content(child: Any) -> str:
    if isinstance(child, str):  # also an element, which is not escaped again
        return child if isinstance(child, Markup) else escape(visible(child))
    if child is None or child is False:
        return ""
    if isinstance(child, Iterable):
        return "".join(map(_content, child))
    return escape(f"{child:,}" if isinstance(child, int) else str(child))


def _attribute(key: str, value: Any) -> str:
    name = key.rstrip("_").replace("_", "-")
    assert name != "style", "a page's policy forbids styles of elements"
    assert not name.startswith("on"), "a page's policy forbids scripts of elements"
    return f" {name}" if value is True else f' {name}="{escape(visible(str(value)))}"'
