"""TLS that takes the certificates which Go's clients take."""

from __future__ import annotations

import ssl

from bayplan.client.tls_contexts import verifying_context


def test_certificates_are_verified_but_not_strictly() -> None:
    context = verifying_context()
    assert (context.verify_mode, context.check_hostname) == (ssl.CERT_REQUIRED, True)
    assert not context.verify_flags & ssl.VERIFY_X509_STRICT
