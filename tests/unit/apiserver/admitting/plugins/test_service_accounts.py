"""Pods get an account, its token and its pull secrets, unless somebody opts out."""

from __future__ import annotations

from typing import Any

import pytest
from tests.support.api_server import PODS, Api, pod

from bayplan.apiserver.admitting.plugins.switchable import SWITCHABLE

ACCOUNTS = "/api/v1/namespaces/default/serviceaccounts"
PATH = "/var/run/secrets/kubernetes.io/serviceaccount"


@pytest.fixture
def api() -> Api:
    made = Api()
    made.registry.plugins = frozenset(SWITCHABLE)
    return made


def created(api: Api, **spec: Any) -> Any:
    wanted = pod()
    wanted["spec"] |= spec
    return api.post(PODS, wanted)["spec"]


def test_a_pod_gets_the_default_account_and_its_token(api: Api) -> None:
    """In all containers, as a projected volume."""
    spec = created(api, initContainers=[{"name": "i", "image": "i"}])
    assert (spec["serviceAccountName"], spec["serviceAccount"]) == ("default", "default")
    (volume,) = spec["volumes"]
    assert volume["name"].startswith("kube-api-access-")
    assert volume["projected"]["defaultMode"] == 420
    assert volume["projected"]["sources"] == [
        {"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}},
        {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
        {
            "downwardAPI": {
                "items": [{"path": "namespace", "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.namespace"}}]
            }
        },
    ]
    mount = {"name": volume["name"], "readOnly": True, "mountPath": PATH}
    assert [one["volumeMounts"] for one in (*spec["initContainers"], *spec["containers"])] == [[mount], [mount]]


@pytest.mark.parametrize(
    ("of_account", "of_pod", "mounted"),
    [(None, None, True), (False, None, False), (False, True, True), (True, False, False), (None, False, False)],
)
def test_opting_out_of_the_token(api: Api, of_account: bool | None, of_pod: bool | None, mounted: bool) -> None:
    """The pod's word goes before the account's."""
    field = "automountServiceAccountToken"
    api.post(ACCOUNTS, {"metadata": {"name": "own"}, **({} if of_account is None else {field: of_account})})
    spec = created(api, serviceAccountName="own", **({} if of_pod is None else {field: of_pod}))
    assert ("volumes" in spec, "volumeMounts" in spec["containers"][0]) == (mounted, mounted)


def test_a_mount_of_the_pods_own_stays(api: Api) -> None:
    own = {"name": "mine", "mountPath": PATH}
    containers = [{"name": "c", "image": "i", "volumeMounts": [own]}]
    spec = created(api, containers=containers, volumes=[{"name": "mine", "emptyDir": {}}])
    assert [one["name"] for one in spec["volumes"]] == ["mine"]
    assert spec["containers"][0]["volumeMounts"] == [own]


def test_pull_secrets_are_those_of_the_account_unless_the_pod_has_some(api: Api) -> None:
    api.post(ACCOUNTS, {"metadata": {"name": "own"}, "imagePullSecrets": [{"name": "s"}]})
    assert created(api, serviceAccountName="own")["imagePullSecrets"] == [{"name": "s"}]
    api.delete(f"{PODS}/p")
    spec = created(api, serviceAccountName="own", imagePullSecrets=[{"name": "t"}])
    assert spec["imagePullSecrets"] == [{"name": "t"}]


def test_an_account_that_does_not_exist(api: Api) -> None:
    wanted = pod()
    wanted["spec"]["serviceAccountName"] = "none"
    why = 'error looking up service account default/none: serviceaccount "none" not found'
    assert api.refusal("POST", PODS, wanted) == (403, f'pods "p" is forbidden: {why}')


def test_volumes_of_two_pods_have_names_of_their_own(api: Api) -> None:
    first = created(api)["volumes"][0]["name"]
    second = api.post(PODS, pod("q"))["spec"]["volumes"][0]["name"]
    assert first != second


def test_mirror_pods_are_left_alone(api: Api) -> None:
    mirror = pod(annotations={"kubernetes.io/config.mirror": "x"})
    spec = api.post(PODS, {**mirror, "spec": {**mirror["spec"], "nodeName": "n"}})["spec"]
    assert "serviceAccountName" not in spec


def test_turned_off() -> None:
    assert "volumes" not in created(Api())
