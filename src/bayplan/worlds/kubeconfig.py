"""A kubeconfig for a cluster of our own: its address, its token and, with TLS, its certificate.

Without TLS the token is part of the address, because kubectl does not send a user's token over a plain connection: as
the password of a user, which `kubectl get --raw` keeps, and in front of the path, for clients that ignore users there.
"""

from __future__ import annotations

import base64

from bayplan.apiserver.http.application import TOKEN_SEGMENT

NAME = "bayplan"


def is_ours(text: str) -> bool:
    """Whether a file was written here before, and may be written again."""
    return f"current-context: {NAME}\n" in text


def kubeconfig(url: str, token: str, certificate: bytes = b"", namespace: str = "") -> str:
    """The text of a kubeconfig with one context, in that namespace."""
    place = f"\n    namespace: {namespace}" if namespace else ""
    authority, user = "", "{}"
    server = f"{url.replace('://', f'://{NAME}:{token}@', 1)}/{TOKEN_SEGMENT}{token}"
    if certificate:
        server, user = url, f"\n    token: {token}"
        authority = f"\n    certificate-authority-data: {base64.b64encode(certificate).decode()}"
    return f"""apiVersion: v1
kind: Config
clusters:
- name: {NAME}
  cluster:
    server: {server}{authority}
contexts:
- name: {NAME}
  context:
    cluster: {NAME}
    user: {NAME}{place}
current-context: {NAME}
users:
- name: {NAME}
  user: {user}
"""
