"""Memory that is kept for the next decision instead of being given back to the system after each one.

Decisions make and drop arrays of some hundred kilobytes all the time. The C library of most Linux systems returns the
top of its heap whenever enough of it is free, and the next array then costs a page fault for every four kilobytes.
Elsewhere, and where the C library does not know the call, nothing happens.
"""

from __future__ import annotations

import ctypes
import sys

#: Parameters of mallopt, and their values in bytes.
_TRIM_THRESHOLD, _TOP_PAD, _MMAP_THRESHOLD = -1, -2, -3
_KEPT = 256 << 20  # may lie idle: more than decisions on 50,000 nodes need
_GROWTH = 16 << 20  # asked of the system at a time
_OWN_MAPPING_MIN = 32 << 20  # smaller arrays come from the heap; no larger value is allowed


def keep_memory() -> None:
    """For the whole process, from now on."""
    if not sys.platform.startswith("linux"):
        return
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError):
        return
    mallopt(_TRIM_THRESHOLD, _KEPT)
    mallopt(_TOP_PAD, _GROWTH)
    mallopt(_MMAP_THRESHOLD, _OWN_MAPPING_MIN)
