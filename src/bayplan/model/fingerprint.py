"""A key that is equal for structs of equal content, to find pods that are alike."""

import msgspec

_encoder = msgspec.json.Encoder(order="deterministic")


def fingerprint(struct: msgspec.Struct) -> bytes:
    """The struct's content as bytes; maps count as equal whatever their order."""
    return _encoder.encode(struct)
