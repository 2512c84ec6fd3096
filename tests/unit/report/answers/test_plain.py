"""An answer as plain data: nothing that a page could show is lost."""

from __future__ import annotations

import json

from bayplan.report.answers.parts import Bar, Bars, Cell, Details, Heading, Next, Sentence, Snippet, Table, Tone
from bayplan.report.answers.plain import plain_parts


def test_every_part() -> None:
    table = Table(("pod", "count"), [["a", Cell("2", Tone.BAD)]], numeric=frozenset({"count"}))
    details = Details([Heading("Why"), table, Bars([Bar("x", 1.0, "1")])])
    plain = plain_parts([Sentence("No.", Tone.BAD), details, Snippet("a: 1"), Next("bayplan fix a")])
    assert json.loads(json.dumps(plain)) == [
        {"part": "sentence", "text": "No.", "tone": "bad"},
        {
            "part": "details",
            "parts": [
                {"part": "heading", "text": "Why"},
                {
                    "part": "table",
                    "columns": [{"title": "pod", "numeric": False}, {"title": "count", "numeric": True}],
                    "rows": [[{"text": "a", "tone": "plain"}, {"text": "2", "tone": "bad"}]],
                },
                {"part": "bars", "rows": [{"label": "x", "share": 1.0, "text": "1", "tone": "plain"}]},
            ],
        },
        {"part": "code", "text": "a: 1", "language": "yaml"},
        {"part": "next", "command": "bayplan fix a"},
    ]
