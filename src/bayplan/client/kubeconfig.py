"""Kubeconfig files as kubectl reads them: which files, and how several become one.

Takes a path or the environment; gives clusters, users and contexts by name, each with the file it is from. The first
file that has a name wins, whole; unknown fields are ignored. Does not judge entries: `connecting` does, for those that
are used.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Generic, NamedTuple, TypeVar

import msgspec

from bayplan.model.conversion import convert
from bayplan.model.errors import Fault, InvalidObject
from bayplan.model.yaml_documents import YamlError, parse_yaml

KUBECONFIG: Final = "KUBECONFIG"
_HOME_FILE: Final = ".kube/config"
_KIND: Final = "Config"

EntryT = TypeVar("EntryT", bound=msgspec.Struct)


class Extension(msgspec.Struct):
    name: str = ""
    extension: Any = None


class ClusterEntry(msgspec.Struct, rename="kebab"):
    server: str = ""
    tls_server_name: str = ""
    insecure_skip_tls_verify: bool = False
    certificate_authority: str = ""
    certificate_authority_data: str = ""
    proxy_url: str = ""
    extensions: list[Extension] = []


class EnvironmentVariable(msgspec.Struct):
    name: str = ""
    value: str = ""


class ExecPlugin(msgspec.Struct, rename="camel"):
    command: str = ""
    args: list[str] = []
    env: list[EnvironmentVariable] = []
    api_version: str = ""
    install_hint: str = ""
    provide_cluster_info: bool = False
    interactive_mode: str = ""


class AuthProvider(msgspec.Struct):
    name: str = ""


class AuthInfo(msgspec.Struct, rename="kebab"):
    client_certificate: str = ""
    client_certificate_data: str = ""
    client_key: str = ""
    client_key_data: str = ""
    token: str = ""
    token_file: str = msgspec.field(default="", name="tokenFile")
    impersonate: str = msgspec.field(default="", name="as")
    impersonate_uid: str = msgspec.field(default="", name="as-uid")
    impersonate_groups: list[str] = msgspec.field(default_factory=list, name="as-groups")
    impersonate_extra: dict[str, list[str]] = msgspec.field(default_factory=dict, name="as-user-extra")
    username: str = ""
    password: str = ""
    auth_provider: AuthProvider | None = None
    exec: ExecPlugin | None = None


class Context(msgspec.Struct):
    cluster: str = ""
    user: str = ""
    namespace: str = ""


class _NamedCluster(msgspec.Struct):
    name: str = ""
    cluster: ClusterEntry = msgspec.field(default_factory=ClusterEntry)


class _NamedUser(msgspec.Struct):
    name: str = ""
    user: AuthInfo = msgspec.field(default_factory=AuthInfo)


class _NamedContext(msgspec.Struct):
    name: str = ""
    context: Context = msgspec.field(default_factory=Context)


class _File(msgspec.Struct, rename="kebab"):
    api_version: str = msgspec.field(default="", name="apiVersion")
    kind: str = ""
    clusters: list[_NamedCluster] = []
    users: list[_NamedUser] = []
    contexts: list[_NamedContext] = []
    current_context: str = ""


class NamedEntry(NamedTuple, Generic[EntryT]):
    """A cluster, user or context, and the file that it is from."""

    file: str
    value: EntryT

    def path(self, relative: str) -> str:
        """A path as the file means it: relative to the file."""
        return str(Path(self.file).absolute().parent / relative)


@dataclass
class Kubeconfig:
    """All files as one."""

    files: list[str] = field(default_factory=list)  # those that exist
    clusters: dict[str, NamedEntry[ClusterEntry]] = field(default_factory=dict)
    users: dict[str, NamedEntry[AuthInfo]] = field(default_factory=dict)
    contexts: dict[str, NamedEntry[Context]] = field(default_factory=dict)
    current_context: str = ""

    @property
    def is_empty(self) -> bool:
        return not (self.clusters or self.users or self.contexts or self.current_context)


def read_kubeconfig(explicit: str | None, environ: Mapping[str, str] = os.environ) -> Kubeconfig:
    """The file that is asked for, which must exist, or those of KUBECONFIG, or the one in the home directory."""
    faults: list[Fault] = []
    merged = Kubeconfig()
    for path in [explicit] if explicit is not None else _usual_files(environ):
        try:
            data = Path(path).read_bytes()
        except FileNotFoundError:
            if explicit is not None:
                faults.append(Fault(path, "", "", "no such file"))
        except (OSError, ValueError) as error:  # a ValueError: no file has such a name
            faults.append(Fault(path, "", "", f"cannot be read: {getattr(error, 'strerror', None) or error}"))
        else:
            _merge(merged, path, _parsed(path, data, faults), faults)
    if faults:
        raise InvalidObject(faults)
    return merged


def _usual_files(environ: Mapping[str, str]) -> list[str]:
    named = environ.get(KUBECONFIG, "")
    if named:
        return [path for path in dict.fromkeys(named.split(os.pathsep)) if path]
    return [str(Path(environ["HOME"]) / _HOME_FILE)] if environ.get("HOME") else []


def _parsed(path: str, data: bytes, faults: list[Fault]) -> _File:
    try:
        documents = [document for document in parse_yaml(data) if document is not None]
    except YamlError as error:
        faults.append(Fault(path, "", "", f"not valid YAML: {error}"))
        return _File()
    if not documents:
        return _File()
    file, mismatches = convert(documents[0], _File)
    faults.extend(Fault(path, "", where, message) for where, message in mismatches)
    if file.kind not in ("", _KIND):
        faults.append(Fault(path, "", "kind", f'expected "{_KIND}", got "{file.kind}"; is this a kubeconfig?'))
    return file


def _merge(merged: Kubeconfig, path: str, file: _File, faults: list[Fault]) -> None:
    merged.files.append(path)
    merged.current_context = merged.current_context or file.current_context
    _add(merged.clusters, path, "cluster", [(entry.name, entry.cluster) for entry in file.clusters], faults)
    _add(merged.users, path, "user", [(entry.name, entry.user) for entry in file.users], faults)
    _add(merged.contexts, path, "context", [(entry.name, entry.context) for entry in file.contexts], faults)


def _add(
    merged: dict[str, NamedEntry[EntryT]],
    path: str,
    kind: str,
    named: Iterable[tuple[str, EntryT]],
    faults: list[Fault],
) -> None:
    """Adds what no earlier file has; a name that a file has twice is a fault."""
    own: dict[str, NamedEntry[EntryT]] = {}
    for name, value in named:
        if name in own:
            faults.append(Fault(path, f'{kind} "{name}"', "name", "used more than once in this file"))
        own[name] = NamedEntry(path, value)
    for name, entry in own.items():
        merged.setdefault(name, entry)
