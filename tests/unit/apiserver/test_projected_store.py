"""Writes said with structs and made to documents."""

from __future__ import annotations

import pytest

from bayplan.apiserver.projected_store import ProjectedStore
from bayplan.apiserver.registry.catalogue import Catalogue
from bayplan.apiserver.registry.registry import Registry
from bayplan.apiserver.storage.storage import Storage
from bayplan.model.pod import Pod
from bayplan.model.structs import replace
from bayplan.store import Conflict
from bayplan.testing.builders import pod
from bayplan.worlds.bootstrap import bootstrap


def test_a_status_is_set_only_over_what_is_stored() -> None:
    registry = Registry(Storage(), Catalogue())
    bootstrap(registry, "127.0.0.1", 6443, 0)
    store = ProjectedStore(registry, "kubelet")
    old = store.create(pod("a").manifest().image("pause:3").obj(), 0)
    new = store.set_status(old, replace(old.status, phase="Running"), 9)
    assert store.get(Pod, "default", "a") is new
    assert new.status.phase == "Running"
    with pytest.raises(Conflict):
        store.set_status(old, replace(old.status, phase="Failed"), 9)
