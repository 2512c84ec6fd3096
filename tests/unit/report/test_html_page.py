"""A page knows its own style and script by their hashes, and allows nothing else."""

from __future__ import annotations

import re
from base64 import b64encode
from hashlib import sha256

import pytest

from bayplan.report.html_page import document
from bayplan.report.markup import tag


@pytest.mark.parametrize("script", [None, "page.js", "comparison.js"])
def test_the_policy_allows_what_is_inside_and_nothing_else(script: str | None) -> None:
    page = document("<t>", tag("p", "x"), style="plots.css", script=script)
    found = re.search(r'Policy" content="([^"]*)"', page)
    assert found
    policy = found[1].replace("&#39;", "'")
    inside = re.findall(r"<(?:style|script)>(.*?)</(?:style|script)>", page, re.DOTALL)
    hashes = [f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'" for text in inside]
    assert re.findall(r"'sha256-[^']*'", policy) == hashes
    assert len(hashes) == (1 if script is None else 2)
    assert policy.startswith("default-src 'none'; style-src 'sha256-")
    assert "unsafe" not in policy
    assert "<title>&lt;t&gt;</title>" in page
