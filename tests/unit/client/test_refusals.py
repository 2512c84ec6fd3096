"""What a server says when it refuses, in words."""

from __future__ import annotations

import pytest

from bayplan.client.contract import Response
from bayplan.client.refusals import message_of, read_status

STATUS = b'{"kind":"Status","message":"pods \\"p\\" not found","reason":"NotFound","code":404}'


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (STATUS, 'pods "p" not found'),
        (b" upstream timed out\n", "upstream timed out"),
        (b"x" * 300, "x" * 200),
        (b"", ""),
    ],
)
def test_a_refusal_has_the_message_of_its_status_or_its_own_text(body: bytes, message: str) -> None:
    assert read_status(body).message == message


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (STATUS, 'pods "p" not found'),
        (b" gone", 'an error on the server ("gone") has prevented the request from succeeding'),
        (b"", 'an error on the server ("unknown") has prevented the request from succeeding'),
        (b"{}", 'an error on the server ("{}") has prevented the request from succeeding'),
    ],
)
def test_a_refusal_without_a_message_is_put_into_the_words_of_go(body: bytes, message: str) -> None:
    assert message_of(Response(500, body, {})) == message
