"""A key that is equal for values of equal content, to find pods that are alike."""

import msgspec

_encoder = msgspec.json.Encoder(order="deterministic")


def fingerprint(value: object) -> bytes:
    """The content of structs and plain values as bytes; maps count as equal whatever their order."""
    return _encoder.encode(value)
