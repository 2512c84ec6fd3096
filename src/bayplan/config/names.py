"""The syntax of Kubernetes names that a configuration may hold: label keys, label values, extended resources.

Each function takes a string and gives what is wrong with it, as messages; an empty list means valid.
"""

from __future__ import annotations

import re

_NAME = re.compile(r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]")
_SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_NAME_LENGTH = 63
_SUBDOMAIN_LENGTH = 253
_NAME_RULE = (
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character"
)
_SUBDOMAIN_RULE = (
    "must consist of lower case alphanumeric characters, '-' or '.', "
    "and must start and end with an alphanumeric character"
)


def qualified_name_errors(name: str) -> list[str]:
    """What is wrong with a label key: a name, or `dns.subdomain/name`."""
    prefix, slash, short = name.rpartition("/")
    if "/" in prefix:
        return ["must be a name with an optional DNS subdomain prefix and '/'"]
    errors = []
    if slash and not prefix:
        errors.append("prefix part must be non-empty")
    elif slash:
        errors += [f"prefix part {error}" for error in _subdomain_errors(prefix)]
    if not short:
        return [*errors, "name part must be non-empty"]
    return errors + [f"name part {error}" for error in _short_name_errors(short)]


def label_value_errors(value: str) -> list[str]:
    """What is wrong with a label value; the empty one is valid."""
    return _short_name_errors(value) if value else []


def extended_resource_errors(name: str) -> list[str]:
    """What is wrong with the name of an extended resource, such as `example.com/gpu`."""
    if errors := qualified_name_errors(name):
        return errors
    native = "/" not in name or "kubernetes.io/" in name
    # A quota names it with this prefix, so the prefixed name must be valid too.
    quota_name = f"requests.{name}"
    if native or name.startswith("requests.") or qualified_name_errors(quota_name):
        return ["is an invalid extended resource name"]
    return []


def _subdomain_errors(subdomain: str) -> list[str]:
    errors = []
    if len(subdomain) > _SUBDOMAIN_LENGTH:
        errors.append(f"must be no more than {_SUBDOMAIN_LENGTH} characters")
    if not _SUBDOMAIN.fullmatch(subdomain):
        errors.append(_SUBDOMAIN_RULE)
    return errors


def _short_name_errors(name: str) -> list[str]:
    errors = []
    if len(name) > _NAME_LENGTH:
        errors.append(f"must be no more than {_NAME_LENGTH} characters")
    if not _NAME.fullmatch(name):
        errors.append(_NAME_RULE)
    return errors
