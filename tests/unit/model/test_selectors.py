"""Selectors: what they match, when two are the same, and the words invalid ones are refused with."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayplan.model.meta import LabelSelector, LabelSelectorRequirement
from bayplan.model.names import label_key_faults, label_value_faults
from bayplan.model.pod import NodeSelectorRequirement, NodeSelectorTerm
from bayplan.model.selectors import (
    CompiledNodeTerm,
    CompiledSelector,
    LabelRequirement,
    SelectorError,
    compile_label_selector,
    compile_match_labels,
    compile_node_field,
    compile_node_requirement,
    compile_node_term,
    parse_go_integer,
    quoted,
)


def label(key: str, operator: str, *values: str) -> LabelSelectorRequirement:
    return LabelSelectorRequirement(key=key, operator=operator, values=list(values))


def node(key: str, operator: str, *values: str) -> NodeSelectorRequirement:
    return NodeSelectorRequirement(key=key, operator=operator, values=list(values))


def selecting(*expressions: LabelSelectorRequirement, **labels: str) -> CompiledSelector:
    return compile_label_selector(LabelSelector(match_labels=labels, match_expressions=list(expressions)))


@pytest.mark.parametrize(
    ("selector", "labels", "expected"),
    [
        pytest.param(selecting(a="1"), {"a": "1", "b": "2"}, True, id="equal"),
        pytest.param(selecting(a="1"), {"a": "2"}, False, id="not-equal"),
        pytest.param(selecting(a="1"), {}, False, id="absent"),
        pytest.param(selecting(a="1", b="2"), {"a": "1"}, False, id="all-must-match"),
        pytest.param(selecting(label("a", "In", "1", "2")), {"a": "2"}, True, id="in"),
        pytest.param(selecting(label("a", "In", "1")), {}, False, id="in-absent"),
        pytest.param(selecting(label("a", "In", "")), {"a": ""}, True, id="in-empty-value"),
        pytest.param(selecting(label("a", "In", "")), {}, False, id="absent-is-not-empty"),
        pytest.param(selecting(label("a", "NotIn", "1")), {"a": "2"}, True, id="not-in"),
        pytest.param(selecting(label("a", "NotIn", "1")), {"a": "1"}, False, id="not-in-equal"),
        pytest.param(selecting(label("a", "NotIn", "1")), {}, True, id="not-in-absent"),
        pytest.param(selecting(label("a", "Exists")), {"a": ""}, True, id="exists"),
        pytest.param(selecting(label("a", "Exists")), {"b": ""}, False, id="exists-absent"),
        pytest.param(selecting(label("a", "DoesNotExist")), {"b": "1"}, True, id="does-not-exist"),
        pytest.param(selecting(label("a", "DoesNotExist")), {"a": "1"}, False, id="does-not-exist-present"),
        pytest.param(selecting(label("b", "Exists"), a="1"), {"a": "1", "b": ""}, True, id="both-forms"),
        pytest.param(selecting(), {"a": "1"}, True, id="empty-selects-everything"),
        pytest.param(compile_label_selector(None), {"a": "1"}, False, id="none-selects-nothing"),
    ],
)
def test_matches(selector: CompiledSelector, labels: dict[str, str], expected: bool) -> None:
    """Each operator matches as Kubernetes has it."""
    assert selector.matches(labels) is expected


def test_nothing_and_everything() -> None:
    """An absent selector is the selector of nothing, an empty one that of everything; only the latter is empty."""
    assert compile_label_selector(None) is CompiledSelector.NOTHING
    assert selecting() == CompiledSelector.EVERYTHING == compile_match_labels({})
    assert CompiledSelector.EVERYTHING.is_empty
    assert not CompiledSelector.NOTHING.is_empty
    assert CompiledSelector.NOTHING != CompiledSelector.EVERYTHING
    assert not selecting(a="1").is_empty


@pytest.mark.parametrize(
    ("one", "other"),
    [
        pytest.param(selecting(a="1", b="2"), selecting(b="2", a="1"), id="order-of-labels"),
        pytest.param(selecting(a="1"), selecting(label("a", "In", "1")), id="equality-is-in"),
        pytest.param(selecting(label("a", "In", "1", "2")), selecting(label("a", "In", "2", "1", "2")), id="values"),
        pytest.param(
            selecting(label("a", "Exists"), label("b", "Exists")),
            selecting(label("b", "Exists"), label("a", "Exists"), label("a", "Exists")),
            id="order-and-repetition",
        ),
        pytest.param(selecting(a="1"), compile_match_labels({"a": "1"}), id="plain-map"),
    ],
)
def test_canonical(one: CompiledSelector, other: CompiledSelector) -> None:
    """Selectors that say the same are one key of a table."""
    assert one == other
    assert hash(one) == hash(other)
    assert len({one, other}) == 1


def test_narrowed() -> None:
    """Narrowing adds equalities, and leaves the selector of nothing alone."""
    narrowed = selecting(a="1").narrowed_to({"b": "2"})
    assert narrowed == selecting(a="1", b="2")
    assert selecting(a="1").narrowed_to({}) == selecting(a="1")
    assert CompiledSelector.NOTHING.narrowed_to({"b": "2"}) is CompiledSelector.NOTHING


@pytest.mark.parametrize(
    ("requirement", "message"),
    [
        (label("a", "Equals", "1"), '"Equals" is not a valid label selector operator'),
        (label("a", "Gt", "1"), '"Gt" is not a valid label selector operator'),
        (label("a", ""), '"" is not a valid label selector operator'),
        (
            label("a", "In"),
            "values: Invalid value: null: for 'in', 'notin' operators, values set can't be empty",
        ),
        (
            label("a", "Exists", "1"),
            'values: Invalid value: ["1"]: values set must be empty for exists and does not exist',
        ),
        (
            label("", "Exists"),
            'key: Invalid value: "": name part must be non-empty; name part must consist of alphanumeric characters, '
            "'-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  "
            "or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')",
        ),
        (
            label("a", "In", "x" * 64),
            f'values[0][a]: Invalid value: "{"x" * 64}": must be no more than 63 bytes',
        ),
    ],
)
def test_invalid_label_selector(requirement: LabelSelectorRequirement, message: str) -> None:
    """Invalid requirements are refused in the words of Kubernetes."""
    with pytest.raises(SelectorError) as caught:
        selecting(requirement)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("a b", '"a b"'),
        ('a"\\b', r'"a\"\\b"'),
        ("\n\t\v\a", r'"\n\t\v\a"'),
        ("\x01\x7f", r'"\x01\x7f"'),
        ("grün", '"grün"'),
        ("\u00a0\u2028\ufeff", r'"\u00a0\u2028\ufeff"'),
        ("\U000e0001", r'"\U000e0001"'),
    ],
)
def test_quoted(text: str, written: str) -> None:
    """Text stands in messages as Go quotes it."""
    assert quoted(text) == written


def test_signed_bound() -> None:
    """A bound must be a label value as well as an integer, so upstream refuses a sign."""
    with pytest.raises(SelectorError, match=r"^values\[0\]\[a\]: Invalid value: \"-1\": a valid label must be"):
        compile_node_requirement(node("a", "Gt", "-1"))


def test_several_faults_in_brackets() -> None:
    """More than one fault of a requirement are listed together."""
    with pytest.raises(SelectorError) as caught:
        selecting(label("a b", "In"))
    assert str(caught.value).startswith('[key: Invalid value: "a b": name part must consist')
    assert str(caught.value).endswith("values set can't be empty]")


def test_match_labels_are_not_checked() -> None:
    """A plain map of labels is taken as it is, as a pod's nodeSelector is upstream."""
    assert compile_match_labels({"not a key": "x y"}).matches({"not a key": "x y"})


@pytest.mark.parametrize(
    ("key", "is_valid"),
    [
        ("a", True),
        ("kubernetes.io/hostname", True),
        ("A_b.c-9", True),
        ("a" * 63, True),
        ("a" * 64, False),
        ("a-", False),
        ("-a", False),
        ("a/b/c", False),
        ("/a", False),
        ("a/", False),
        ("Upper.io/a", False),
        (("a" * 63 + ".") * 3 + "a" * 61 + "/x", True),
        (("a" * 63 + ".") * 4 + "a/x", False),
        ("ä", False),
        ("a\n", False),
    ],
)
def test_label_keys(key: str, is_valid: bool) -> None:
    """A key is a name of at most 63 characters, with an optional subdomain before a slash."""
    assert (not label_key_faults(key)) is is_valid


@pytest.mark.parametrize(
    ("value", "is_valid"),
    [("", True), ("a", True), ("a_b.c-9", True), ("x" * 63, True), ("x" * 64, False), ("a b", False), ("-", False)],
)
def test_label_values(value: str, is_valid: bool) -> None:
    """A value is empty or a name of at most 63 characters."""
    assert (not label_value_faults(value)) is is_valid


@pytest.mark.parametrize(
    ("requirement", "labels", "expected"),
    [
        pytest.param(node("cores", "Gt", "4"), {"cores": "8"}, True, id="greater"),
        pytest.param(node("cores", "Gt", "8"), {"cores": "8"}, False, id="greater-is-strict"),
        pytest.param(node("cores", "Lt", "8"), {"cores": "4"}, True, id="less"),
        pytest.param(node("cores", "Lt", "8"), {"cores": "8"}, False, id="less-is-strict"),
        pytest.param(node("cores", "Lt", "1"), {"cores": "-5"}, True, id="sign-of-the-label"),
        pytest.param(node("cores", "Gt", "4"), {"cores": "many"}, False, id="label-is-no-number"),
        pytest.param(node("cores", "Lt", "4"), {}, False, id="label-is-absent"),
        pytest.param(node("cores", "Gt", "4"), {"cores": "9223372036854775808"}, False, id="label-beyond-64-bits"),
        pytest.param(node("zone", "In", "a", "b"), {"zone": "b"}, True, id="in"),
        pytest.param(node("zone", "NotIn", "a"), {}, True, id="not-in-absent"),
    ],
)
def test_node_requirement(requirement: NodeSelectorRequirement, labels: dict[str, str], expected: bool) -> None:
    """Node selectors compare numbers too."""
    assert compile_node_requirement(requirement).matches(labels) is expected


@pytest.mark.parametrize(
    ("requirement", "message"),
    [
        (
            node("a", "Near", "1"),
            'at[0].operator: Unsupported value: "Near": supported values: "In", "NotIn", "Exists", "DoesNotExist", '
            '"Gt", "Lt"',
        ),
        (
            node("a", "Gt", "many"),
            "at[0].values[0]: Invalid value: \"many\": for 'Gt', 'Lt' operators, the value must be an integer",
        ),
        (
            node("a", "Lt"),
            "at[0].values: Invalid value: null: for 'Gt', 'Lt' operators, exactly one value is required",
        ),
        (
            node("a", "Gt", "1", "2"),
            "at[0].values: Invalid value: [\"1\",\"2\"]: for 'Gt', 'Lt' operators, exactly one value is required",
        ),
    ],
)
def test_invalid_node_requirement(requirement: NodeSelectorRequirement, message: str) -> None:
    """Invalid node requirements are refused, with the path at which they stand."""
    with pytest.raises(SelectorError) as caught:
        compile_node_requirement(requirement, "at[0]")
    assert str(caught.value) == message


@pytest.mark.parametrize(
    "requirement",
    [
        pytest.param(node("metadata.name", "Exists"), id="operator"),
        pytest.param(node("metadata.name", "In"), id="no-value"),
        pytest.param(node("metadata.name", "In", "a", "b"), id="two-values"),
        pytest.param(node("metadata.namespace", "In", "a", "b"), id="other-field-two-values"),
    ],
)
def test_invalid_node_field(requirement: NodeSelectorRequirement) -> None:
    """Fields are In or NotIn one value."""
    with pytest.raises(SelectorError):
        compile_node_field(requirement)


@pytest.mark.parametrize(
    ("term", "labels", "name", "expected"),
    [
        pytest.param(NodeSelectorTerm(), {}, "n1", False, id="empty-matches-nothing"),
        pytest.param(NodeSelectorTerm(match_fields=[node("metadata.name", "In", "n1")]), {}, "n1", True, id="name"),
        pytest.param(
            NodeSelectorTerm(match_fields=[node("metadata.name", "NotIn", "n1")]), {}, "n1", False, id="not-name"
        ),
        pytest.param(
            NodeSelectorTerm(match_expressions=[node("a", "Exists")], match_fields=[node("metadata.name", "In", "n1")]),
            {"a": ""},
            "n2",
            False,
            id="both-must-match",
        ),
        pytest.param(
            NodeSelectorTerm(match_fields=[node("metadata.name", "In", "n1")]), {}, "", True, id="nameless-node"
        ),
        pytest.param(NodeSelectorTerm(match_fields=[node("spec.x", "In", "n1")]), {}, "n1", False, id="other-field"),
        pytest.param(
            NodeSelectorTerm(match_fields=[node("spec.x", "NotIn", "n1")]), {}, "n1", True, id="not-other-field"
        ),
        pytest.param(
            NodeSelectorTerm(match_fields=[node("spec.x", "In", "")]), {}, "n1", True, id="other-field-is-empty"
        ),
        pytest.param(
            NodeSelectorTerm(match_fields=[node("spec.x", "NotIn", "")]), {}, "n1", False, id="other-field-not-empty"
        ),
        pytest.param(
            NodeSelectorTerm(match_fields=[node("spec.x", "In", "n1")]), {}, "", True, id="other-field-nameless-node"
        ),
    ],
)
def test_node_term(term: NodeSelectorTerm, labels: dict[str, str], name: str, expected: bool) -> None:
    """A term is the conjunction of its labels and its name."""
    assert compile_node_term(term).matches(labels, name) is expected


def test_node_terms_are_canonical() -> None:
    """Terms that say the same are one key of a table."""
    one = NodeSelectorTerm(match_expressions=[node("a", "In", "2", "1"), node("b", "Gt", "05")])
    other = NodeSelectorTerm(match_expressions=[node("b", "Gt", "5"), node("a", "In", "1", "2")])
    assert compile_node_term(one) == compile_node_term(other)
    assert compile_node_term(NodeSelectorTerm()) == CompiledNodeTerm()


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("0", 0),
        ("007", 7),
        ("+5", 5),
        ("-5", -5),
        ("9223372036854775807", 2**63 - 1),
        ("-9223372036854775808", -(2**63)),
        ("9223372036854775808", None),
        ("", None),
        ("+", None),
        ("1_000", None),
        (" 1", None),
        ("1.0", None),
        ("0x1", None),
        ("٣", None),
    ],
)
def test_go_integer(text: str, number: int | None) -> None:
    """Integers are read as Go reads them."""
    assert parse_go_integer(text) == number


KEYS, VALUES = st.sampled_from("abc"), st.sampled_from("xyz")


@given(
    st.lists(
        st.tuples(KEYS, st.sampled_from(["In", "NotIn"]), st.lists(VALUES, min_size=1))
        | st.tuples(KEYS, st.sampled_from(["Exists", "DoesNotExist"]), st.just([])),
        max_size=4,
    ),
    st.dictionaries(KEYS, VALUES),
)
def test_canonical_form_keeps_the_meaning(
    expressions: list[tuple[str, str, list[str]]], labels: dict[str, str]
) -> None:
    """Sorting and removing repetitions changes no answer."""
    compiled = selecting(*(label(key, operator, *values) for key, operator, values in expressions))
    plainly = all(
        LabelRequirement(key, operator, tuple(values)).matches(labels) for key, operator, values in expressions
    )
    assert compiled.matches(labels) is plainly
