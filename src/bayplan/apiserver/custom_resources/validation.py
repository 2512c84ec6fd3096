"""Values against the schema of a custom resource, with upstream's sentences.

What has not changed since the last version of an object is not judged again, so that a stricter schema does not keep
old objects from being updated. Of several alternatives that all fail (`anyOf`, `oneOf`) the faults of the closest one
are reported. Upstream: kube-openapi/pkg/validation/validate (v1.36).
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, NamedTuple

from bayplan.apiserver.custom_resources import faults
from bayplan.apiserver.custom_resources.formats import has_format, is_of_texts, matches_pattern
from bayplan.apiserver.custom_resources.structural import UNSET, Schema
from bayplan.apiserver.json_paths import value_text
from bayplan.store.errors import StatusCause

_INT32 = range(-(2**31), 2**31)
_FORMATS_OF_NUMBERS = {int: "int64", float: "float64"}


class SchemaVerdict(NamedTuple):
    """What is wrong, and how many checks went well: the closest of several alternatives has most."""

    causes: list[StatusCause]
    passed: int


def schema_faults(value: Any, schema: Schema, path: str = "", old: Any = UNSET) -> list[StatusCause]:
    """All that the schema finds wrong with a value; `old` is what stood there before an update."""
    return _judge(value, schema, path, old).causes


def _judge(value: Any, schema: Schema, path: str, old: Any) -> SchemaVerdict:
    if old is not UNSET and _same(value, old):
        return SchemaVerdict([], 0)
    if value is None:
        return SchemaVerdict([*_null_faults(schema, path), *_enum_faults(None, schema, path)], 1)
    causes: list[StatusCause] = []
    passed = 1
    for check in _checks(value, schema):
        found = check(value, schema, path, old)
        causes += found.causes
        passed += found.passed + 1
    return SchemaVerdict(causes, passed)


def _same(value: Any, old: Any) -> bool:
    """Equal in type as well, however deep: Python takes true for one."""
    if value is old:
        return True
    if type(value) is not type(old):
        return False
    if isinstance(value, dict):
        return value.keys() == old.keys() and all(_same(item, old[key]) for key, item in value.items())
    if isinstance(value, list):
        return len(value) == len(old) and all(map(_same, value, old))
    return bool(value == old)


_Check = Callable[[Any, Schema, str, Any], SchemaVerdict]


def _checks(value: Any, schema: Schema) -> list[_Check]:
    """Those that apply, in upstream's order."""
    checks: list[_Check] = []
    if schema.types or schema.format:
        checks.append(_check_type)
    checks.append(_check_alternatives)
    if isinstance(value, str):
        checks.append(_check_text)
        if is_of_texts(schema.format):
            checks.append(_check_format)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        checks.append(_check_number)
    elif isinstance(value, list):
        checks.append(_check_list)
    checks.append(_check_enum)
    if isinstance(value, dict):
        checks.append(_check_object)
    return checks


def _in_body(path: str, text: str) -> str:
    return f"{path.removeprefix('.')} in body {text}"


# ---------------------------------------------------------------- types


def _type_of(value: Any) -> str:
    names = ((bool, "boolean"), (str, "string"), (int, "integer"), (float, "number"), (list, "array"), (dict, "object"))
    return next(name for kind, name in names if isinstance(value, kind))


def _null_faults(schema: Schema, path: str) -> list[StatusCause]:
    return [_wrong_type(path, ",".join(schema.types), "null")] if schema.types and not schema.is_nullable else []


def _wrong_type(path: str, wanted: str, found: str) -> StatusCause:
    return faults.type_invalid(path, found, _in_body(path, f"must be of type {wanted}: {json.dumps(found)}"))


def _check_type(value: Any, schema: Schema, path: str, _old: Any) -> SchemaVerdict:
    found, wanted = _type_of(value), schema.types
    is_number_of_other_kind = (found == "number" and "integer" in wanted and float(value).is_integer()) or (
        found == "integer" and "number" in wanted
    )
    if found in wanted or is_number_of_other_kind:
        return SchemaVerdict([], 1)
    is_text_or_list = isinstance(value, str | list)
    if schema.format and not is_text_or_list:
        return SchemaVerdict([_wrong_type(path, schema.format, _FORMATS_OF_NUMBERS.get(type(value), ""))], 0)
    if schema.format and "integer" not in wanted and "number" not in wanted:
        # Upstream leaves values of a format to the check of the format.
        return SchemaVerdict([], 1)
    return SchemaVerdict([_wrong_type(path, ",".join(wanted), found)] if wanted else [], 0)


# ---------------------------------------------------------------- alternatives


def _check_alternatives(value: Any, schema: Schema, path: str, old: Any) -> SchemaVerdict:
    causes: list[StatusCause] = []
    passed = 1
    for found in (
        _any_of(value, schema, path, old),
        _one_of(value, schema, path, old),
        _all_of(value, schema, path, old),
    ):
        causes += found.causes
        passed += found.passed
    if schema.not_schema is not None and not _judge(value, schema.not_schema, path, old).causes:
        causes.append(_about_all(path, "must not validate the schema (not)"))
    return SchemaVerdict(causes, passed)


def _about_all(path: str, text: str) -> StatusCause:
    """Upstream gives such a fault no field, and names it in the text."""
    return faults.invalid("", "", f"{json.dumps(path.removeprefix('.'), ensure_ascii=False)} {text}")


def _any_of(value: Any, schema: Schema, path: str, old: Any) -> SchemaVerdict:
    best: SchemaVerdict | None = None
    for alternative in schema.any_of:
        found = _judge(value, alternative, path, old)
        if not found.causes:
            return found
        if best is None or found.passed > best.passed:
            best = found
    if best is None:
        return SchemaVerdict([], 0)
    return SchemaVerdict([_about_all(path, "must validate at least one schema (anyOf)"), *best.causes], best.passed)


def _one_of(value: Any, schema: Schema, path: str, old: Any) -> SchemaVerdict:
    if not schema.one_of:
        return SchemaVerdict([], 0)
    judged = [_judge(value, alternative, path, old) for alternative in schema.one_of]
    valid = [found for found in judged if not found.causes]
    if len(valid) == 1:
        return valid[0]
    problem = "must validate one and only one schema (oneOf). "
    if valid:
        return SchemaVerdict([_about_all(path, f"{problem}Found {len(valid)} valid alternatives")], 0)
    best = max(judged, key=lambda found: found.passed)
    return SchemaVerdict([_about_all(path, f"{problem}Found none valid"), *best.causes], best.passed)


def _all_of(value: Any, schema: Schema, path: str, old: Any) -> SchemaVerdict:
    judged = [_judge(value, part, path, old) for part in schema.all_of]
    causes = [cause for found in judged for cause in found.causes]
    if causes:
        none_valid = "" if any(not found.causes for found in judged) else ". None validated"
        causes.append(_about_all(path, f"must validate all the schemas (allOf){none_valid}"))
    return SchemaVerdict(causes, sum(found.passed for found in judged))


# ---------------------------------------------------------------- values


def _check_text(value: str, schema: Schema, path: str, _old: Any) -> SchemaVerdict:
    rules = schema.source
    longest, shortest, pattern = rules.get("maxLength"), rules.get("minLength"), rules.get("pattern")
    causes: list[StatusCause] = []
    if longest is not None and len(value) > longest:
        causes = [faults.too_long(path, longest)]
    elif shortest is not None and len(value) < shortest:
        causes = [faults.invalid(path, value, _in_body(path, f"should be at least {shortest} chars long"))]
    elif pattern and not matches_pattern(value, pattern):
        causes = [faults.invalid(path, value, _in_body(path, f"should match '{pattern}'"))]
    return SchemaVerdict(causes, 0)


def _check_format(value: str, schema: Schema, path: str, _old: Any) -> SchemaVerdict:
    return SchemaVerdict([] if has_format(value, schema.format) else [_wrong_type(path, schema.format, value)], 0)


def _check_number(value: float, schema: Schema, path: str, _old: Any) -> SchemaVerdict:
    rules = schema.source
    causes: list[StatusCause] = []
    if schema.format == "int32" and int(value) not in _INT32:
        text = f"Checked value must be of type integer with format int32 in {path.removeprefix('.')}"
        causes.append(faults.invalid("", "", text))
    factor, least, most = rules.get("multipleOf"), rules.get("minimum"), rules.get("maximum")
    if factor and not _is_multiple(value, factor):
        causes.append(_beyond(path, value, "a multiple of", factor))
    if least is not None:
        is_open = bool(rules.get("exclusiveMinimum"))
        if value < least or (is_open and value == least):
            causes.append(_beyond(path, value, "greater than" if is_open else "greater than or equal to", least))
    if most is not None:
        is_open = bool(rules.get("exclusiveMaximum"))
        if value > most or (is_open and value == most):
            causes.append(_beyond(path, value, "less than" if is_open else "less than or equal to", most))
    return SchemaVerdict(causes, 1)


def _is_multiple(value: float, factor: float) -> bool:
    ratio = value / factor
    return abs(ratio - round(ratio)) < 1e-9


def _beyond(path: str, value: float, words: str, bound: float) -> StatusCause:
    """A bound is written in the type of the value."""
    return faults.invalid(path, value, _in_body(path, f"should be {words} {value_text(type(value)(bound))}"))


def _check_enum(value: Any, schema: Schema, path: str, _old: Any) -> SchemaVerdict:
    return SchemaVerdict(_enum_faults(value, schema, path), 0)


def _enum_faults(value: Any, schema: Schema, path: str) -> list[StatusCause]:
    if not schema.enum or any(_equals(value, allowed) for allowed in schema.enum):
        return []
    return [faults.unsupported(path, value, schema.enum)]


def _equals(value: Any, allowed: Any) -> bool:
    return value is not None and isinstance(value, bool) is isinstance(allowed, bool) and bool(value == allowed)


# ---------------------------------------------------------------- lists and objects


def _check_list(value: list[Any], schema: Schema, path: str, old: Any) -> SchemaVerdict:
    causes: list[StatusCause] = []
    passed = 1
    if schema.items is not None:
        old_items = _old_items(schema, old)
        for position, item in enumerate(value):
            old_item = old_items.get(_key_of(item, schema), UNSET) if old_items else UNSET
            found = _judge(item, schema.items, f"{path}[{position}]", old_item)
            causes += found.causes
            passed += found.passed
    least, most = schema.source.get("minItems"), schema.source.get("maxItems")
    if least is not None and len(value) < least:
        causes.append(faults.invalid(path, len(value), _in_body(path, f"should have at least {least} items")))
    if most is not None and len(value) > most:
        causes.append(faults.too_many(path, len(value), most))
    return SchemaVerdict(causes, passed)


def _old_items(schema: Schema, old: Any) -> dict[str, Any]:
    """Items of a list that is a map can be told apart, those of other lists cannot."""
    if schema.list_type != "map" or not isinstance(old, list):
        return {}
    return {_key_of(item, schema): item for item in old}


def _key_of(item: Any, schema: Schema) -> str:
    values = {key: item.get(key) for key in schema.list_map_keys} if isinstance(item, dict) else item
    return json.dumps(values, sort_keys=True)


def _check_object(value: dict[str, Any], schema: Schema, path: str, old: Any) -> SchemaVerdict:
    least, most = schema.source.get("minProperties"), schema.source.get("maxProperties")
    causes: list[StatusCause] = []
    if least is not None and len(value) < least:
        causes.append(faults.invalid(path, len(value), _in_body(path, f"should have at least {least} properties")))
    if most is not None and len(value) > most:
        causes.append(faults.too_many(path, len(value), most))
    passed = 0
    for key, item in value.items():
        inner = schema.of_field(key)
        if inner is not None:
            old_item = old.get(key, UNSET) if isinstance(old, dict) else UNSET
            found = _judge(item, inner, f"{path}.{key}", old_item)
            causes += found.causes
            passed += found.passed
    causes += [faults.required(f"{path}.{key}") for key in schema.required if key not in value]
    return SchemaVerdict(causes, passed)
