"""Requests for certificates of administrators are refused."""

from __future__ import annotations

import base64
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import NameOID
from tests.support.api_server import Api

REQUESTS = "/apis/certificates.k8s.io/v1/certificatesigningrequests"
CLIENT = "kubernetes.io/kube-apiserver-client"


def request(name: str, *organizations: str) -> str:
    parts = [x509.NameAttribute(NameOID.COMMON_NAME, name)]
    parts += [x509.NameAttribute(NameOID.ORGANIZATION_NAME, each) for each in organizations]
    builder = x509.CertificateSigningRequestBuilder().subject_name(x509.Name(parts))
    made = builder.sign(ec.generate_private_key(ec.SECP256R1()), SHA256())
    return base64.b64encode(made.public_bytes(Encoding.PEM)).decode()


def posted(signer: str, text: str) -> tuple[int, Any]:
    spec = {"signerName": signer, "request": text, "usages": ["client auth"]}
    document = {"apiVersion": "certificates.k8s.io/v1", "kind": "CertificateSigningRequest"}
    return Api().call("POST", REQUESTS, {**document, "metadata": {"name": "r"}, "spec": spec})


@pytest.mark.parametrize("organizations", [("system:masters",), ("staff", "system:masters")])
def test_nobody_becomes_an_administrator(organizations: tuple[str, ...]) -> None:
    status, answer = posted(CLIENT, request("me", *organizations))
    why = f"use of {CLIENT} signer with system:masters group is not allowed"
    what = "certificatesigningrequests.certificates.k8s.io"
    assert (status, answer["message"]) == (403, f'{what} "r" is forbidden: {why}')


@pytest.mark.parametrize(
    ("signer", "text"),
    [
        (CLIENT, request("system:masters", "staff")),
        (CLIENT, request("me", "system:masters2")),
        ("example.com/own", request("me", "system:masters")),
    ],
)
def test_other_requests_are_taken(signer: str, text: str) -> None:
    assert posted(signer, text)[0] == 201
