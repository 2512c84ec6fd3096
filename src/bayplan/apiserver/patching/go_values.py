"""Values as Go prints them, for refusals that quote them."""

import json
from typing import Any

_ESCAPES = str.maketrans({sign: f"\\u{ord(sign):04x}" for sign in "<>&\u2028\u2029"})


def go_text(value: Any) -> str:
    """The value as `%v` prints it: `map[a:1 b:[x y]]`."""
    match value:
        case None:
            return "<nil>"
        case bool():
            return "true" if value else "false"
        case dict():
            return "map[" + " ".join(f"{key}:{go_text(value[key])}" for key in sorted(value)) + "]"
        case list():
            return "[" + " ".join(map(go_text, value)) + "]"
        case float():
            return f"{value:g}"
        case _:
            return str(value)


def go_type(value: Any) -> str:
    """The type of the decoded value as `%s` prints it: `string`, `int64`, `[]interface {}`."""
    match value:
        case None:
            return "%!s(<nil>)"
        case dict():
            return "map[string]interface {}"
        case list():
            return "[]interface {}"
        case bool():
            return "bool"
        case str():
            return "string"
        case _:
            return "int64" if isinstance(value, int) else "float64"


def json_kind(value: Any) -> str:
    """What Go's JSON decoder calls the value: `array`, `object`, `string`, `number`, `bool`."""
    match value:
        case dict():
            return "object"
        case list():
            return "array"
        case str():
            return "string"
        case bool():
            return "bool"
        case None:
            return "null"
        case _:
            return "number"


def go_json(value: Any) -> str:
    """The value as Go's encoder writes it: members sorted, no spaces, safe inside HTML."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), sort_keys=True).translate(_ESCAPES)
