"""A key that is equal for values with equal content, to find identical pods."""

from hashlib import blake2b

import msgspec

_encoder = msgspec.json.Encoder(order="deterministic")

#: The content of structs and plain values as bytes; maps count as equal whatever their order.
fingerprint = _encoder.encode
#: The content as bytes, with maps in their order: what has equal ones can stand for each other to the last byte.
exact_fingerprint = msgspec.json.Encoder().encode


def digest(value: object) -> bytes:
    """The fingerprint in sixteen bytes, to tell whether something large has changed."""
    return blake2b(fingerprint(value), digest_size=16).digest()
