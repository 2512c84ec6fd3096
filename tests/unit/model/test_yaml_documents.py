"""YAML: scalars as Kubernetes reads them, anchors, and what is refused."""

from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from bayplan.model.yaml_documents import RepeatedKey, YamlError, parse_yaml, resolve_plain


def parse(text: str) -> list[Any]:
    return list(parse_yaml(text.encode()))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("", None),
        ("~", None),
        ("null", None),
        ("true", True),
        ("yes", True),
        ("Off", False),
        ("0", 0),
        ("12", 12),
        ("-3", -3),
        ("+3", 3),
        ("1_000", 1000),
        ("0x1F", 31),
        ("010", 8),
        ("0o10", 8),
        ("0b101", 5),
        ("-0x10", -16),
        ("089", "089"),
        ("1.5", 1.5),
        (".5", 0.5),
        ("1.", 1.0),
        ("-1.5e3", -1500.0),
        ("1e3", "1e3"),
        (".", "."),
        ("-", "-"),
        ("1.2.3", "1.2.3"),
        ("12:30:45", "12:30:45"),
        ("2026-01-01T00:00:00Z", "2026-01-01T00:00:00Z"),
        ("2026-01-01", "2026-01-01"),
        ("500m", "500m"),
        ("1Gi", "1Gi"),
        ("=", "="),
        ("y", "y"),
        ("9" * 2_000, "9" * 2_000),
    ],
)
def test_plain_scalars(text: str, value: Any) -> None:
    """Unquoted scalars become null, booleans or numbers; times and digits with colons stay text."""
    resolved = resolve_plain(text)
    assert resolved == value
    assert type(resolved) is type(value)


@pytest.mark.parametrize(
    ("text", "documents"),
    [
        pytest.param("", [], id="nothing"),
        pytest.param("# only a comment\n", [], id="comment"),
        pytest.param("---\n---\na: 1\n...\n---\nb: 2\n", [None, {"a": 1}, {"b": 2}], id="documents"),
        pytest.param("a: '1'\nb: \"2\"\nc: |\n  3\n", [{"a": "1", "b": "2", "c": "3\n"}], id="quoted-stays-text"),
        pytest.param("- 1\n- [2, {a: }]\n", [[1, [2, {"a": None}]]], id="nested"),
        pytest.param(
            "a: !!str 1\nb: !!int '2'\nc: !!float 3\nd: ! 4", [{"a": "1", "b": 2, "c": 3.0, "d": 4}], id="tags"
        ),
        pytest.param("a: &x {b: 1}\nc: *x\n", [{"a": {"b": 1}, "c": {"b": 1}}], id="alias"),
        pytest.param("a: &x t\n*x : 1\n", [{"a": "t", "t": 1}], id="alias-as-key"),
        pytest.param(
            "a: &x {b: 1, c: 2}\nd:\n  <<: *x\n  c: 3\n", [{"a": {"b": 1, "c": 2}, "d": {"b": 1, "c": 3}}], id="merge"
        ),
        pytest.param("a: {<<: [{b: 1}, {b: 2, c: 3}]}", [{"a": {"b": 1, "c": 3}}], id="merge-list-first-wins"),
        pytest.param("a: {'<<': 1}", [{"a": {"<<": 1}}], id="quoted-merge-key-is-a-key"),
        pytest.param(
            "1: a\ntrue: b\nnull: c\n1.5: d\n", [{"1": "a", "true": "b", "null": "c", "1.5": "d"}], id="keys-are-text"
        ),
        pytest.param("{a: 1, b: [x, y]}", [{"a": 1, "b": ["x", "y"]}], id="flow"),
    ],
)
def test_documents(text: str, documents: list[Any]) -> None:
    """Each document becomes one plain value."""
    assert parse(text) == documents


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param("a: 1\nb: 2\na: 3\n", "line 3, column 4: duplicate key 'a'", id="duplicate-key"),
        pytest.param("a: [1, 2\nb: 3", "line 2, column 2: did not find expected ',' or ']'", id="unclosed"),
        pytest.param("a:\n\t- 1", "line 2, column 1: found character that cannot start any token", id="tab"),
        pytest.param("a: *x", "line 1, column 4: alias 'x' is not defined above", id="unknown-alias"),
        pytest.param("a: &x [*x]", "line 1, column 8: alias 'x' is not defined above", id="recursive-alias"),
        pytest.param("a: !!python/name:os.system x", "is not supported", id="foreign-tag"),
        pytest.param("a: !custom {b: 1}", "tag '!custom' is not supported", id="foreign-tag-of-a-map"),
        pytest.param("a: !!int x", "'x' does not match its tag", id="wrong-tag"),
        pytest.param("? [1]\n: 2", "a key must be a scalar", id="list-as-key"),
        pytest.param("a: {<<: 1}", "only maps can be merged with <<", id="merge-scalar"),
        pytest.param("[" * 1_500 + "]" * 1_500, "nested more than 1000 levels deep", id="depth"),
        pytest.param("a: \x01", "control characters are not allowed", id="control-character"),
    ],
)
def test_refused(text: str, message: str) -> None:
    """What is not YAML, or must not be in a manifest, is refused with its place."""
    with pytest.raises(YamlError) as caught:
        parse(text)
    assert message in str(caught.value)


def test_alias_bomb() -> None:
    """Aliases of aliases are counted as if written out, and refused before they are."""
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{level}: &a{level} [{', '.join([f'*a{level - 1}'] * 10)}]" for level in range(1, 10)]
    with pytest.raises(YamlError, match="aliases expand to more than 1,000,000 nodes"):
        parse("\n".join(lines))


def test_anchors_end_with_their_document() -> None:
    """An alias cannot reach into another document."""
    with pytest.raises(YamlError, match="is not defined above"):
        parse("a: &x 1\n---\nb: *x\n")


PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**12), 10**12) | st.text(st.characters(codec="utf-8"), max_size=12),
    lambda children: (
        st.lists(children, max_size=4)
        | st.dictionaries(st.text(st.characters(codec="ascii"), max_size=6), children, max_size=4)
    ),
    max_leaves=20,
)


@given(PLAIN)
def test_round_trip(value: Any) -> None:
    """What another library writes is read back unchanged."""
    assert parse(yaml.safe_dump(value)) == [value]


def test_repeated_keys_are_collected_on_request_and_the_last_value_counts() -> None:
    repeated: list[RepeatedKey] = []
    (document,) = parse_yaml(b"a: 1\nb:\n  c: 1\na:\n  d: 2\n", repeated)
    assert document == {"a": {"d": 2}, "b": {"c": 1}}
    assert repeated == [RepeatedKey("a", 5)]
