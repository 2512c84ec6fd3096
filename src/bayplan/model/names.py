"""Which label keys, label values and resource names Kubernetes accepts, and its messages for those it refuses.

Takes text and returns the complaints about it; an empty result means that the text is valid. Verdicts are cached, as
a cluster holds few distinct keys and values among many labels.
"""

import re
from functools import lru_cache

_NAME_FORMAT = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_VALUE_FORMAT = f"({_NAME_FORMAT})?"
_SUBDOMAIN_FORMAT = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*"
_NAME_MAX = 63
_SUBDOMAIN_MAX = 253

_NATIVE_RESOURCE = re.compile(r"cpu|memory|ephemeral-storage|hugepages-.+")
_NAME = re.compile(_NAME_FORMAT)
_SUBDOMAIN = re.compile(_SUBDOMAIN_FORMAT)

_MUST_CONSIST = (
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric "
    f"character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '{_NAME_FORMAT}')"
)
_SUBDOMAIN_MUST_CONSIST = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', "
    "and must start and end with an alphanumeric character (e.g. 'example.com', "
    f"regex used for validation is '{_SUBDOMAIN_FORMAT}')"
)
_VALUE_MUST_CONSIST = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', "
    "and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', "
    f"regex used for validation is '{_VALUE_FORMAT}')"
)
_EMPTY = "must be non-empty"


@lru_cache(maxsize=8_192)
def label_key_faults(key: str) -> tuple[str, ...]:
    """Why the text is not a label key ([subdomain/]name); empty if it is one."""
    prefix, slash, name = key.rpartition("/")
    if "/" in prefix:
        optional = " with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
        return (f"a valid label key {_MUST_CONSIST}{optional}",)
    faults: list[str] = []
    if slash:
        faults += [f"prefix part {fault}" for fault in _subdomain_faults(prefix)]
    faults += [f"name part {fault}" for fault in _name_faults(name)]
    return tuple(faults)


@lru_cache(maxsize=2_048)
def label_value_faults(value: str) -> tuple[str, ...]:
    """Why the text is not a label value; empty if it is one."""
    faults: list[str] = []
    if _byte_length(value) > _NAME_MAX:
        faults.append(_too_long(_NAME_MAX))
    if value and not _NAME.fullmatch(value):
        faults.append(_VALUE_MUST_CONSIST)
    return tuple(faults)


def is_resource_name(text: str) -> bool:
    """Whether a container can request it: a native resource, or an extended one such as nvidia.com/gpu."""
    return _NATIVE_RESOURCE.fullmatch(text) is not None or ("/" in text and not label_key_faults(text))


def extended_resource_faults(name: str) -> tuple[str, ...]:
    """Why the text is no extended resource, such as `example.com/gpu`; empty when it is one."""
    if faults := label_key_faults(name):
        return faults
    native = "/" not in name or "kubernetes.io/" in name
    # A quota names it with this prefix, so the prefixed name must be valid too.
    if native or name.startswith("requests.") or label_key_faults(f"requests.{name}"):
        return ("is an invalid extended resource name",)
    return ()


def _subdomain_faults(prefix: str) -> list[str]:
    if not prefix:
        return [_EMPTY]
    faults: list[str] = []
    if _byte_length(prefix) > _SUBDOMAIN_MAX:
        faults.append(_too_long(_SUBDOMAIN_MAX))
    if not _SUBDOMAIN.fullmatch(prefix):
        faults.append(_SUBDOMAIN_MUST_CONSIST)
    return faults


def _name_faults(name: str) -> list[str]:
    faults: list[str] = []
    if not name:
        faults.append(_EMPTY)
    elif _byte_length(name) > _NAME_MAX:
        faults.append(_too_long(_NAME_MAX))
    if not _NAME.fullmatch(name):
        faults.append(_MUST_CONSIST)
    return faults


def _byte_length(text: str) -> int:
    return len(text.encode())


def _too_long(length_max: int) -> str:
    return f"must be no more than {length_max} bytes"
