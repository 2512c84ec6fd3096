"""Units of time in integer nanoseconds, in which all of bayplan counts. Constants only; `timestamps` reads text."""

from typing import Final

MICROSECOND: Final = 1_000
MILLISECOND: Final = 1_000 * MICROSECOND
SECOND: Final = 1_000 * MILLISECOND
MINUTE: Final = 60 * SECOND
HOUR: Final = 60 * MINUTE
