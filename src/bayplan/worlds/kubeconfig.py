"""A kubeconfig for a cluster of our own: its address, its token and, with TLS, its certificate.

Without TLS the token is part of the address: kubectl does not send a user's token over a plain connection.
"""

from __future__ import annotations

import base64

from bayplan.apiserver.http.application import TOKEN_SEGMENT

NAME = "bayplan"


def is_ours(text: str) -> bool:
    """Whether a file was written here before, and may be written again."""
    return f"current-context: {NAME}\n" in text


def kubeconfig(url: str, token: str, certificate: bytes = b"") -> str:
    """The text of a kubeconfig with one context."""
    server = url if certificate else f"{url}/{TOKEN_SEGMENT}{token}"
    authority = ""
    if certificate:
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
    user: {NAME}
current-context: {NAME}
users:
- name: {NAME}
  user:
    token: {token}
"""
