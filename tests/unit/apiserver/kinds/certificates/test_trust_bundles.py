"""Trust bundles and pods' requests for certificates, which v1.37 serves."""

from __future__ import annotations

import base64
from datetime import UTC, datetime
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed448, ed25519, rsa
from cryptography.x509.oid import NameOID
from tests.support.admission_documents import document, refusal

from bayplan.apiserver.admitting.validation.faults import Faults
from bayplan.apiserver.admitting.validation.trust import check_certificate_request_update, check_trust_bundle_update
from bayplan.apiserver.schema.versions import serving
from bayplan.model.dns_names import subdomain_faults
from bayplan.testing import cluster

KEY = ec.generate_private_key(ec.SECP256R1())
NAME = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "root")])


def certificate(*, is_authority: bool | None = True) -> str:
    builder = x509.CertificateBuilder(
        NAME, NAME, KEY.public_key(), 1, datetime(2026, 1, 1, tzinfo=UTC), datetime(2027, 1, 1, tzinfo=UTC)
    )
    if is_authority is not None:
        builder = builder.add_extension(x509.BasicConstraints(ca=is_authority, path_length=None), critical=True)
    return builder.sign(KEY, hashes.SHA256()).public_bytes(serialization.Encoding.PEM).decode()


ROOT = certificate()
SECONDS_OF_OWN = "spec.maxExpirationSeconds: Invalid value: 86401: must be in the range [3600, 86400]"
OMITTED = 'spec.trustBundle: Invalid value: "<value omitted>": '


def bundle(text: str, name: str = "roots", **spec: Any) -> dict[str, Any]:
    spec = {"trustBundle": text, **spec}
    return document("certificates.k8s.io/v1", "ClusterTrustBundle", spec, metadata={"name": name, "uid": "1"})


def stub(key: Any = KEY, digest: Any = hashes.SHA256()) -> str:  # noqa: B008 - a digest never changes
    made = x509.CertificateSigningRequestBuilder(x509.Name([])).sign(key, digest)
    return base64.b64encode(made.public_bytes(serialization.Encoding.DER)).decode()


def spoilt(text: str) -> str:
    """A request whose signature ends otherwise."""
    der = base64.b64decode(text)
    return base64.b64encode(der[:-1] + bytes([der[-1] ^ 1])).decode()


def request(**spec: Any) -> dict[str, Any]:
    asked = {
        **{"signerName": "example.com/s", "podName": "p", "podUID": "1", "nodeName": "n", "nodeUID": "2"},
        **{"serviceAccountName": "default", "serviceAccountUID": "3", "stubPKCS10Request": stub()},
    }
    return document("certificates.k8s.io/v1", "PodCertificateRequest", {**asked, **spec})


def test_they_are_stored_and_listed() -> None:
    with cluster(nodes=0, scheduler=False, controllers=False, kubernetes_version="1.37") as live:
        live.apply({**bundle(ROOT), "metadata": {"name": "roots"}})
        (found,) = live.list("clustertrustbundles.certificates.k8s.io")
        assert found["spec"] == {"trustBundle": ROOT}
        live.apply({**request(), "metadata": {"name": "r", "namespace": "default"}})
        (asked,) = live.list("podcertificaterequests.certificates.k8s.io", namespace="default")
        assert asked["spec"]["maxExpirationSeconds"] == 86_400


@pytest.mark.parametrize(
    ("given", "fault"),
    [
        (bundle(ROOT), ""),
        (bundle(f"a comment\n{ROOT}"), ""),
        (bundle("text"), OMITTED + "at least one trust anchor must be provided"),
        (bundle(ROOT.ljust(1_048_576)), ""),
        (bundle(ROOT.ljust(1_048_577)), "spec.trustBundle: Too long: may not be more than 1048576 bytes"),
        (bundle(ROOT + ROOT), OMITTED + "duplicate trust anchor (indices [0 1])"),
        (bundle(certificate(is_authority=False)), OMITTED + "entry 0 does not have the CA bit set"),
        (
            bundle(ROOT + "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----"),
            OMITTED + "entry 1 does not parse as X.509",
        ),
        (
            bundle(ROOT.replace("-----\n", "-----\nProc-Type: 4\n\n", 1)),
            OMITTED + "entry 0 has PEM block headers",
        ),
        (bundle(certificate(is_authority=None)), OMITTED + "entry 0 does not have the CA bit set"),
        (bundle(ROOT.replace("CERTIFICATE", "KEY")), OMITTED + "entry 0 has bad block type: KEY"),
        (
            bundle(ROOT, "a:b"),
            'metadata.name: Invalid value: "a:b": ClusterTrustBundle without signer name must not have ":" in its name',
        ),
        (bundle(ROOT, "example.com:s:a", signerName="example.com/s"), ""),
        (
            bundle(ROOT, "roots", signerName="example.com/s"),
            'metadata.name: Invalid value: "roots": ClusterTrustBundle for signerName example.com/s must be named with '
            "prefix example.com:s:",
        ),
    ],
)
def test_bundles(given: dict[str, Any], fault: str) -> None:
    with serving("1.37"):
        assert refusal(given) == fault


@pytest.mark.parametrize(
    ("given", "fault"),
    [
        (request(), ""),
        (request(podUID=""), 'spec.podUID: Invalid value: "": must not be empty'),
        (
            request(maxExpirationSeconds=60),
            "spec.maxExpirationSeconds: Invalid value: 60: must be in the range [3600, 7862400]",
        ),
        (
            request(signerName="kubernetes.io/s", maxExpirationSeconds=86_401),
            "spec.maxExpirationSeconds: Invalid value: 86401: must be in the range [3600, 86400]",
        ),
        (
            request(stubPKCS10Request=""),
            "spec: Invalid value: exactly one of (stubPKCS10Request) or (pkixPublicKey, proofOfPossession) must be set",
        ),
        (request(podName="P_"), f'spec.podName: Invalid value: "P_": {subdomain_faults("P_")[0]}'),
        (request(nodeUID="x" * 128), ""),
        (request(nodeUID="x" * 129), "spec.nodeUID: Too long: may not be more than 128 bytes"),
        (request(maxExpirationSeconds=3_600), ""),
        (
            request(maxExpirationSeconds=3_599),
            "spec.maxExpirationSeconds: Invalid value: 3599: must be in the range [3600, 7862400]",
        ),
        (request(maxExpirationSeconds=7_862_400), ""),
        (request(signerName="kubernetes.io/s", maxExpirationSeconds=86_400), ""),
        (request(signerName="a.kubernetes.io/s", maxExpirationSeconds=86_401), SECONDS_OF_OWN),
        (request(signerName="notkubernetes.io/s", maxExpirationSeconds=86_401), ""),
        (request(stubPKCS10Request=stub(ed25519.Ed25519PrivateKey.generate(), None)), ""),
        (request(stubPKCS10Request=stub(ec.generate_private_key(ec.SECP384R1()))), ""),
        (
            request(stubPKCS10Request=stub(ec.generate_private_key(ec.SECP256K1()))),
            'spec.stubPKCS10Request: Invalid value: "curve secp256k1": elliptic public keys must use curve P256, P384, '
            "or P521",
        ),
        (
            request(stubPKCS10Request=stub(ed448.Ed448PrivateKey.generate(), None)),
            "spec.stubPKCS10Request: Invalid value: unknown public key type; supported types are Ed25519, ECDSA, and "
            "RSA",
        ),
        (request(stubPKCS10Request=spoilt(stub())), "spec.stubPKCS10Request: Invalid value: invalid signature"),
        (
            request(stubPKCS10Request=base64.b64encode(b"x" * 10_240).decode()),
            "spec.stubPKCS10Request: Invalid value: must be a valid PKCS#10 CSR",
        ),
        (
            request(stubPKCS10Request=base64.b64encode(b"x" * 10_241).decode()),
            "spec.stubPKCS10Request: Too long: may not be more than 10240 bytes",
        ),
        (request(stubPKCS10Request="YQ=="), "spec.stubPKCS10Request: Invalid value: must be a valid PKCS#10 CSR"),
        (
            request(stubPKCS10Request=stub(rsa.generate_private_key(65537, 2048))),
            'spec.stubPKCS10Request: Invalid value: "2048-bit modulus": RSA keys must have modulus size 3072 or 4096',
        ),
    ],
)
def test_requests(given: dict[str, Any], fault: str) -> None:
    with serving("1.37"):
        assert refusal(given) == fault


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        (bundle(ROOT), bundle(f"a comment\n{ROOT}"), ""),
        (bundle("text"), bundle("text"), ""),
        (bundle(ROOT), bundle("text"), "at least one trust anchor must be provided"),
        (bundle(ROOT, "a.b:s:n", signerName="a.b/s"), bundle(ROOT, "a.b:s:n", signerName="a.b/t"), "is immutable"),
        (request(stubPKCS10Request="YQ=="), request(stubPKCS10Request="YQ=="), ""),
        (request(stubPKCS10Request="YQ=="), request(stubPKCS10Request="YQ==", podName="q"), '"PodName":"q"'),
    ],
)
def test_what_may_not_change(before: dict[str, Any], after: dict[str, Any], said: str) -> None:
    check = check_trust_bundle_update if before["kind"] == "ClusterTrustBundle" else check_certificate_request_update
    found = Faults()
    with serving("1.37"):
        check(after, before, found)
    assert bool(found) == bool(said)
    assert any(said in cause.message for cause in found) or not said
