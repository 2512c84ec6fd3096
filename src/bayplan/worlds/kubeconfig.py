"""A kubeconfig for a cluster of our own: its address, its token and, with TLS, its certificate."""

from __future__ import annotations

import base64

NAME = "bayplan"


def kubeconfig(url: str, token: str, certificate: bytes = b"") -> str:
    """The text of a kubeconfig with one context."""
    authority = ""
    if certificate:
        authority = f"\n    certificate-authority-data: {base64.b64encode(certificate).decode()}"
    return f"""apiVersion: v1
kind: Config
clusters:
- name: {NAME}
  cluster:
    server: {url}{authority}
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
