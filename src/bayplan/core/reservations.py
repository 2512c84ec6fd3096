"""What pods on the way were given and nobody has written down yet, or nobody has confirmed.

Puts the objects that plugins reserve into the cache in place of those that the watch shows, and takes them out again
when a pod does not get to its node. A write whose answer is not known may take effect at any time: until it is
answered the devices of its claims stay taken, whatever becomes of the pod. An answer reports the claims as they are
stored, and older news of them are passed over. Nothing is written here.
"""

from __future__ import annotations

from collections.abc import Iterable

from bayplan.core.actions import WriteVolumes
from bayplan.core.events import VolumesAnswered
from bayplan.core.on_the_way import OnTheWay, Reserved
from bayplan.core.snapshot import Objects
from bayplan.model.kinds import Object, object_key
from bayplan.model.resource_claims import ResourceClaim
from bayplan.model.structs import replace


class Reservations:
    """What one scheduler's pods on the way were given."""

    def __init__(self, objects: Objects) -> None:
        self._objects = objects
        self._allocating: dict[str, OnTheWay] = {}  # claims that get devices -> for whom
        self._writing: dict[str, list[OnTheWay]] = {}  # uid -> whose writes are not answered, oldest first
        self._given_back: list[tuple[Object, Object | None]] = []  # put back since it was last asked for

    def take(self, way: OnTheWay, changed: Iterable[Object]) -> None:
        """Assume these objects for the pod."""
        objects = self._objects
        for obj in changed:
            before = objects.find(obj)
            if isinstance(obj, ResourceClaim) and not _has_devices(before):
                objects.claims_in_flight.add(_place(obj))
                self._allocating[object_key(obj)] = way
            way.reserved[type(obj), object_key(obj)] = Reserved(before, obj)
            objects.put(obj)
        way.to_write = tuple(changed)

    def write(self, way: OnTheWay) -> WriteVolumes:
        """Have the objects written."""
        self._writing.setdefault(way.uid, []).append(way)
        return WriteVolumes(way.queued.key, way.uid, way.to_write)

    def answered(self, answer: VolumesAnswered) -> OnTheWay | None:
        """Whose write was answered; what is stored now is known, unless the answer was lost."""
        ways = self._writing.get(answer.uid)
        if not ways:
            return None
        way = ways.pop(0)
        if not ways:
            del self._writing[answer.uid]
        if not answer.lost:
            self._take_in(way, answer)
        return way

    def _take_in(self, way: OnTheWay, answer: VolumesAnswered) -> None:
        stored = {object_key(claim): claim for claim in answer.claims}
        for place in [place for place in way.reserved if place[0] is ResourceClaim]:
            reported, before = stored.get(place[1]), way.reserved[place].before
            if before is None:
                # It was made for the pod. The watch may never show it if it goes soon, so it stays one that is assumed.
                continue
            if answer.error if reported is None else _is_later(before, reported):
                self._put_back(way, place)
                continue
            assumed = self._settle(way, place).assumed
            if reported is not None and self._is_news(reported, assumed):
                self._objects.put(reported)
        if answer.error:
            way.written = tuple(claim for claim in answer.claims if _is_used_by(claim, way.uid))
        else:
            way.written = way.to_write
            way.to_write = ()
            for place in [place for place, (before, _) in way.reserved.items() if before is not None]:
                self._settle(way, place)

    def _is_news(self, reported: ResourceClaim, assumed: Object) -> bool:
        """Whether the watch has not shown anything later, such as that the claim is gone."""
        held = self._objects.find(reported)
        return held is assumed or (
            isinstance(held, ResourceClaim) and _is_same(held, reported) and _version(held) <= _version(reported)
        )

    def undo(self, way: OnTheWay) -> None:
        """The pod does not get to its node."""
        is_writing = self._is_writing(way)
        for place in list(way.reserved):
            if not (is_writing and place[0] is ResourceClaim):
                self._put_back(way, place)

    def confirm(self, way: OnTheWay) -> None:
        """The pod is on its node: what it was given is what the watch shows."""
        if way.reserved and not self._is_writing(way):
            for place in list(way.reserved):
                self._settle(way, place)

    def take_given_back(self) -> list[tuple[Object, Object | None]]:
        """What was put back since this was last asked: as it was assumed, and as it is again (None: not there)."""
        given_back, self._given_back = self._given_back, []
        return given_back

    def _is_writing(self, way: OnTheWay) -> bool:
        return any(other is way for other in self._writing.get(way.uid, ()))

    def _put_back(self, way: OnTheWay, place: tuple[type, str]) -> None:
        before, assumed = self._settle(way, place)
        if self._objects.find(assumed) is assumed:  # nobody has changed it since
            self._given_back.append((assumed, before))
            if before is None:
                self._objects.remove(assumed)
            else:
                self._objects.put(before)

    def _settle(self, way: OnTheWay, place: tuple[type, str]) -> Reserved:
        reserved = way.reserved.pop(place)
        if place[0] is ResourceClaim and self._allocating.get(place[1]) is way:
            del self._allocating[place[1]]
            self._objects.claims_in_flight.discard(_place(reserved.assumed))
        return reserved

    # ---------------------------------------------------------------- what the watch shows

    def show(self, seen: Object) -> None:
        """The watch shows the object; devices that its claim gets at this time stay with it."""
        if isinstance(seen, ResourceClaim):
            key = object_key(seen)
            way = self._allocating.get(key)
            if way is not None and seen.status.allocation is None:
                assumed = way.reserved[ResourceClaim, key].assumed
                assert isinstance(assumed, ResourceClaim)
                if _is_same(assumed, seen):
                    overlaid = replace(seen, status=assumed.status)
                    way.reserved[ResourceClaim, key] = Reserved(seen, overlaid)
                    seen = overlaid
            held = self._objects.find(seen)
            if isinstance(held, ResourceClaim) and _is_same(held, seen) and _version(held) > _version(seen):
                return
        self._objects.put(seen)

    def show_gone(self, gone: Object) -> None:
        """The watch shows that the object is gone; another claim of its name is not."""
        held = self._objects.find(gone)
        if isinstance(gone, ResourceClaim) and held is not None and held.metadata.uid != gone.metadata.uid:
            return
        self._objects.remove(gone)


def _place(obj: Object) -> tuple[str, str]:
    return obj.metadata.namespace, obj.metadata.name


def _has_devices(claim: Object | None) -> bool:
    return isinstance(claim, ResourceClaim) and claim.status.allocation is not None


def _is_same(known: ResourceClaim, other: ResourceClaim) -> bool:
    """A claim that is still to be made has no uid yet."""
    return known.metadata.uid in ("", other.metadata.uid)


def _is_later(seen: Object, reported: ResourceClaim) -> bool:
    """Whether the watch has shown the claim as it was after the write that is answered now."""
    return isinstance(seen, ResourceClaim) and _is_same(seen, reported) and _version(seen) > _version(reported)


def _is_used_by(claim: ResourceClaim, uid: str) -> bool:
    return any(user.uid == uid for user in claim.status.reserved_for)


def _version(claim: ResourceClaim) -> int:
    version = claim.metadata.resource_version
    return int(version) if version.isdigit() else 0
