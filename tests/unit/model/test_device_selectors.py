"""CEL selectors of devices: what matches, and in which words it fails."""

from __future__ import annotations

import pytest

from bayplan.model.device_selectors import DeviceSelectorError, compile_device_selector, variables_of
from bayplan.model.resource_claims import Device, DeviceAttribute, DeviceCapacity

DRIVER = "gpu.example.com"
MINE = f'device.attributes["{DRIVER}"]'
DEVICE = Device(
    name="gpu-0",
    attributes={
        "model": DeviceAttribute(string_value="a100"),
        "index": DeviceAttribute(int_value=3),
        "healthy": DeviceAttribute(bool_value=True),
        "firmware": DeviceAttribute(version_value="1.10.2-rc.1"),
        "other.com/model": DeviceAttribute(string_value="x"),
    },
    capacity={"memory": DeviceCapacity(value="40Gi")},
)


def matches(expression: str, device: Device = DEVICE) -> bool:
    return compile_device_selector(expression).matches(variables_of(DRIVER, device))


@pytest.mark.parametrize(
    "expression",
    [
        "true",
        f'device.driver == "{DRIVER}"',
        f'{MINE}.model == "a100" && {MINE}["index"] == 3 && {MINE}.healthy',
        f"{MINE}.healthy",
        'device.attributes["other.com"].model == "x"',
        f'device.capacity["{DRIVER}"].memory.compareTo(quantity("40Gi")) == 0',
        f'device.capacity["{DRIVER}"].memory.isGreaterThan(quantity("39Gi"))',
        f'!device.capacity["{DRIVER}"].memory.isLessThan(quantity("1Gi"))',
        f'device.capacity["{DRIVER}"].memory.asInteger() == 42949672960',
        'quantity("50k").add(20).sub(quantity("100k")).sub(-50000) == quantity("20")',
        'isQuantity("1Gi") && !isQuantity("1GiB") && quantity("-1").sign() == -1 && !quantity("100m").isInteger()',
        f'{MINE}.firmware.isGreaterThan(semver("1.9.0")) && {MINE}.firmware.isLessThan(semver("1.10.2"))',
        f'{MINE}.firmware.compareTo(semver("1.10.2-rc.1+build7")) == 0',
        f"{MINE}.firmware.major() == 1 && {MINE}.firmware.minor() == 10 && {MINE}.firmware.patch() == 2",
        'semver("v01.2", true) == semver("1.2.0") && !isSemver("1.2") && isSemver("1.2", true)',
        'semver("1.0.0-alpha.1").isLessThan(semver("1.0.0-alpha.beta"))',
        f'has({MINE}.model) && !has({MINE}.missing) && !has(device.attributes["nobody.com"].x)',
        f'"model" in {MINE} && !("nobody.com" in device.attributes)',
        f'{MINE}.?missing.orValue(7) == 7 && {MINE}[?"index"].hasValue() && !{MINE}.?missing.hasValue()',
        f"{MINE}.?index.optMap(i, i + 1).orValue(0) == 4",
        f"cel.bind(mine, {MINE}, mine.index > 2 && mine.healthy)",
        f'{MINE}.model in ["a100", "h100"] && !({MINE}.index in [1, 2])',
        f'{MINE}.model.matches("^a[0-9]+$") && {MINE}.model.startsWith("a") && {MINE}.model.contains("10")',
        f'{MINE}.model.upperAscii() == "A100" && {MINE}.model.size() == 4 && {MINE}.model.substring(1) == "100"',
        f'"a,b".split(",") == ["a", "b"] && "a-b".replace("-", "+") == "a+b" && {MINE}.model.endsWith("00")',
        '"ab12cd34".find("[0-9]+") == "12" && "ab12cd34".findAll("[0-9]+") == ["12", "34"]',
        "[1, 2, 3].exists(x, x > 2) && [1, 2].all(x, x > 0) && [1, 2].map(x, x * 2) == [2, 4]",
        "[0, 1].exists(x, 1 / x > 0)",  # an error that a later element makes of no account
        "[3, 1].max() == 3 && [1, 2].isSorted() && [1, 1].distinct() == [1] && [1, 2].sum() == 3",
        "sets.contains([1, 2], [1]) && sets.intersects([1], [1, 2]) && sets.equivalent([1, 1], [1])",
        f"{MINE}.missing == 1 || true",
        f"!(false && {MINE}.missing == 1)",
        '{"a": 1}.a == 1 ? true : false',
        "dyn(1) < 2.5 && dyn(2u) == 2 && -7 / 2 == -3 && -7 % 2 == -1",
        f"{MINE}.model != 1",
        'type(1) == int && string(5) == "5" && int("5") == 5',
        "device.allowMultipleAllocations == false",
    ],
)
def test_matches(expression: str) -> None:
    assert matches(expression)


@pytest.mark.parametrize(
    ("expression", "fault"),
    [
        (f"{MINE}.missing == 1", "no such key: missing"),
        ('device.attributes["nobody.com"]["missing"]', "no such key: missing"),
        (f'device.capacity["{DRIVER}"].missing.sign() == 0', "no such key: missing"),
        (f"{MINE}.model > 1", "no such overload"),
        (f'{MINE}.index.isGreaterThan(quantity("1"))', "no such overload: isGreaterThan(int, kubernetes.Quantity)"),
        (f'{MINE}.firmware == "1.10.2"', "no such overload"),
        ("[1][2] == 1", "index out of bounds: 2"),
        ("1 / 0 == 1", "division by zero"),
        (f"{MINE}.index + 9223372036854775807 == 0", "integer overflow"),
        (f"{MINE}.index.exists(x, x > 0)", "got 'types.Int', expected iterable type"),
        ("optional.none().value() == 1", "optional.none() dereference"),
        ('quantity("1.1.1").sign() == 0', "quantities must match the regular expression"),
        (
            f"{MINE}.index",
            "CEL result of type int could not be converted to bool: unsupported type conversion from 'int' to bool",
        ),
        (
            f"{MINE}.model",
            "CEL result of type string could not be converted to bool: "
            "unsupported native conversion from string to 'bool'",
        ),
    ],
)
def test_fails_on_a_device_in_the_words_of_cel_go(expression: str, fault: str) -> None:
    with pytest.raises(DeviceSelectorError) as raised:
        matches(expression)
    assert str(raised.value).startswith(fault)


def test_what_never_ends_is_stopped() -> None:
    numbers = "[1, 2, 3, 4, 5, 6, 7, 8, 9, 10]"
    nested = "true"
    for depth in range(6):
        nested = f"{numbers}.all(x{depth}, {nested})"
    with pytest.raises(DeviceSelectorError, match="operation canceled: actual cost limit exceeded"):
        matches(nested)


@pytest.mark.parametrize(
    ("expression", "fault"),
    [
        (
            "device.foo == 1",
            "compilation failed: ERROR: <input>:1:7: undefined field 'foo'\n | device.foo == 1\n | ......^",
        ),
        (
            "foo",
            "compilation failed: ERROR: <input>:1:1: undeclared reference to 'foo' (in container '')\n | foo\n | ^",
        ),
        ("1", "must evaluate to bool or the unknown type, not int"),
        ("device.driver", "must evaluate to bool or the unknown type, not string"),
        ("device.driver ==", "compilation failed: ERROR: <input>:1:17: Syntax error: mismatched input '<EOF>'"),
        ("device.driver == 1", "compilation failed: ERROR: <input>:1:15: found no matching overload for '_==_'"),
    ],
)
def test_does_not_compile(expression: str, fault: str) -> None:
    with pytest.raises(DeviceSelectorError) as raised:
        compile_device_selector(expression)
    assert str(raised.value).startswith(fault)


@pytest.mark.parametrize(
    ("attribute", "fault"),
    [
        (DeviceAttribute(), "attribute odd: unsupported attribute value"),
        (DeviceAttribute(version_value="1.2"), "attribute odd: parse semantic version: No Major.Minor.Patch elements"),
    ],
)
def test_a_device_with_an_attribute_nobody_understands_fails_every_selector(
    attribute: DeviceAttribute, fault: str
) -> None:
    with pytest.raises(DeviceSelectorError, match=fault):
        matches("true", Device(name="d", attributes={"odd": attribute}))


@pytest.mark.parametrize(
    ("expression", "same"),
    [
        (f'{MINE}.model == "a100"', True),
        (f'device.driver == "{DRIVER}" && device.capacity["{DRIVER}"].memory.sign() > 0', True),
        (f'{MINE}.serial == "1"', False),
        (f'cel.bind(mine, {MINE}, mine.model == "a100")', None),
        ('"x" in device.attributes', None),
    ],
)
def test_tells_which_values_an_answer_depends_on(expression: str, same: bool | None) -> None:
    """Devices that differ in their serial numbers only need not be asked about one by one."""
    selector = compile_device_selector(expression)
    one, other = (
        selector.values_of(
            DRIVER,
            Device(
                name=serial,
                attributes={
                    "model": DeviceAttribute(string_value="a100"),
                    "serial": DeviceAttribute(string_value=serial),
                },
            ),
        )
        for serial in ("1", "2")
    )
    if same is None:
        assert one is None
    else:
        assert (one == other) == same
