"""Parts of lists in strategic merge patches: keys of items, directives among them, and the order they end up in.

Takes lists as they are in a document or a patch and a merge key (empty for scalars); gives new lists. How two items
merge is decided in `strategic_merge`.
"""

from typing import Any

from bayplan.apiserver.patching.go_values import go_text
from bayplan.store.errors import InternalError

DIRECTIVE = "$patch"


def has_directive(value: Any) -> bool:
    return isinstance(value, dict) and DIRECTIVE in value


def unknown_directive(patch: dict[str, Any]) -> InternalError:
    return InternalError(f"unknown patch type: {go_text(patch[DIRECTIVE])} in map: {go_text(patch)}")


def key_of(item: Any, merge_key: str) -> Any:
    """What tells the item from others: its merge key's value, or itself."""
    if not merge_key:
        return item
    if not isinstance(item, dict):
        raise InternalError("expected a map[string]interface {}, but received a " + type(item).__name__)
    if merge_key not in item:
        raise InternalError(f"map: {go_text(item)} does not contain declared merge key: {merge_key}")
    return item[merge_key]


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
                original = [candidate for candidate in original if candidate.get(merge_key) != deleted]
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
    wanted_keys = [key_of(item, merge_key) for item in wanted]
    live_keys = [key_of(item, merge_key) for item in live]
    keyed = [(key_of(item, merge_key), item) for item in items]
    mentioned = sorted((pair for pair in keyed if pair[0] in wanted_keys), key=lambda pair: wanted_keys.index(pair[0]))
    others = [pair for pair in keyed if pair[0] not in wanted_keys]
    others.sort(key=lambda pair: live_keys.index(pair[0]) if pair[0] in live_keys else len(live_keys))
    ordered = []
    for key, item in mentioned:
        while others and _stands_before(others[0][0], key, live_keys):
            ordered.append(others.pop(0)[1])
        ordered.append(item)
    return ordered + [item for _, item in others]


def _stands_before(first: Any, second: Any, keys: list[Any]) -> bool:
    return first in keys and second in keys and keys.index(first) < keys.index(second)
