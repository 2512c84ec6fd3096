"""Parts of lists in strategic merge patches: keys of items, directives among them, and the order they end up in.

Takes lists as they are in a document or a patch and a merge key (empty for scalars); gives new lists. How two items
merge is decided in `strategic_merge`.
"""

from collections import deque
from typing import Any

from bayplan.apiserver.patching.go_values import go_json, go_text, go_type
from bayplan.store.errors import InternalError

DIRECTIVE = "$patch"


def has_directive(value: Any) -> bool:
    return isinstance(value, dict) and DIRECTIVE in value


def unknown_directive(patch: dict[str, Any]) -> InternalError:
    return InternalError(f"unknown patch type: {go_text(patch[DIRECTIVE])} in map: {go_text(patch)}")


def key_of(item: Any, merge_key: str) -> Any:
    """What tells the item from others, as something hashable: its merge key's value, or itself."""
    if not merge_key:
        return _hashable(item)
    if not isinstance(item, dict):
        raise InternalError(f"expected a map[string]interface {{}}, but received a {go_type(item)}")
    if merge_key not in item:
        raise InternalError(f"map: {go_text(item)} does not contain declared merge key: {merge_key}")
    return _hashable(item[merge_key])


def _hashable(value: Any) -> Any:
    return go_json(value) if isinstance(value, dict | list) else value


def without_directives(value: Any) -> Any:
    """The value without objects that are directives, at any depth."""
    if isinstance(value, dict):
        return {key: without_directives(member) for key, member in value.items() if not has_directive(member)}
    if isinstance(value, list):
        return [without_directives(item) for item in value if not has_directive(item)]
    return value


def without_deleted(
    original: list[Any], patch: list[dict[str, Any]], merge_key: str
) -> tuple[list[Any], list[dict[str, Any]]]:
    """Both lists after the directives among the patch's items: what is left of the original, and what is to merge."""
    plain = [item for item in patch if DIRECTIVE not in item]
    replaces = False
    for item in patch:
        match item.get(DIRECTIVE):
            case None:
                continue
            case "delete":
                deleted = key_of(item, merge_key)
                original = [item for item in original if _hashable(item.get(merge_key)) != deleted]
            case "replace":
                replaces = True
            case "merge":
                raise InternalError("merging lists cannot yet be specified in the patch")
            case _:
                raise unknown_directive(item)
    return (plain, []) if replaces else (original, plain)


def put_in_order(items: list[Any], wanted: list[Any], live: list[Any], merge_key: str) -> list[Any]:
    """The items in the order wanted; those it does not mention where they were, as far as that can be.

    Each unmentioned item goes before the first mentioned one, from the last insertion on, that stands behind it in the
    live list.
    """
    places, live_places = _places(wanted, merge_key), _places(live, merge_key)
    keyed = [(key_of(item, merge_key), item) for item in items]
    mentioned = sorted((pair for pair in keyed if pair[0] in places), key=lambda pair: places[pair[0]])
    others = deque(
        sorted(
            (pair for pair in keyed if pair[0] not in places),
            key=lambda pair: live_places.get(pair[0], len(live_places)),
        )
    )
    ordered = []
    for key, item in mentioned:
        place = live_places.get(key, -1)
        while others and live_places.get(others[0][0], place) < place:
            ordered.append(others.popleft()[1])
        ordered.append(item)
    return ordered + [item for _, item in others]


def _places(items: list[Any], merge_key: str) -> dict[Any, int]:
    """The first place of each key."""
    places: dict[Any, int] = {}
    for place, item in enumerate(items):
        places.setdefault(key_of(item, merge_key), place)
    return places
