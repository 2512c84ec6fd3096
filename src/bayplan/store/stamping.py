"""Names and uids that the server gives to objects.

All follow from the version of the write they are made in, so that the same writes give the same bytes, and no
two objects ever share a uid.
"""

from __future__ import annotations

from bayplan.store.rules import KindRules

# Kubernetes leaves out vowels, and what could be taken for them, so that no suffix spells a word.
_SAFE_LETTERS = "bcdfghjklmnpqrstvwxz2456789"
_SUFFIX_LENGTH = 5
GENERATED_BASE_MAX = 63 - _SUFFIX_LENGTH
_SUFFIX_COUNT = len(_SAFE_LETTERS) ** _SUFFIX_LENGTH
# Any number without a factor of 3 visits all suffixes before one comes again; this one makes neighbors unlike.
_STRIDE = 8_675_309


def make_uid(rules: KindRules, namespace: str, name: str, version: int) -> str:
    """`pod-<namespace>-<name>-<version>`; the version makes it unique, the rest makes it readable."""
    kind = rules.kind.lower()
    return f"{kind}-{namespace}-{name}-{version}" if namespace else f"{kind}-{name}-{version}"


def generated_name(base: str, number: int) -> str:
    """A name for `generateName`: the base and five letters that look random."""
    return base[:GENERATED_BASE_MAX] + safe_encoded(number * _STRIDE % _SUFFIX_COUNT, _SUFFIX_LENGTH)


def safe_text(text: str) -> str:
    """The text in such letters and digits, one for each of its own."""
    return "".join(_SAFE_LETTERS[ord(letter) % len(_SAFE_LETTERS)] for letter in text)


def safe_encoded(number: int, length: int) -> str:
    """The number in that many letters and digits that spell no word, the last digit first."""
    letters = []
    for _ in range(length):
        number, letter = divmod(number, len(_SAFE_LETTERS))
        letters.append(_SAFE_LETTERS[letter])
    return "".join(letters)
