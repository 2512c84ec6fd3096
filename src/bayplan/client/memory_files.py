"""Files that are only in memory, for what takes nothing but files: Python's TLS, of certificates and their keys.

Takes bytes; gives a path that can be opened while the `with` block lasts. No disk is written: the file system may be
read-only, and a key is nothing to leave behind. Where the system has no such files, a temporary one takes their place.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def file_in_memory(content: bytes) -> Iterator[str]:
    """The path of a file with this content, which nobody else can read."""
    if not hasattr(os, "memfd_create"):
        with tempfile.NamedTemporaryFile() as file:
            file.write(content)
            file.flush()
            yield file.name
        return
    descriptor = os.memfd_create("bayplan")
    try:
        with open(descriptor, "wb", closefd=False) as file:
            file.write(content)
        yield f"/proc/self/fd/{descriptor}"
    finally:
        os.close(descriptor)
