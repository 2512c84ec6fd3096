"""The extenders of a configuration, for questions that may ask them.

Nothing here calls a service on the network unless it is told to: a question about files is answered from the files.
What extenders are sent then are the objects as they are known here, with the fields that decisions depend on.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from bayplan.client.extender_documents import encoded
from bayplan.client.extenders import HttpExtender, connect_extenders
from bayplan.config.loading import Configuration
from bayplan.model.kinds import Object
from bayplan.model.node import Node
from bayplan.model.pod import Pod


@contextmanager
def asking_extenders(
    configuration: Configuration, objects: Iterable[Object], *, called: bool
) -> Iterator[tuple[HttpExtender, ...]]:
    """Those to ask while the block runs; none unless they are `called`. The pods and nodes are among the objects."""
    if not called or not configuration.extenders:
        yield ()
        return
    known = {(type(obj).__name__, obj.metadata.namespace, obj.metadata.name): obj for obj in objects if _is_sent(obj)}
    extenders = connect_extenders(configuration.extenders, encoded(lambda *place: known.get(place)))
    try:
        yield extenders
    finally:
        for extender in extenders:
            extender.close()


def _is_sent(obj: Object) -> bool:
    return isinstance(obj, Pod | Node)
