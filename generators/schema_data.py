"""What the API server knows of the built-in types, out of the sources of a Kubernetes release.

    python -m generators.schema_data KUBERNETES FOLDER [BASE...]

reads the Go types and the discovery documents in a checkout of Kubernetes, and writes `resources.txt` and a file for
each group version into FOLDER, in the form that `bayplan.apiserver.schema.messages` describes. With BASE, folders that
were written for earlier releases, only the types that are other ones since; `resources.txt` is changed by hand then.
The OpenAPI and protobuf files of a release are generated from the same Go types, but lack the names of Go types, which
error messages show, and the values of enums.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bayplan.apiserver.schema.messages import GROUPS, META_KINDS, SPECIAL_TYPES
from generators.go_packages import PLAIN, SCALARS, BadSourceError, Named, Package, Sources, home_of, resolve
from generators.go_types import GoField, GoFile
from generators.served_resources import discovered, resources_text

#: Types that no resource leads to, yet requests and answers are made of.
_ROOTS = {
    "meta.v1": (
        "APIResource",
        "GroupVersionForDiscovery",
        "PartialObjectMetadata",
        "PartialObjectMetadataList",
        "ServerAddressByClientCIDR",
        *META_KINDS,
    ),
}


_GATE = "gate="
#: Gates that the first version has off, and whose fields its server therefore drops from requests.
_OFF_AT_FIRST = frozenset({"GenericWorkload"})


class Writer:
    """The lines of the types that the served resources are made of."""

    def __init__(self) -> None:
        self._texts: dict[str, dict[str, str]] = {}

    def add(self, package: Package, name: str) -> None:
        """A type with all that its fields are made of."""
        if name in SPECIAL_TYPES or name in self._texts.setdefault(package.prefix, {}):
            return
        file = package.file_of(name)
        if file is None or name not in file.structs:
            raise BadSourceError(f"{package.path}: no struct {name}")
        self._texts[package.prefix][name] = ""  # a type may be made of itself
        struct = file.structs[name]
        atomic = " map=atomic" if struct.markers.get("structType") == ["atomic"] else ""
        lines = [line for each in struct.fields for line in self._field_lines(package, file, each)]
        self._texts[package.prefix][name] = "\n".join([f"{name}{atomic}", *lines]) + "\n"

    def texts(self) -> dict[str, str]:
        return {
            prefix: "\n".join(text for _, text in sorted(texts.items()))
            for prefix, texts in self._texts.items()
            if texts
        }

    def _field_lines(self, package: Package, file: GoFile, field: GoField) -> Iterator[str]:
        json_name, *options = field.tags.get("json", "-").split(",")
        if field.type in ("metav1.TypeMeta", "TypeMeta"):
            yield "  0 apiVersion string"
            yield "  0 kind string"
        elif json_name != "-" and (numbers := field.tags.get("protobuf")):
            yield f"  {numbers.split(',')[1]} {self._described(package, file, field, json_name, options)}"

    def _described(self, package: Package, file: GoFile, field: GoField, json_name: str, options: list[str]) -> str:
        named = resolve(package, file, field.type)
        text, message = self._type_text(package, named)
        if message:
            self.add(*message)
        if "inline" in options or not json_name:
            return f"~ {text}"
        may_be_absent = bool({"omitempty", "omitzero"} & {*options})
        optional = "optional" in field.markers or (may_be_absent and "required" not in field.markers)
        # Go's encoder takes no struct for empty.
        always = not may_be_absent or ("omitzero" not in options and named.is_struct)
        name = f"{json_name}{'' if optional else '!'}{'+' if always else ''}"
        return " ".join([name, text, *_attributes(package, file, field, named)])

    def _type_text(self, package: Package, named: Named) -> tuple[str, tuple[Package, str] | None]:
        container = named.container
        inner, message = named.inner, None
        if inner not in SCALARS and inner not in SPECIAL_TYPES and inner != "bytes":
            message = (named.package, inner)
            inner = inner if named.package is package else f"{named.package.prefix}.{inner}"
        return f"{'*' * named.pointer}{container}{SCALARS.get(inner, inner)}", message


def _attributes(package: Package, file: GoFile, field: GoField, named: Named) -> Iterator[str]:
    markers = field.markers
    if strategy := field.tags.get("patchStrategy"):
        yield f"patch={strategy}"
    if key := field.tags.get("patchMergeKey"):
        yield f"key={key}"
    for attribute, marker in (("list", "listType"), ("keys", "listMapKey"), ("map", "mapType")):
        if values := markers.get(marker):
            yield f"{attribute}={','.join(values)}"
    if values := markers.get("structType"):
        yield f"map={values[0]}"
    if values := markers.get("default"):
        yield f"default={_default(package, values[0])}"
    if values := _enum_of(package, file, field.type):
        yield f"enum={','.join(value.replace(' ', '_') for value in values)}"
    if go_name := _go_name(package, file, field.type, named):
        yield f"go={go_name}"
    for gate in markers.get("featureGate", ()):
        yield f"{_GATE}{gate}"


def _default(package: Package, text: str) -> str:
    """As JSON; `ref(Name)` is the constant of that name."""
    return json.dumps(package.constant(text[4:-1]) if text.startswith("ref(") else json.loads(text))


def _enum_of(package: Package, file: GoFile, text: str) -> list[str]:
    home, name = home_of(package, file, text[text.rfind("]") + 1 :].lstrip("*"))
    return [] if home.path in PLAIN else home.enum(name)


def _go_name(package: Package, file: GoFile, text: str, named: Named) -> str:
    """How Go prints a named type that is no struct: `v1.RestartPolicy`, `[]v1.AccessMode`."""
    if text.startswith("*"):
        return _go_name(package, file, text[1:], named)
    if named.inner == "float64" or text == "float64":
        return "float64"
    if text.startswith("[]"):
        inner = _go_name(package, file, text[2:], named)
        return f"[]{inner}" if inner else ""
    if text.startswith("map["):
        end = text.index("]")
        key, value = (_go_name(package, file, part, named) for part in (text[4:end], text[end + 1 :]))
        return f"map[{key or text[4:end]}]{value or _printed(package, file, text[end + 1 :])}" if key or value else ""
    home, name = home_of(package, file, text)
    if home.path in PLAIN:
        return f"{home.name}.{name}"
    known = home.file_of(name) if name not in SCALARS and name not in SPECIAL_TYPES else None
    return f"{home.name}.{name}" if known is not None and name in known.named else ""


def _printed(package: Package, file: GoFile, text: str) -> str:
    if text in SCALARS:
        return text
    home, name = home_of(package, file, text)
    return f"{home.name}.{name}"


def generate(kubernetes: Path) -> dict[str, str]:
    """Texts by file name."""
    sources = Sources(kubernetes)
    group_versions = discovered(kubernetes)
    writer = Writer()
    for prefix, kind in _kinds(group_versions):
        writer.add(sources.group_version(prefix), kind)
    return {"resources.txt": resources_text(group_versions)} | {f"{p}.txt": text for p, text in writer.texts().items()}


def without_gates(texts: dict[str, str]) -> dict[str, str]:
    """Gates are named only where a field is not there from the first version on."""
    return {name: "".join(f"{_kept(line)}\n" for line in text.splitlines()) for name, text in texts.items()}


def _kept(line: str) -> str:
    return line if line.rpartition(_GATE)[2] in _OFF_AT_FIRST else _without_gate(line)


def _without_gate(line: str) -> str:
    return line.partition(f" {_GATE}")[0]


def _kinds(group_versions: list[dict[str, Any]]) -> Iterator[tuple[str, str]]:
    """Group version and name of the types that requests and answers are made of."""
    for each in group_versions:
        prefix = _prefix(each["apiVersion"])
        for resource in each["resources"]:
            kind = resource["responseKind"]["kind"]
            yield prefix, kind
            if "list" in resource["verbs"]:
                yield prefix, f"{kind}List"
            for inner in resource.get("subresources", []):
                answer = inner["responseKind"]
                own = _prefix(f"{answer['group']}/{answer['version']}") if answer.get("group") else prefix
                yield own, answer["kind"]
    yield from ((prefix, name) for prefix, names in _ROOTS.items() for name in names)


def _prefix(api_version: str) -> str:
    group, _, version = api_version.rpartition("/")
    return f"{GROUPS[group]}.{version}"


def changed(texts: dict[str, str], bases: list[Path]) -> dict[str, str]:
    """The types that are not as the last base that has them says, by file name; new fields with their gates."""
    found = {}
    for name in texts.keys() - {"resources.txt"}:
        files = [base / name for base in bases if (base / name).is_file()]
        known = {kind: lines for file in files for kind, lines in _paragraphs(file.read_text(encoding="utf-8")).items()}
        made = {
            kind: [_without_gate(line) if _without_gate(line) in known.get(kind, ()) else line for line in lines]
            for kind, lines in _paragraphs(texts[name]).items()
        }
        other = ["\n".join(lines) for kind, lines in made.items() if lines != known.get(kind)]
        if other:
            found[name] = "\n\n".join(other) + "\n"
    return found


def _paragraphs(text: str) -> dict[str, list[str]]:
    """The lines of each type, by its name."""
    paragraphs = [paragraph.splitlines() for paragraph in text.rstrip("\n").split("\n\n")]
    return {lines[0].split()[0]: lines for lines in paragraphs}


def main(arguments: list[str]) -> int:
    if len(arguments) < 2:
        sys.stderr.write("usage: python -m generators.schema_data KUBERNETES FOLDER [BASE...]\n")
        return 2
    kubernetes, target, *base = (Path(each) for each in arguments)
    try:
        texts = generate(kubernetes)
        texts = changed(texts, base) if base else without_gates(texts)
    except BadSourceError as error:
        sys.stderr.write(f"error: {error}\n")
        return 2
    target.mkdir(parents=True, exist_ok=True)
    for name, text in texts.items():
        (target / name).write_text(text, encoding="utf-8")
    sys.stdout.write(f"{len(texts)} files in {target}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
