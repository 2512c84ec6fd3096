"""How an extender is reached over TLS: certificates from files or from the configuration itself."""

from __future__ import annotations

import ssl

from bayplan.client.memory_files import file_in_memory
from bayplan.client.tls_contexts import verifying_context
from bayplan.config.schema import Extender, ExtenderTls


def tls_context(extender: Extender) -> ssl.SSLContext | None:
    """None for an extender without https. Raises ValueError for certificates that cannot be used."""
    if not extender.url_prefix.startswith("https:"):
        return None
    try:
        return _context(extender, extender.tls_config or ExtenderTls())
    except (OSError, ValueError) as error:
        raise ValueError(f"tlsConfig: {error}") from error


def _context(extender: Extender, tls: ExtenderTls) -> ssl.SSLContext:
    has_authority = bool(tls.ca_file or tls.ca_data)
    if tls.insecure and has_authority:
        raise ValueError("specifying a root certificates file with the insecure flag is not allowed")
    if bool(tls.cert_file or tls.cert_data) != bool(tls.key_file or tls.key_data):
        raise ValueError("a client certificate needs both certificate and key")
    if tls.ca_data:
        context = verifying_context(cadata=tls.ca_data.decode())
    elif has_authority or not (tls.insecure or extender.enable_https):
        context = verifying_context(cafile=tls.ca_file or None)
    else:  # upstream trusts anybody then
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    _present(context, tls)
    return context


def _present(context: ssl.SSLContext, tls: ExtenderTls) -> None:
    """Have the context show the client's certificate, if there is one. Python reads it from files only."""
    if not tls.cert_file and not tls.cert_data:
        return
    with file_in_memory(tls.cert_data) as certificate, file_in_memory(tls.key_data) as key:
        context.load_cert_chain(certificate if tls.cert_data else tls.cert_file, key if tls.key_data else tls.key_file)
