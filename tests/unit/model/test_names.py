"""The syntax of names: label keys, label values, extended resources."""

from __future__ import annotations

import pytest

from bayplan.model.names import extended_resource_faults, label_key_faults, label_value_faults


@pytest.mark.parametrize("name", ["a", "A_b.c-9", "example.com/gpu", "a" * 63, f"{'a.' * 126}a/b"])
def test_label_keys(name: str) -> None:
    assert label_key_faults(name) == ()


@pytest.mark.parametrize(
    "name", ["", "-a", "a-", "a b", "a/b/c", "/a", "a/", "UPPER.io/a", "a..b/c", "a" * 64, f"{'a' * 254}/b", "a\n"]
)
def test_what_is_no_label_key(name: str) -> None:
    assert label_key_faults(name) != ()


@pytest.mark.parametrize(("value", "valid"), [("", True), ("a.b", True), ("a/b", False), ("a" * 64, False)])
def test_label_values(value: str, valid: bool) -> None:
    assert (label_value_faults(value) == ()) is valid


@pytest.mark.parametrize(
    ("name", "valid"),
    [
        ("example.com/gpu", True),
        ("gpu", False),
        ("kubernetes.io/gpu", False),
        ("x.kubernetes.io/gpu", False),
        ("requests.example.com/gpu", False),
        (f"{'a' * 250}/b", False),
        ("bad name/x", False),
    ],
)
def test_extended_resources(name: str, valid: bool) -> None:
    assert (extended_resource_faults(name) == ()) is valid
