"""Single texts under other names, by the rule of their field.

Takes one text at a time. A first pass over a cluster teaches `Learned` what there is; a second one, with what was
found, gives the new texts. Equal texts stay equal, different ones different, and names, times and numbers keep their
order. Knows nothing of objects.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from bayplan.admission.priority import SYSTEM_CLASSES
from bayplan.analysis.anonymizing import well_known
from bayplan.analysis.anonymizing.renaming import Renaming, with_parts
from bayplan.analysis.anonymizing.rules import TextRule
from bayplan.analysis.anonymizing.verdicts import ExpressionVerdicts
from bayplan.controllers.workloads.expand import POD_INDEX_LABEL
from bayplan.controllers.workloads.job_pods import JOB_INDEX_LABEL
from bayplan.core.columns.ports import ANY_ADDRESS
from bayplan.core.plugins.csi_migration import ZONE_SEPARATOR
from bayplan.model.cron_schedules import ScheduleError, parse_schedule
from bayplan.model.kinds import KINDS
from bayplan.model.quantity import parse_quantity
from bayplan.model.resource_claims import DEVICE_CLASS_PREFIX
from bayplan.model.selectors import parse_go_integer
from bayplan.model.time_units import SECOND
from bayplan.model.timestamps import format_time, parse_time
from bayplan.model.well_known import ARCHITECTURE, OPERATING_SYSTEM

_LATEST: Final = ":latest"  # what an image without a tag means
_NEWEST: Final = parse_time("2000-01-01T00:00:00Z")  # what the newest time of a cluster becomes
_SHARE_OR_INDEXES: Final = re.compile(r"[0-9]+%|[0-9][0-9,-]*")
#: Parts of disks' names that drivers look at.
_DISK_WORDS: Final = frozenset({"aws", "vol", "projects", "zones", "regions", "disks", "UNSPECIFIED"})
_INDEX_LABELS: Final = (POD_INDEX_LABEL, JOB_INDEX_LABEL)
_PLATFORM_LABELS: Final = (OPERATING_SYSTEM, ARCHITECTURE)


@dataclass(eq=False)
class Learned:
    """What the first pass learns."""

    names: set[str] = field(default_factory=set)
    ordinals: set[str] = field(default_factory=set)
    uids: set[str] = field(default_factory=set)
    versions: set[str] = field(default_factory=set)
    times: set[int] = field(default_factory=set)
    compared_keys: set[str] = field(default_factory=set)  # of labels whose values are compared as numbers
    numbers: dict[str, set[int]] = field(default_factory=dict)  # the numbers among the values of each label
    verdicts: ExpressionVerdicts = field(default_factory=ExpressionVerdicts)

    def learn(self, name: str) -> str:
        self.names.add(name)
        return name

    def ranks(self) -> dict[str, dict[int, str]]:
        """By label, what its numbers become: their places in the order."""
        return {
            key: {number: str(rank) for rank, number in enumerate(sorted(self.numbers[key]), start=1)}
            for key in self.compared_keys & self.numbers.keys()
        }


class Texts:
    """The rules, for one pass."""

    def __init__(self, found: Learned, *, learning: bool) -> None:
        self._found = found
        self._rename: Callable[[str], str] = found.learn if learning else Renaming(found.names, found.ordinals)
        self._uids = _numbered(sorted(found.uids), "uid-")
        self._versions = _numbered(sorted(found.versions, key=lambda text: (len(text), text)), width=0)
        self.span = _NEWEST - max(found.times, default=0) // SECOND * SECOND
        self._numbers = {} if learning else found.ranks()
        self.by_rule: dict[TextRule, Callable[[str], str]] = {
            TextRule.WORD: lambda text: text if text in well_known.WORDS else self.name(text),
            TextRule.AMOUNT: lambda text: text if _is_amount(text) else self.name(text),
            TextRule.SCHEDULE: lambda text: text if _is_schedule(text) else self.name(text),
            TextRule.NAME: self.name,
            TextRule.SCHEDULER: lambda text: text if text in well_known.SCHEDULERS else self.name(text),
            TextRule.UID: self._uid,
            TextRule.VERSION: self._version,
            TextRule.TIME: self._time,
            TextRule.KEY: self.key,
            TextRule.CONDITION: lambda text: text if text in well_known.WORDS else self.key(text),
            TextRule.KIND: lambda text: text if text in KINDS else self.name(text),
            TextRule.GROUP: self._group,
            TextRule.DRIVER: self._driver,
            TextRule.DRIVERS: lambda text: ",".join(map(self._driver, text.split(","))),
            TextRule.RESOURCE: self.resource,
            TextRule.QUALIFIED: self.qualified,
            TextRule.EXPRESSION: found.verdicts.stand_in,
            TextRule.IMAGE: self._image,
            TextRule.DISK: self._disk,
            TextRule.HOST_IP: lambda text: text if text == ANY_ADDRESS else self.name(text),
        }

    def name(self, name: str) -> str:
        return name if name in SYSTEM_CLASSES else self._rename(name)

    def key(self, key: str) -> str:
        if key in well_known.KEYS:
            return key
        domain, slash, name = key.rpartition("/")
        return f"{self._domain(domain)}{slash}{self.name(name)}"

    def label(self, key: str, value: str) -> str:
        """The value of a label, a taint or a requirement, next to its key."""
        if (key in _PLATFORM_LABELS and value in well_known.PLATFORMS) or (key in _INDEX_LABELS and value.isdecimal()):
            return value
        number = parse_go_integer(value)
        if number is not None:
            self._found.numbers.setdefault(key, set()).add(number)
            if key in self._numbers:
                return _as_written(value, number, self._numbers[key][number])
        if value in self._found.uids:
            return self._uid(value)
        return ZONE_SEPARATOR.join(map(self.name, value.split(ZONE_SEPARATOR)))

    def resource(self, name: str) -> str:
        """The name of a kind of resource; it stays one of Kubernetes or one of a vendor."""
        if name in well_known.RESOURCES:
            return name
        if name.startswith(DEVICE_CLASS_PREFIX):
            return DEVICE_CLASS_PREFIX + self.name(name.removeprefix(DEVICE_CLASS_PREFIX))
        if (bare := name.removeprefix("requests.")) != name:  # as in a quota
            return f"requests.{self.resource(bare)}"
        for prefix in well_known.RESOURCE_PREFIXES:
            if name.startswith(prefix):
                rest = name.removeprefix(prefix)
                return prefix + (rest if well_known.PAGE_SIZE.fullmatch(rest) else self._driver(rest))
        return self.key(name)

    def qualified(self, name: str) -> str:
        """The name of an attribute or a capacity of a device. Without a domain, it is in its driver's."""
        domain, slash, identifier = name.rpartition("/")
        return f"{self._driver(domain)}{slash}{self.name(identifier)}"

    def _domain(self, domain: str) -> str:
        if domain in well_known.DOMAINS:
            return domain
        for parent in well_known.PARENT_DOMAINS:
            if domain.endswith(f".{parent}"):
                return f"{self.name(domain.removesuffix(f'.{parent}'))}.{parent}"
        return self.name(domain)

    def _driver(self, driver: str) -> str:
        return driver if driver in well_known.DRIVER_NAMES else self.name(driver)

    def _group(self, api_version: str) -> str:
        """A group of the API, a version, or both."""
        if api_version in well_known.GROUPS or well_known.VERSION.fullmatch(api_version):
            return api_version
        group, slash, version = api_version.rpartition("/")
        if not slash:
            return self.name(api_version)
        new_version = version if well_known.VERSION.fullmatch(version) else self.name(version)
        return f"{group if group in well_known.GROUPS else self.name(group)}/{new_version}"

    def _uid(self, uid: str) -> str:
        self._found.uids.add(uid)
        return self._uids.get(uid, uid)

    def _version(self, version: str) -> str:
        self._found.versions.add(version)
        return self._versions.get(version, version)

    def _time(self, text: str) -> str:
        try:
            time = parse_time(text)
        except ValueError:
            return self.name(text)
        self._found.times.add(time)
        new = format_time(time + self.span)
        return f"{new[:-1]}.{time % SECOND:09}Z" if time % SECOND else new

    def _image(self, image: str) -> str:
        bare = image.removesuffix(_LATEST)
        return self.name(bare) + image[len(bare) :]

    def _disk(self, disk: str) -> str:
        return with_parts(disk, lambda part: part if part in _DISK_WORDS else self.name(part))


def _numbered(ordered: list[str], prefix: str = "", width: int | None = None) -> dict[str, str]:
    digits = len(str(len(ordered))) if width is None else width
    return {text: f"{prefix}{number:0{digits}}" for number, text in enumerate(ordered, start=1)}


def _as_written(old: str, number: int, new: str) -> str:
    """The new number with the plus sign and the zeros of the old one: `05` and `5` are different values."""
    digits = old.lstrip("+-")
    zeros = "0" * (len(digits) - len(str(abs(number))))
    return f"{'+' if old.startswith('+') else ''}{zeros}{new}"


def _is_amount(text: str) -> bool:
    try:
        parse_quantity(text)
    except ValueError:
        return _SHARE_OR_INDEXES.fullmatch(text) is not None
    return True


def _is_schedule(text: str) -> bool:
    try:
        parse_schedule(text)
    except ScheduleError:
        return False
    return True
