"""The Go packages of a checkout of Kubernetes that declare API types, and what the types of their fields stand for."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from bayplan.apiserver.schema.messages import GROUPS, SPECIAL_TYPES
from generators.go_types import GoFile, parse

#: Where the Go types of a group are, if not below k8s.io/api.
_ELSEWHERE = {
    "apiextensions": "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions",
    "apiregistration": "k8s.io/kube-aggregator/pkg/apis/apiregistration",
    "meta": "k8s.io/apimachinery/pkg/apis/meta",
}
SCALARS = {"string": "string", "bool": "bool", "int32": "int32", "int64": "int64", "int": "int64", "float64": "double"}
#: Types without a type of their own among the built-in ones, by the package they are in.
PLAIN = {"k8s.io/apimachinery/pkg/types": "string"}
_LISTS = "[]"
_MAPS = "{}"


class BadSourceError(Exception):
    """The checkout lacks something, or has it in a form that is not understood."""


@dataclass(frozen=True)
class Named:
    """A type as a field names it: `*[]v1.PodIP` is a list, `inner` core.v1's PodIP."""

    container: str
    pointer: bool
    package: Package
    inner: str

    @property
    def is_struct(self) -> bool:
        return not self.container and not self.pointer and self.inner not in {*SCALARS, "bytes", "ExtraValue"}


class Package:
    """The Go types of a group version, or of another package of Kubernetes."""

    def __init__(self, sources: Sources, path: str, prefix: str) -> None:
        self._sources = sources
        self.path = path
        self.prefix = prefix  # "core.v1"; empty if it is no group version

    @cached_property
    def files(self) -> list[GoFile]:
        folder = self._sources.folder / "staging" / "src" / self.path
        paths = [path for path in sorted(folder.glob("*.go")) if not path.name.endswith("_test.go")]
        if not paths:
            raise BadSourceError(f"{folder}: no Go files")
        return [parse(path.read_text(encoding="utf-8")) for path in paths]

    @cached_property
    def name(self) -> str:
        """As messages of a server show it: the last part of the path."""
        return self.path.rsplit("/", 1)[-1]

    def file_of(self, name: str) -> GoFile | None:
        return next((file for file in self.files if name in file.structs or name in file.named), None)

    def enum(self, name: str) -> list[str]:
        if not any(name in file.enums for file in self.files):
            return []
        return sorted(value for file in self.files for value in self._values(file, name))

    def _values(self, file: GoFile, name: str) -> Iterator[str]:
        yield from file.constants.get(name, {}).values()
        for other in file.converted.get(name, []):
            package, constant = home_of(self, file, other)
            yield package.constant(constant)

    def constant(self, name: str) -> str:
        for file in self.files:
            for constants in file.constants.values():
                if name in constants:
                    return constants[name]
        raise BadSourceError(f"{self.path}: no constant {name}")

    def imported(self, file: GoFile, alias: str) -> Package:
        return self._sources.package(file.imports[alias])


class Sources:
    """A checkout of Kubernetes."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._packages: dict[str, Package] = {}
        self._prefixes = {_path_of(group): group for group in GROUPS.values()}

    def package(self, path: str) -> Package:
        if path not in self._packages:
            parent, _, version = path.rpartition("/")
            prefix = f"{self._prefixes[parent]}.{version}" if parent in self._prefixes else ""
            self._packages[path] = Package(self, path, prefix)
        return self._packages[path]

    def group_version(self, prefix: str) -> Package:
        group, version = prefix.split(".")
        return self.package(f"{_path_of(group)}/{version}")


def _path_of(group: str) -> str:
    return _ELSEWHERE.get(group, f"k8s.io/api/{group}")


def resolve(package: Package, file: GoFile, text: str) -> Named:
    """What a type's text stands for: named types are followed to what they are made of."""
    if text == "[]byte":
        return Named("", False, package, "bytes")
    if text.startswith("*"):
        inner = resolve(package, file, text[1:])
        return Named(inner.container, True, inner.package, inner.inner)
    for start, container in (("[]", _LISTS), ("map[", _MAPS)):
        if text.startswith(start):
            inner = resolve(package, file, text[text.index("]") + 1 :])
            return Named(container + inner.container, False, inner.package, inner.inner)
    if "." in text:
        alias, name = text.split(".")
        if file.imports[alias] in PLAIN:
            return Named("", False, package, PLAIN[file.imports[alias]])
        return _resolve_name(package.imported(file, alias), name)
    return Named("", False, package, text) if text in SCALARS else _resolve_name(package, text)


def _resolve_name(package: Package, name: str) -> Named:
    if name in SPECIAL_TYPES:
        return Named("", False, package, name)
    home = package.file_of(name)
    if home is None:
        raise BadSourceError(f"{package.path}: no type {name}")
    return resolve(package, home, home.named[name]) if name in home.named else Named("", False, package, name)


def home_of(package: Package, file: GoFile, name: str) -> tuple[Package, str]:
    alias, _, short = name.rpartition(".")
    return (package.imported(file, alias), short) if alias else (package, short)
