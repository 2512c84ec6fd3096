"""`-f` followed by several files, as a shell expands them."""

from __future__ import annotations

import pytest

from bayplan.cli.options import repeat_file_option


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("-f a.yaml pod", "-f a.yaml pod"),
        ("-f a.yaml b.json c.yml.gz pod", "-f a.yaml -f b.json -f c.yml.gz pod"),
        ("pod -f app/ more/ -o json", "pod -f app/ -f more/ -o json"),
        ("--file a.yaml b.yaml -n x.yaml", "--file a.yaml --file b.yaml -n x.yaml"),
        ("-f dump pod b.yaml", "-f dump pod b.yaml"),  # after a pod the list is over
        ("-f - pod", "-f - pod"),
        ("-f a.yaml -f b.yaml c.yaml", "-f a.yaml -f b.yaml -f c.yaml"),
        ("x.yaml -f a.yaml", "x.yaml -f a.yaml"),
    ],
)
def test_repeat_file_option(given: str, expected: str) -> None:
    assert repeat_file_option(given.split()) == expected.split()
