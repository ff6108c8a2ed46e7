"""Documents: JSON files with a schema, a checksum, and errors that say where something is wrong.

Models are such files. What is read is bounded in size and depth, holds finite numbers only, has
exactly the fields that its kind declares (a `msgspec.Struct`), and is what was written: a checksum
over the content tells where a digit was changed. Laying the file out anew changes no content.
"""

from __future__ import annotations

import json
import math
import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, Self, TypeVar

import msgspec
import numpy as np

from mlnlearn.errors import InputError, Location
from mlnlearn.files import AnyPath, content_hash, open_input, write_files

T = TypeVar("T")

Name = Annotated[str, msgspec.Meta(pattern=r"\A[0-9]*[^\W\d][\w\-']*\Z", max_length=10_000)]
"""Of a predicate, type or variable, as rules have them."""
Place = Annotated[int, msgspec.Meta(ge=0, lt=1 << 31)]
"""A number that counts from 0."""
Count = Annotated[float, msgspec.Meta(ge=0.0, le=1e18)]
"""How often something was seen."""

MOST_DEPTH = 200
"""How deeply lists and objects may be nested: trees that boosting grows have some ten levels."""
_MOST_BYTES = 1 << 30
_CHECKSUM = "checksum"
_MEND = (
    "save the model again; or remove the checksum of a file that you changed on purpose; "
    "or move the file away, to take the rules beside it as a network of their own"
)

_STRING = re.compile(rb'"(?:[^"\\]|\\.)*+"?', re.DOTALL)
_HALF_LETTER = re.compile("[\ud800-\udfff]")
_STEPS = np.zeros(256, np.int8)
_STEPS[list(b"[{")], _STEPS[list(b"]}")] = 1, -1
_PLACE = re.compile(r" - at `(?:key in )?\$\.?(.*)`\Z")


def signed(content: Mapping[str, Any]) -> dict[str, Any]:
    """Return plain content (with its format) together with its checksum.

    Examples
    --------
    >>> list(signed({"format": "mlnlearn example 1", "weights": [0.5]}))
    ['format', 'checksum', 'weights']
    """
    found = {"format": content["format"], _CHECKSUM: _content_digest(content)}
    return found | {name: value for name, value in content.items() if name != _CHECKSUM}


class SavedModel(ABC):
    """Base of models that are text to read at a path, and JSON to load beside it (``.json``).

    The JSON says which text was written with it, so that text changed since is known.
    """

    @abstractmethod
    def to_plain(self) -> dict[str, Any]:
        """Return the model as plain data, with its format."""

    @abstractmethod
    def file_text(self) -> str:
        """Return the rules as the text of a file to read."""

    @classmethod
    @abstractmethod
    def from_plain(cls, plain: object, where: AnyPath = "the model") -> Self:
        """Undo `to_plain`; `where` is what errors call the file."""

    @staticmethod
    def json_text(content: object) -> str:
        """Return plain data as the text of a file."""
        return json.dumps(content, ensure_ascii=False) + "\n"

    def save(self, path: AnyPath) -> None:
        """Write the model: rules to read at the path, JSON to load beside it (``.json``)."""
        file, text = Path(path), self.file_text()
        plain = self.json_text(signed({**self.to_plain(), "rules": content_hash(text)}))
        if nesting(plain.encode()) > MOST_DEPTH:
            raise InputError(
                f"trees more than {MOST_DEPTH} deep cannot be saved",
                hint="learn trees of fewer leaves",
            )
        # Rules without their JSON would be read as another model; so the JSON comes first.
        texts = {file.with_suffix(".json"): plain}
        write_files(texts if file.suffix == ".json" else texts | {file: text})

    @classmethod
    def load(cls, path: AnyPath) -> Self:
        """Read a model that `save` wrote."""
        file = Path(path).with_suffix(".json")
        return cls.from_plain(read_document(file), file)


def read_document(path: AnyPath) -> Any:
    """Read the JSON in a file, and check its size, depth, numbers and checksum.

    A file without a checksum is taken as it is.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = pathlib.Path(folder.name) / "m.json"
    >>> text = json.dumps(signed({"format": "mlnlearn example 1", "weights": [0.5]}))
    >>> _ = path.write_text(text)
    >>> read_document(path)["weights"]
    [0.5]
    >>> _ = path.write_text(text.replace("0.5", "0.7"))
    >>> read_document(path)
    Traceback (most recent call last):
    mlnlearn.errors.InputError: ...m.json: the content is not what its checksum says
      hint: save the model again; ...
    """
    with open_input(path) as file:
        data = file.read(_MOST_BYTES + 1)
    with in_file(path):
        found = _parsed(data)
        if _is_changed(found):
            raise InputError("the content is not what its checksum says")
    return found


def _parsed(data: bytes) -> Any:
    if len(data) > _MOST_BYTES:
        raise InputError(f"it has more than {_MOST_BYTES >> 20:,} MB")
    if nesting(data) > MOST_DEPTH:
        raise InputError(f"it is nested more than {MOST_DEPTH} deep")
    try:
        found = json.loads(data.decode("utf-8-sig"), object_pairs_hook=_object)
    except json.JSONDecodeError as error:
        where = Location("", error.lineno, error.colno)
        raise InputError(f"this model file is damaged: {error.msg}", where) from None
    except ValueError as error:  # no text; a number of thousands of digits
        raise InputError(f"this model file is damaged: {error}") from None
    _check_values(found)
    return found


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise InputError(f"this model file is damaged: an object has {twice!r} twice")
    return found


def nesting(data: bytes) -> int:
    """Return how deeply the brackets of JSON text are nested, in one pass and without recursion.

    Examples
    --------
    >>> nesting(b'{"a": [[1], "[[["]}'), nesting(b"[" * 100_000)
    (3, 100000)
    """
    bare = np.frombuffer(_STRING.sub(b"", data), np.uint8)
    return max(int(np.cumsum(_STEPS[bare], dtype=np.int64).max(initial=0)), 0)


def _is_changed(content: object) -> bool:
    if not isinstance(content, dict) or _CHECKSUM not in content:
        return False
    return bool(content[_CHECKSUM] != _content_digest(content))


def _content_digest(content: Mapping[str, Any]) -> str:
    rest = {name: value for name, value in content.items() if name != _CHECKSUM}
    return content_hash(json.dumps(rest, sort_keys=True, separators=(",", ":")))


def decode(plain: object, kind: type[T]) -> T:
    """Take plain content for what a kind of document declares.

    Examples
    --------
    >>> class Weights(msgspec.Struct):
    ...     weights: list[float]
    >>> decode({"weights": [0.5, "much"]}, Weights)
    Traceback (most recent call last):
    mlnlearn.errors.InputError: weights[1]: expected `float`, got `str`
    """
    _check_values(plain)
    try:
        return msgspec.convert(plain, kind)
    except (msgspec.ValidationError, RecursionError) as error:
        message = _PLACE.sub("", str(error))
        message = message[:1].lower() + message[1:]
        found = _PLACE.search(str(error))
        raise InputError(f"{found[1]}: {message}" if found and found[1] else message) from None


def _check_values(plain: object) -> None:
    """Refuse NaN, infinities and half letters: what Python's reader takes, and JSON has not."""
    waiting: list[tuple[str, Any]] = [("", plain)]
    while waiting:
        place, value = waiting.pop()
        if isinstance(value, float) and not math.isfinite(value):
            raise InputError(f"{place[1:]}: {value} is no finite number")
        if isinstance(value, str) and _HALF_LETTER.search(value):
            raise InputError(f"{_HALF_LETTER.sub('?', place[1:])}: {value!r} is no text")
        if isinstance(value, dict):
            waiting += [(f"{place}.{name}", item) for name, item in value.items()]
            waiting += [(place, name) for name in value]
        elif isinstance(value, list):
            waiting += [(f"{place}[{number}]", item) for number, item in enumerate(value)]


@contextmanager
def within(place: str) -> Iterator[None]:
    """Put a place before the messages of what goes wrong inside.

    Examples
    --------
    >>> with within("targets[0]"), within("bias"):
    ...     raise InputError("is too large")
    Traceback (most recent call last):
    mlnlearn.errors.InputError: targets[0]: bias: is too large
    """
    try:
        yield
    except InputError as error:
        raise InputError(f"{place}: {error.message}", error.location, error.hint) from None


@contextmanager
def in_file(path: AnyPath) -> Iterator[None]:
    """Name the file in errors about its content.

    Examples
    --------
    >>> with in_file("m.json"):
    ...     raise InputError("targets[0]: no such predicate")
    Traceback (most recent call last):
    mlnlearn.errors.InputError: m.json: targets[0]: no such predicate
      hint: save the model again; ...
    """
    try:
        yield
    except InputError as error:
        where = error.location or Location("")
        inner = f"{where}: " if where.file not in ("", str(path)) else ""
        place = Location(str(path), *((0, 0) if inner else (where.line, where.column)))
        raise InputError(f"{inner}{error.message}", place, error.hint or _MEND) from None
