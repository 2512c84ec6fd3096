"""Outcomes of patches as text: what a patch leads through is sorted, all else stays as it was written."""

import pytest

from bayplan.apiserver.patching.lazy_json import json_patched_text, merge_patched_text

DOCUMENT = '{"kind":"A","b":{"z":1,"a":[{"y":1,"x":2}]},"a":{"d":1,"c":2}}'


@pytest.mark.parametrize(
    ("patch", "expected"),
    [
        ("{}", '{"a":{"d":1,"c":2},"b":{"z":1,"a":[{"y":1,"x":2}]},"kind":"A"}'),
        ('{"a": {"e": 1.50}}', '{"a":{"c":2,"d":1,"e":1.50},"b":{"z":1,"a":[{"y":1,"x":2}]},"kind":"A"}'),
        ('{"a": [{"z": 1, "y": null}], "b": null}', '{"a":[{"z":1,"y":null}],"kind":"A"}'),
        ('{"new": {"z": [{"y": 1, "n": null, "b": null}]}, "b": null}', None),
        ('{"kind": {"z": 1, "a": null}, "b": null, "a": null}', '{"kind":{"z":1}}'),
        ('{"a": "\\u00e9<\u2028", "b": null}', '{"a":"\\u00e9\\u003c\\u2028","kind":"A"}'),
    ],
)
def test_merge_patches(patch: str, expected: str | None) -> None:
    expected = expected or '{"a":{"d":1,"c":2},"kind":"A","new":{"z":[{"y":1}]}}'
    assert merge_patched_text(DOCUMENT, patch) == expected


@pytest.mark.parametrize(
    ("operations", "expected"),
    [
        ("null", '{"a":{"d":1,"c":2},"b":{"z":1,"a":[{"y":1,"x":2}]},"kind":"A"}'),
        (
            '[{"op":"remove","path":"/b"},{"op":"add","path":"/a/b","value":null}]',
            '{"a":{"b":null,"c":2,"d":1},"kind":"A"}',
        ),
        ('[{"op":"replace","path":"/b/a/0/z","value":{"q":1, "p":2}},{"op":"remove","path":"/a"}]', None),
        ('[{"op":"move","from":"/b/a","path":"/a"},{"op":"remove","path":"/b"}]', '{"a":[{"y":1,"x":2}],"kind":"A"}'),
        (
            '[{"op":"copy","from":"/b/a/-1","path":"/b/a/-"},{"op":"remove","path":"/a"}]',
            '{"b":{"a":[{"y":1,"x":2},{"y":1,"x":2}],"z":1},"kind":"A"}',
        ),
        (
            '[{"op":"test","path":"/a","value":{"c":2,"d":1}},{"op":"remove","path":"/b"}]',
            '{"a":{"c":2,"d":1},"kind":"A"}',
        ),
        ('[{"op":"test","path":"","value":{}},{"op":"remove","path":"/b"}]', '{"a":{"c":2,"d":1},"kind":"A"}'),
        ('[{"op":"replace","path":"","value":{"z":1,"a":{"y":1,"x":2}}}]', '{"a":{"y":1,"x":2},"z":1}'),
    ],
)
def test_json_patches(operations: str, expected: str | None) -> None:
    expected = expected or '{"b":{"a":[{"x":2,"y":1,"z":{"q":1,"p":2}}],"z":1},"kind":"A"}'
    assert json_patched_text(DOCUMENT, operations) == expected
