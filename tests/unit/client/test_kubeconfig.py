"""Which kubeconfig files are read, and how several become one."""

from __future__ import annotations

from pathlib import Path

import pytest

from bayplan.client.kubeconfig import Kubeconfig, read_kubeconfig
from bayplan.model.errors import InvalidObject


def config(current: str = "", *, clusters: str = "", users: str = "", contexts: str = "") -> str:
    """A file: entries as `name=value`, the value being the server, the token or the cluster."""
    lines = ["apiVersion: v1", "kind: Config", f"current-context: '{current}'"]
    lines += ["clusters:", *(f"- {{name: {name}, cluster: {{server: {value}}}}}" for name, value in pairs(clusters))]
    lines += ["users:", *(f"- {{name: {name}, user: {{token: {value}}}}}" for name, value in pairs(users))]
    lines += ["contexts:", *(f"- {{name: {name}, context: {{cluster: {value}}}}}" for name, value in pairs(contexts))]
    return "\n".join(lines)


def pairs(entries: str) -> list[list[str]]:
    return [entry.split("=") for entry in entries.split()]


def read(folder: Path, *files: str | None, explicit: str | None = None) -> Kubeconfig:
    """The files of KUBECONFIG as one; None stands for one that is not there."""
    paths = []
    for number, text in enumerate(files):
        paths.append(folder / str(number))
        if text is not None:
            paths[-1].write_text(text)
    return read_kubeconfig(explicit, {"KUBECONFIG": ":".join(map(str, paths)), "HOME": str(folder / "home")})


def test_the_first_file_that_has_a_name_wins_whole(tmp_path: Path) -> None:
    merged = read(
        tmp_path,
        config(clusters="a=one", users="u=first"),
        config("c", clusters="a=two b=two", users="v=second", contexts="c=a"),
        config("d", contexts="c=b d=b"),
    )
    assert {name: entry.value.server for name, entry in merged.clusters.items()} == {"a": "one", "b": "two"}
    assert {name: entry.value.token for name, entry in merged.users.items()} == {"u": "first", "v": "second"}
    assert {name: entry.value.cluster for name, entry in merged.contexts.items()} == {"c": "a", "d": "b"}
    assert merged.current_context == "c"
    assert merged.clusters["b"].file == str(tmp_path / "1")


def test_files_of_the_list_may_be_missing(tmp_path: Path) -> None:
    assert read(tmp_path, None, config("x")).current_context == "x"
    assert read(tmp_path / "other", None).is_empty


def test_a_file_that_is_asked_for_is_the_only_one(tmp_path: Path) -> None:
    file = tmp_path / "asked"
    file.write_text(config("y", contexts="y=a"))
    merged = read(tmp_path, config("x", contexts="x=a"), explicit=str(file))
    assert (merged.current_context, list(merged.contexts)) == ("y", ["y"])


def test_the_file_in_the_home_directory_is_read_without_a_list(tmp_path: Path) -> None:
    (tmp_path / ".kube").mkdir()
    (tmp_path / ".kube" / "config").write_text(config("h"))
    assert read_kubeconfig(None, {"HOME": str(tmp_path)}).current_context == "h"
    assert read_kubeconfig(None, {"HOME": str(tmp_path), "KUBECONFIG": "/nowhere"}).is_empty
    assert read_kubeconfig(None, {}).is_empty


def test_paths_are_relative_to_the_file(tmp_path: Path) -> None:
    merged = read(tmp_path, config(clusters="a=one"))
    assert merged.clusters["a"].path("ca.crt") == str(tmp_path / "ca.crt")
    assert merged.clusters["a"].path("/etc/ca.crt") == "/etc/ca.crt"


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        pytest.param("a: [", "not valid YAML: line 2", id="no YAML"),
        pytest.param("kind: Pod", 'kind: expected "Config", got "Pod"', id="another kind"),
        pytest.param("clusters: 5", "clusters: expected a list, got an integer (5)", id="no list"),
        pytest.param("users: [{name: u, user: {token: 5}}]", "users[0].user.token: expected a string", id="no text"),
        pytest.param("text", "expected an object", id="no map"),
        pytest.param(config(clusters="a=1 a=2"), 'cluster "a": name: used more than once', id="a name twice"),
    ],
)
def test_a_file_that_is_none(tmp_path: Path, text: str, fault: str) -> None:
    with pytest.raises(InvalidObject) as caught:
        read(tmp_path, text)
    assert str(caught.value).startswith(f"{tmp_path / '0'}: ")
    assert fault in str(caught.value)


def test_a_file_that_is_asked_for_must_be_there(tmp_path: Path) -> None:
    with pytest.raises(InvalidObject, match="nowhere: no such file"):
        read_kubeconfig(str(tmp_path / "nowhere"), {})
    with pytest.raises(InvalidObject, match="cannot be read: embedded null byte"):
        read_kubeconfig("a\0b", {})


def test_unknown_fields_and_empty_files_are_fine(tmp_path: Path) -> None:
    assert read(tmp_path, "", "preferences: {colors: true}\nextensions: []\nusers:\n").is_empty
