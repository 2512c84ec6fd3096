"""Files, directories and standard input as objects: YAML or JSON, plain or gzipped, single, many or in lists.

Returns the objects in order of appearance and counts the ignored kinds; unknown fields are ignored and a missing
namespace becomes `default`. All faults in all input are collected and raised at once, as `InvalidObject`.
The only module of `model` that touches files. JSON is decoded straight into structs, item by item.
"""

import gc
import gzip
import io
import sys
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import NoneType
from typing import Any, BinaryIO, NamedTuple, TypeAlias

import msgspec

from bayplan.model.checks import check
from bayplan.model.conversion import FieldFault, convert, described
from bayplan.model.errors import Fault, InvalidObject
from bayplan.model.json_documents import JsonError, as_text, parse_json, split_json
from bayplan.model.kinds import ALL_KINDS, KindInfo, Object, kind_info, meant_kind
from bayplan.model.object_lines import ObjectName, object_lines
from bayplan.model.well_known import DEFAULT_NAMESPACE
from bayplan.model.yaml_documents import YamlError, parse_yaml

STDIN = "-"
STDIN_NAME = "standard input"
SUFFIXES = (".yaml", ".yml", ".json")

#: The files that objects came from.
Sources: TypeAlias = Mapping[ObjectName, str]

#: How large a file may be, decompressed: far larger than a dump of the largest clusters.
BYTES_MAX = 512 * 1024 * 1024
#: In the list of a dump: the version that the cluster's API server reported.
VERSION_FIELD = "kubernetesVersion"
_GZIP_MAGIC = b"\x1f\x8b"


@dataclass(slots=True)
class ReadResult:
    """What was read: the objects, the number of ignored objects by kind, the opened files, and what came from which."""

    objects: list[Object] = field(default_factory=list)
    skipped: Counter[str] = field(default_factory=Counter)
    files: list[str] = field(default_factory=list)
    sources: dict[ObjectName, str] = field(default_factory=dict)
    is_whole: bool = False  # every kind of a cluster was asked for, so that what is missing does not exist
    kubernetes_version: str | None = None  # of the cluster, if the input says it: `v1.36.4`


def read(paths: Sequence[str | Path], stdin: BinaryIO | None = None) -> ReadResult:
    """Every object in the files and folders (`-` is standard input); InvalidObject with all that is wrong."""
    collector = _Collector()
    with without_garbage_collection():
        for source, file in _files(paths, collector.faults):
            collector.result.files.append(source)
            data = _content(source, file, stdin, collector.faults)
            if data is not None:
                collector.add_text(source, data)
    if not collector.faults and not collector.result.objects:
        collector.faults.append(_nothing_found(collector.result))
    return collector.finish()


def from_dicts(objects: Iterable[Any], source: str = "objects") -> ReadResult:
    """Reads parsed objects; an empty list is not a fault here."""
    collector = _Collector()
    with without_garbage_collection():
        for position, item in enumerate(objects):
            collector.add_value(source, f"[{position}]", dict(item) if isinstance(item, Mapping) else item)
    return collector.finish()


def from_texts(texts: Iterable[tuple[str, bytes]]) -> ReadResult:
    """Reads the text of files and lists, each with what to call it in messages."""
    collector = _Collector()
    with without_garbage_collection():
        for source, data in texts:
            collector.add_text(source, data)
    return collector.finish()


def joined(results: Iterable[ReadResult]) -> ReadResult:
    """What was read in several goes."""
    whole = ReadResult()
    for result in results:
        whole.objects += result.objects
        whole.skipped += result.skipped
        whole.files += result.files
        whole.sources |= result.sources
    return whole


def source_of(name: str, sources: Sources) -> str:
    """The file that an object came from, called as in a fault: `Deployment shop/web`; "" if that is not known."""
    return sources.get(parsed_name(name), "")


def lines_in(files: Iterable[str]) -> dict[str, dict[ObjectName, int]]:
    """File -> the lines on which its objects begin; files that cannot be read any longer are left out."""
    texts = ((file, _content(file, Path(file), None, [])) for file in files if file != STDIN_NAME)
    return {file: object_lines(data) for file, data in texts if data is not None}


def parsed_name(name: str) -> ObjectName:
    """Of an object that is called as in a fault."""
    kind, _, key = name.partition(" ")
    namespace, _, own_name = key.rpartition("/")
    return kind, namespace, own_name


@contextmanager
def locating(sources: Sources) -> Iterator[None]:
    """Faults that are found after reading get the files of their objects."""
    try:
        yield
    except InvalidObject as error:
        faults = [replace(fault, source=fault.source or source_of(fault.object, sources)) for fault in error.faults]
        raise InvalidObject(faults) from error


class SourcedDocument(NamedTuple):
    """A whole object as it was written, whatever its kind, and where it stands."""

    source: str
    where: str
    document: dict[str, Any]


def read_documents(paths: Sequence[str | Path], stdin: BinaryIO | None = None) -> list[SourcedDocument]:
    """Every object in the files with all of its fields; InvalidObject with all that cannot be read."""
    faults: list[Fault] = []
    found: list[SourcedDocument] = []
    for source, file in _files(paths, faults):
        data = _content(source, file, stdin, faults)
        if data is None:
            continue
        try:
            values = _values(source, data)
        except (JsonError, YamlError) as error:
            faults.append(Fault(source, "", "", str(error)))
            continue
        for where, value in values:
            if isinstance(value, dict):
                found.append(SourcedDocument(source, where, value))
            else:
                faults.append(Fault(source, where, "", f"expected an object, got {described(value)}"))
    if faults:
        raise InvalidObject(faults)
    return found


def _values(source: str, data: bytes) -> list[tuple[str, Any]]:
    """The objects of a file, those of lists one by one."""
    is_json = source.removesuffix(".gz").endswith(".json") or data.lstrip()[:1] in (b"{", b"[")
    try:
        documents = [parse_json(document) for document in split_json(data)] if is_json else list(parse_yaml(data))
    except JsonError:
        # A YAML document may begin with a brace too.
        if source.removesuffix(".gz").endswith(".json"):
            raise
        documents = list(parse_yaml(data))
    return [
        item
        for position, document in enumerate(documents)
        if document is not None
        for place, value in _flattened(f"document {position + 1}", document)
        for item in _items(place, value)
    ]


def _items(where: str, value: Any) -> Iterator[tuple[str, Any]]:
    """The objects of a list, with the type that the list implies; or the object itself."""
    if not isinstance(value, dict) or not _is_list(value.get("kind"), value.get("items")):
        yield where, value
        return
    api_version, kind = _list_defaults(value.get("apiVersion"), value.get("kind"))
    implied = {"apiVersion": api_version, "kind": kind} if kind else {}
    for position, item in enumerate(value.get("items") or ()):
        yield f"{where}.items[{position}]", {**implied, **item} if isinstance(item, dict) else item


class _Header(msgspec.Struct, rename="camel"):
    api_version: str | None = None
    kind: str | None = None


class _Envelope(_Header):
    items: list[msgspec.Raw] | None = None
    kubernetes_version: str | None = None  # in dumps


_decode_header = msgspec.json.Decoder(_Header).decode
_decode_envelope = msgspec.json.Decoder(_Envelope).decode
_decoders = {kind: msgspec.json.Decoder(info.struct) for kind, info in ALL_KINDS.items()}


class _Collector:
    """Gathers objects and faults; one for each call."""

    def __init__(self) -> None:
        self.result = ReadResult()
        self.faults: list[Fault] = []

    def finish(self) -> ReadResult:
        if self.faults:
            raise InvalidObject(self.faults)
        return self.result

    def add_text(self, source: str, data: bytes) -> None:
        """The documents of one file: JSON when it looks like that, else YAML."""
        name = source.removesuffix(".gz")
        looks_like_json = data.lstrip()[:1] in (b"{", b"[")
        try:
            if not looks_like_json and not name.endswith(".json"):
                self._add_yaml(source, data)
                return
            try:
                documents = split_json(data)
            except JsonError:
                # A YAML document may begin with a brace too.
                if name.endswith(".json"):
                    raise
                self._add_yaml(source, data)
                return
            self._add_json(source, documents)
        except (JsonError, YamlError) as error:
            self._fault(source, "", "", str(error))

    def add_value(self, source: str, where: str, value: Any) -> None:
        """One parsed document, which may be a list of objects."""
        if not isinstance(value, dict):
            self._fault(source, where, "", f"expected an object, got {described(value)}")
            return
        api_version, kind, items = value.get("apiVersion"), value.get("kind"), value.get("items")
        if _is_list(kind, items):
            if not isinstance(items, list | NoneType):
                self._fault(source, where, "items", f"expected a list, got {described(items)}")
                return
            self._note_version(source, where, value.get(VERSION_FIELD))
            defaults = _list_defaults(api_version, kind)
            for position, item in enumerate(items or ()):
                self._add_parsed(source, f"{where}.items[{position}]", item, defaults)
        else:
            self._add_parsed(source, where, value, ("", ""))

    def _add_yaml(self, source: str, data: bytes) -> None:
        is_empty = True
        for position, document in enumerate(parse_yaml(data)):
            if document is None:
                continue
            is_empty = False
            # A sequence of objects is not a manifest, but other tools print it.
            for where, value in _flattened(f"document {position + 1}", document):
                self.add_value(source, where, value)
        if is_empty:
            self._fault(source, "", "", "the file is empty")

    def _add_json(self, source: str, documents: list[memoryview]) -> None:
        if not documents:
            self._fault(source, "", "", "the file is empty")
        for position, document in enumerate(documents):
            where = f"document {position + 1}"
            try:
                envelope = _decode_envelope(document)
            except (msgspec.DecodeError, RecursionError):
                self._add_json_slowly(source, where, document)
                continue
            if _is_list(envelope.kind, envelope.items):
                self._note_version(source, where, envelope.kubernetes_version)
                defaults = _list_defaults(envelope.api_version, envelope.kind)
                for index, item in enumerate(envelope.items or ()):
                    self._add_raw(source, f"{where}.items[{index}]", item, defaults)
            else:
                self._add_raw(source, where, document, ("", ""))

    def _note_version(self, source: str, where: str, version: Any) -> None:
        """What a dump says of its cluster."""
        known = self.result.kubernetes_version
        if not isinstance(version, str | NoneType):
            self._fault(source, where, VERSION_FIELD, f"expected a string, got {described(version)}")
        elif version is not None and known is not None and version != known:
            self._fault(source, where, VERSION_FIELD, f"{version}, but other input is of {known}")
        elif version is not None:
            self.result.kubernetes_version = version

    def _add_raw(self, source: str, where: str, raw: msgspec.Raw | memoryview, defaults: tuple[str, str]) -> None:
        """The fast way: straight into the struct. Whatever that refuses goes the slow way."""
        try:
            header = _decode_header(raw)
            api_version, kind = header.api_version or defaults[0], header.kind or defaults[1]
            info = kind_info(api_version, kind)
            obj: Object | None = None if info is None else _decoders[kind].decode(raw)
        except (msgspec.DecodeError, RecursionError):
            try:
                value = parse_json(raw)
            except JsonError as error:
                self._fault(source, where, "", str(error))
            else:
                self._add_parsed(source, where, value, defaults)
            return
        if info is None or obj is None:
            self._skip(source, where, api_version, kind)
        else:
            self._accept(source, where, obj, info, ())

    def _add_json_slowly(self, source: str, where: str, document: memoryview) -> None:
        try:
            value = parse_json(document)
        except JsonError as error:
            self._fault(source, where, "", str(error))
            return
        for place, item in _flattened(where, value):
            self.add_value(source, place, item)

    def _add_parsed(self, source: str, where: str, value: Any, defaults: tuple[str, str]) -> None:
        if not isinstance(value, dict):
            self._fault(source, where, "", f"expected an object, got {described(value)}")
            return
        api_version, kind = value.get("apiVersion") or defaults[0], value.get("kind") or defaults[1]
        if not isinstance(api_version, str) or not isinstance(kind, str):
            self._fault(source, where, "", "apiVersion and kind must be strings")
            return
        info = kind_info(api_version, kind)
        if info is None:
            self._skip(source, where, api_version, kind)
            return
        obj, faults = convert(value, info.struct)
        self._accept(source, where, obj, info, faults)

    def _skip(self, source: str, where: str, api_version: str, kind: str) -> None:
        if not kind:
            self._fault(source, where, "kind", "is missing")
            return
        meant = "" if kind in ALL_KINDS else meant_kind(api_version, kind)
        if meant:
            self._fault(source, where, "kind", f"unknown kind {kind!r}; did you mean {meant}?")
            return
        group = api_version.rpartition("/")[0]
        self.result.skipped[f"{kind}.{group}" if kind in ALL_KINDS else kind] += 1

    def _accept(self, source: str, where: str, obj: Object, info: KindInfo, type_faults: Sequence[FieldFault]) -> None:
        metadata = obj.metadata
        if not info.namespaced:
            metadata.namespace = ""
        elif not metadata.namespace:
            metadata.namespace = DEFAULT_NAMESPACE
        faults = check(obj)
        if type_faults or faults:
            label = _label(info.kind, obj, where)
            self.faults += [Fault(source, label, path, message) for path, message in (*type_faults, *faults)]
        if metadata.name:
            self._remember(source, where, obj, info)
        self.result.objects.append(obj)

    def _remember(self, source: str, where: str, obj: Object, info: KindInfo) -> None:
        identity = (info.kind, obj.metadata.namespace, obj.metadata.name)
        first_source = self.result.sources.get(identity)
        if first_source is None:
            self.result.sources[identity] = source
        else:
            again = "appears twice in the input" if first_source == source else f"already defined in {first_source}"
            self._fault(source, _label(info.kind, obj, where), "", again)

    def _fault(self, source: str, where: str, path: str, message: str) -> None:
        self.faults.append(Fault(source, where, path, message))


def _files(paths: Sequence[str | Path], faults: list[Fault]) -> Iterator[tuple[str, Path | None]]:
    """Each file with its display name; None means standard input."""
    for given in paths:
        path = Path(given)
        if str(given) == STDIN:
            yield STDIN_NAME, None
        elif _is_directory(path):
            inside = sorted(file for file in path.rglob("*") if _is_manifest(file))
            if not inside:
                faults.append(Fault(str(given), "", "", f"no {', '.join(SUFFIXES)} file in this directory"))
            yield from ((str(file), file) for file in inside)
        else:
            yield str(given), path


def _is_directory(path: Path) -> bool:
    """What cannot even be looked at is not one; that it cannot be read is said when it is read."""
    try:
        return path.is_dir()
    except OSError:
        return False


def _is_manifest(file: Path) -> bool:
    return file.name.removesuffix(".gz").endswith(SUFFIXES) and file.is_file()


def _content(source: str, file: Path | None, stdin: BinaryIO | None, faults: list[Fault]) -> bytes | None:
    """The text of a file as UTF-8 without a byte order mark, or None with a fault."""
    try:
        data = _bounded(stdin or sys.stdin.buffer) if file is None else _file_content(file)
        if data[:2] == _GZIP_MAGIC:
            data = _bounded(gzip.GzipFile(fileobj=io.BytesIO(data)))
    except FileNotFoundError:
        faults.append(Fault(source, "", "", "no such file or directory"))
    except (OSError, EOFError, ValueError, zlib.error) as error:  # a ValueError: no file has such a name
        faults.append(Fault(source, "", "", f"cannot be read: {getattr(error, 'strerror', None) or error}"))
    else:
        try:
            return as_text(data)
        except ValueError as error:
            faults.append(Fault(source, "", "", str(error)))
    return None


def _file_content(file: Path) -> bytes:
    # Asked before it is opened: a pipe that nobody writes to would never open, and a device never end.
    if not file.is_file() and file.exists() and not file.is_fifo():
        raise OSError("is not a regular file")
    if file.is_fifo() and not _is_substitution(file):
        raise OSError("is a pipe; use - to read one from standard input")
    with file.open("rb") as opened:
        return _bounded(opened)


def _is_substitution(file: Path) -> bool:
    """Whether a shell made the pipe: `<(command)`."""
    return str(file).startswith(("/dev/fd/", "/dev/stdin", "/proc/self/fd/"))


def _bounded(stream: BinaryIO | gzip.GzipFile) -> bytes:
    data = stream.read(BYTES_MAX + 1)
    if len(data) > BYTES_MAX:
        raise ValueError(f"has more than {BYTES_MAX >> 20} MiB")
    return data


def _flattened(where: str, value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, list):
        yield from ((f"{where}[{position}]", item) for position, item in enumerate(value))
    else:
        yield where, value


def _is_list(kind: Any, items: Any) -> bool:
    """Lists of known kinds may come without items; of other kinds whose name ends so, only what holds items."""
    if not isinstance(kind, str) or not kind.endswith("List"):
        return False
    return items is not None or kind == "List" or kind.removesuffix("List") in ALL_KINDS


def _list_defaults(api_version: Any, kind: Any) -> tuple[str, str]:
    """What items of a typed list (PodList) may leave out; a plain List says nothing of its items."""
    item_kind = str(kind).removesuffix("List")
    return (api_version if item_kind and isinstance(api_version, str) else ""), item_kind


def _label(kind: str, obj: Object, where: str) -> str:
    metadata = obj.metadata
    name = metadata.name or (f"{metadata.generate_name}…" if metadata.generate_name else "")
    if not name:
        return f"{kind} ({where})"
    return f"{kind} {metadata.namespace}/{name}" if metadata.namespace else f"{kind} {name}"


def _nothing_found(result: ReadResult) -> Fault:
    sources = ", ".join(result.files) or "no files"
    ignored = ", ".join(f"{count} {kind}" for kind, count in sorted(result.skipped.items()))
    note = f" (ignored: {ignored})" if ignored else ""
    return Fault(sources, "", "", f"no objects of a kind that affects scheduling{note}")


@contextmanager
def without_garbage_collection() -> Iterator[None]:
    """Millions of new objects, none of them in a cycle: looking for cycles would double the time."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
