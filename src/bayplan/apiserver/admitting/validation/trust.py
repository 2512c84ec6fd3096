"""Checks of ClusterTrustBundles and PodCertificateRequests.

Upstream: pkg/apis/certificates/validation/validation.go (v1.37).
"""

from __future__ import annotations

import base64
import re
from typing import Final

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa

from bayplan.apiserver.admitting.documents import Document, Path
from bayplan.apiserver.admitting.internal_form import internal
from bayplan.apiserver.admitting.validation.certificates import check_signer
from bayplan.apiserver.admitting.validation.faults import Faults
from bayplan.model.dns_names import subdomain_faults

_BLOCK: Final = re.compile(r"-----BEGIN ([^-]*)-----\r?\n(.*?)-----END \1-----", re.DOTALL)
_OMITTED: Final = "<value omitted>"
DAY_SECONDS: Final = 24 * 3600
_BUNDLE_MAX: Final = 1024 * 1024
_UID_MAX: Final = 128
_KEY_MAX: Final = 10 * 1024
CERTIFICATE_SECONDS_MIN: Final = 3600
_OWN_SIGNER_DAYS, _SIGNER_DAYS = 1, 91
_CURVES: Final = ("secp256r1", "secp384r1", "secp521r1")
_MODULI: Final = (3072, 4096)
_ONE_PROOF: Final = "exactly one of (stubPKCS10Request) or (pkixPublicKey, proofOfPossession) must be set"
_STUB: Final = "spec.stubPKCS10Request"


def check_trust_bundle(bundle: Document, faults: Faults, *, is_parsed: bool = True) -> None:
    signer, name = bundle["spec"].get("signerName", ""), bundle["metadata"].get("name", "")
    faults.all_invalid("metadata.name", name, bundle_name_faults(name, signer))
    if signer:
        check_signer(signer, faults)
    if is_parsed:
        _check_anchors(bundle["spec"]["trustBundle"], faults, "spec.trustBundle")


def bundle_name_faults(name: str, signer: str) -> tuple[str, ...]:
    """Of the name of a bundle of that signer, or of none."""
    if not signer:
        if ":" in name:
            return ('ClusterTrustBundle without signer name must not have ":" in its name',)
        return subdomain_faults(name)
    prefix = signer.replace("/", ":") + ":"
    if not name.startswith(prefix):
        return (f"ClusterTrustBundle for signerName {signer} must be named with prefix {prefix}",)
    return subdomain_faults(name.removeprefix(prefix))


def _check_anchors(text: str, faults: Faults, path: Path) -> None:
    """Of certificates that authorities are known by, one after the other."""
    if len(text.encode()) > _BUNDLE_MAX:
        faults.too_long(path, _BUNDLE_MAX)
        return
    count = len(faults)
    seen: dict[bytes, list[int]] = {}
    for position, (kind, body) in enumerate(_BLOCK.findall(text)):
        fault, anchor = _anchor(kind, body)
        if fault:
            faults.invalid(path, _OMITTED, f"entry {position} {fault}")
        else:
            seen.setdefault(anchor, []).append(position)
    if len(faults) > count:
        return
    if not seen:
        faults.invalid(path, _OMITTED, "at least one trust anchor must be provided")
    for positions in seen.values():
        if len(positions) > 1:
            shown = " ".join(map(str, positions))
            faults.invalid(path, _OMITTED, f"duplicate trust anchor (indices [{shown}])")


def _anchor(kind: str, body: str) -> tuple[str, bytes]:
    """What is wrong with a block, if anything, and the certificate in it."""
    if kind != "CERTIFICATE":
        return f"has bad block type: {kind}", b""
    if ":" in body:
        return "has PEM block headers", b""
    try:
        der = base64.b64decode("".join(body.split()), validate=True)
        constraints = x509.load_der_x509_certificate(der).extensions.get_extension_for_class(x509.BasicConstraints)
    except x509.ExtensionNotFound:
        return "does not have the CA bit set", b""
    except ValueError:
        return "does not parse as X.509", b""
    return ("" if constraints.value.ca else "does not have the CA bit set"), der


def check_trust_bundle_update(new: Document, old: Document, faults: Faults) -> None:
    """A bundle that stays as it is need not be understood."""
    check_trust_bundle(new, faults, is_parsed=new["spec"]["trustBundle"] != old["spec"]["trustBundle"])
    signer = new["spec"].get("signerName", "")
    faults.immutable("spec.signerName", signer, old["spec"].get("signerName", ""))


def check_certificate_request(request: Document, faults: Faults) -> None:
    spec = request["spec"]
    check_signer(spec["signerName"], faults)
    for who, uid in (("podName", "podUID"), ("serviceAccountName", "serviceAccountUID"), ("nodeName", "nodeUID")):
        faults.all_invalid(f"spec.{who}", spec[who], subdomain_faults(spec[who]))
        if not spec[uid]:
            faults.invalid(f"spec.{uid}", spec[uid], "must not be empty")
        if len(spec[uid]) > _UID_MAX:
            faults.too_long(f"spec.{uid}", _UID_MAX)
    most = certificate_seconds_max(spec["signerName"])
    seconds = spec["maxExpirationSeconds"]
    if not CERTIFICATE_SECONDS_MIN <= seconds <= most:
        faults.invalid(
            "spec.maxExpirationSeconds", seconds, f"must be in the range [{CERTIFICATE_SECONDS_MIN}, {most}]"
        )
    stub = base64.b64decode(spec.get("stubPKCS10Request") or "")
    if stub:
        _check_stub(stub, faults)
    else:
        faults.invalid_whole("spec", _ONE_PROOF)


def certificate_seconds_max(signer: str) -> int:
    """For how long a signer may certify a pod: those of Kubernetes for a day, all others for a quarter of a year."""
    is_own = f".{signer}".partition("/")[0].endswith(".kubernetes.io")
    return DAY_SECONDS * (_OWN_SIGNER_DAYS if is_own else _SIGNER_DAYS)


def _check_stub(stub: bytes, faults: Faults) -> None:
    """Of a request for a certificate that only proves who holds the key."""
    if len(stub) > _KEY_MAX:
        faults.too_long(_STUB, _KEY_MAX)
        return
    try:
        request = x509.load_der_x509_csr(stub)
        key = request.public_key()
    except (ValueError, UnsupportedAlgorithm):
        faults.invalid_whole(_STUB, "must be a valid PKCS#10 CSR")
        return
    if isinstance(key, ec.EllipticCurvePublicKey) and key.curve.name not in _CURVES:
        faults.invalid(_STUB, f"curve {key.curve.name}", "elliptic public keys must use curve P256, P384, or P521")
    elif isinstance(key, rsa.RSAPublicKey) and key.key_size not in _MODULI:
        faults.invalid(_STUB, f"{key.key_size}-bit modulus", "RSA keys must have modulus size 3072 or 4096")
    elif not isinstance(key, ec.EllipticCurvePublicKey | rsa.RSAPublicKey | ed25519.Ed25519PublicKey):
        faults.invalid_whole(_STUB, "unknown public key type; supported types are Ed25519, ECDSA, and RSA")
    elif not request.is_signature_valid:
        faults.invalid_whole(_STUB, "invalid signature")


def check_certificate_request_update(new: Document, old: Document, faults: Faults) -> None:
    faults.immutable("spec", new["spec"], old["spec"], internal(new["spec"], "PodCertificateRequestSpec"))
