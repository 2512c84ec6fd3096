"""Owner references that come twice."""

from __future__ import annotations

from typing import Any

from tests.support.api_server import CONFIG_MAPS, Api


def owner(name: str, **more: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "name": name, "uid": f"uid-{name}", **more}


def warnings(answer: Any) -> list[str]:
    return [value for name, value in answer.headers if name == "warning"]


def test_repetitions_go_and_are_named() -> None:
    """Those that differ in anything stay."""
    api = Api()
    owners = [owner("a"), owner("b"), owner("a"), owner("a", blockOwnerDeletion=True), owner("b")]
    answer = api.answer("POST", CONFIG_MAPS, {"metadata": {"name": "c", "ownerReferences": owners}})
    stored = api.get(f"{CONFIG_MAPS}/c")
    assert stored["metadata"]["ownerReferences"] == [owners[0], owners[1], owners[3]]
    (warning,) = warnings(answer)
    assert warning.endswith('duplicate UID(s) observed: uid-a, uid-b"')
    stored["metadata"]["ownerReferences"] = [owner("z"), owner("z")]
    assert len(warnings(api.answer("PUT", f"{CONFIG_MAPS}/c", stored))) == 1
    assert api.get(f"{CONFIG_MAPS}/c")["metadata"]["ownerReferences"] == [owner("z")]


def test_others_need_no_warning() -> None:
    api = Api()
    owners = [owner("a"), owner("b")]
    assert warnings(api.answer("POST", CONFIG_MAPS, {"metadata": {"name": "c", "ownerReferences": owners}})) == []
