"""Files: inputs are regular and of bounded size, outputs replace nothing by mistake or by half.

Whatever the operating system refuses becomes an `InputError` with the path and the reason.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import shutil
import stat
import tempfile
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import BinaryIO, TypeVar

from mlnlearn.errors import InputError, Location, collected, nearest, raise_all

RULES = (".mln", ".mln.gz")
"""How the names of files of rules end."""
RULES_MARK = "// mlnlearn rules\n"
"""The first line of rules that we write."""
FACTS_MARK = "// mlnlearn facts\n"
"""The first line of facts that we write."""
PAGE_MARK = "<!doctype html>\n<!-- mlnlearn report -->\n"
"""The first lines of pages that we write."""
MAPPING_MARK = "# mlnlearn mapping\n"
"""The first line of a mapping of tables."""
ANSWERS_MARK = "atom,probability,standard_error,method\n"
"""The first line of answers that we write."""
ROWS_MARKS = ("row,probability\n", "row,prediction\n", "row,prediction,probability\n")
"""The first line of answers for rows that we write, where no task has columns of its own."""
RANKED_MARK = "entity,score,known\n"
"""The first line of ranked entities that we write."""
PARQUET_MARK = "mlnlearn answers"
"""What Parquet files that we write say of themselves, beside their columns."""
PATH_RULES_MARK = "support\tbody_size\tconfidence\t"
"""How the first line of tables of path rules begins."""
_MODEL_MARK = b'"format": "mlnlearn '
_MARKS = tuple(
    mark.encode()
    for mark in (
        RULES_MARK,
        FACTS_MARK,
        PAGE_MARK,
        '{\n "learner": "',  # results of an evaluation, of one learner and of several
        '[\n {\n  "learner": "',
        ANSWERS_MARK,
        *ROWS_MARKS,
        RANKED_MARK,
        MAPPING_MARK,
        PATH_RULES_MARK,
    )
)

_GZIP_MAGIC = b"\x1f\x8b"
_PARQUET_MAGIC = b"PAR1"
_LONGEST_FOOTER = 1 << 20
_UNPACKED_FREELY = 1 << 26
_MOST_EXPANSION = 200  # text of facts packs up to some 50 times; bombs, 1,000 times
_LEAST_ROOM = 1 << 16
_LONGEST_START = 256

AnyPath = str | PathLike[str]
PathT = TypeVar("PathT", bound=AnyPath)


@contextmanager
def located(path: AnyPath, doing: str) -> Iterator[None]:
    """Turn what the operating system refuses into an error that names the path.

    Examples
    --------
    >>> with located("model.mln", "write"):
    ...     raise OSError(28, "No space left on device")
    Traceback (most recent call last):
    mlnlearn.errors.InputError: model.mln: cannot write the file: No space left on device
    """
    try:
        yield
    except OSError as error:
        reason = error.strerror or str(error) or type(error).__name__
        hint = near_file(path) if doing == "read" and isinstance(error, FileNotFoundError) else ""
        raise InputError(f"cannot {doing} the file: {reason}", Location(str(path)), hint) from None


def near_file(path: AnyPath) -> str:
    """Return a hint where a file that is not there has a name like another one beside it.

    Examples
    --------
    >>> from tempfile import mkdtemp
    >>> folder = Path(mkdtemp())
    >>> _ = (folder / "shop.sqlite").write_text("")
    >>> near_file(folder / "shop.sqlit").endswith("shop.sqlite'?"), near_file(folder / "people.db")
    (True, '')
    """
    there = Path(str(path))
    try:
        with os.scandir(there.parent) as entries:
            near = nearest(there.name, (entry.name for entry in entries))
    except (OSError, ValueError):  # no such folder either
        return ""
    return f"did you mean '{there.with_name(near)}'?" if near else ""


@contextmanager
def open_input(path: AnyPath) -> Iterator[BinaryIO]:
    """Open a regular file for reading; a pipe or device, which may never end, is refused.

    Examples
    --------
    >>> with open_input("/dev/zero") as file:
    ...     pass
    Traceback (most recent call last):
    mlnlearn.errors.InputError: /dev/zero: cannot read the file: not a regular file
    """
    with located(path, "read"):
        try:
            # Without waiting: a pipe that nobody writes to would never open.
            handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
        except ValueError as error:  # a zero byte in the name
            raise OSError(str(error)) from None
        with os.fdopen(handle, "rb") as file:
            mode = os.fstat(handle).st_mode
            if not stat.S_ISREG(mode):
                raise OSError("it is a folder" if stat.S_ISDIR(mode) else "not a regular file")
            yield file


def read_text(path: AnyPath) -> str:
    """Return the text of a file (UTF-8), unpacked where it is gzip.

    Examples
    --------
    >>> read_text("no/such/file.mln")
    Traceback (most recent call last):
    ...
    mlnlearn.errors.InputError: no/such/file.mln: cannot read the file: No such file or directory
    """
    with open_input(path) as file:
        data = file.read()
        if data.startswith(_GZIP_MAGIC):
            data = _unpacked(data, path)
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise InputError(
            f"byte 0x{data[error.start]:02x} is not UTF-8 text",
            Location(str(path), line),
            hint="save the file as UTF-8",
        ) from None


def _unpacked(data: bytes, path: AnyPath) -> bytes:
    most = max(_UNPACKED_FREELY, _MOST_EXPANSION * len(data))
    try:
        found = gzip.GzipFile(fileobj=io.BytesIO(data)).read(most + 1)
    except (EOFError, zlib.error, ValueError, gzip.BadGzipFile) as error:
        raise InputError(f"cannot read the file: {error}", Location(str(path))) from None
    if len(found) > most:
        raise InputError(
            f"unpacked, the file has more than {_MOST_EXPANSION} times its size",
            Location(str(path)),
            hint="unpack it yourself, if it is what it should be",
        )
    return found


def content_hash(text: str) -> str:
    r"""Return what tells a text from any other, however its lines end.

    Examples
    --------
    >>> content_hash("a\nb") == content_hash("a\r\nb"), len(content_hash(""))
    (True, 64)
    """
    return hashlib.sha256(text.replace("\r\n", "\n").encode()).hexdigest()


def write_files(texts: Mapping[PathT, str | Iterable[str]]) -> None:
    """Write text files, all of them in full or none: first beside the targets, then in their place.

    A symbolic link is followed; what is no regular file is never replaced. A text may come in
    pieces, one at a time.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     target = Path(folder) / "model.mln"
    ...     write_files({target: "student(person)", target.with_suffix(".json"): "{}"})
    ...     target.read_text()
    'student(person)'
    """
    ready: list[tuple[Path, Path]] = []
    new: list[Path] = []
    try:
        for path, text in texts.items():
            with located(path, "write"):
                target = _target(path)
                ready.append((_written_beside(target, text), target))
        for (hidden, target), path in zip(ready, texts, strict=True):
            with located(path, "write"):
                if not target.exists():
                    new.append(target)
                hidden.replace(target)
    except BaseException:
        for left in (*(hidden for hidden, _ in ready), *new):
            left.unlink(missing_ok=True)
        raise


def _target(path: AnyPath) -> Path:
    """Return the regular file, there already or not, that a path leads to."""
    try:
        target = Path(os.path.realpath(path))
        mode = target.stat().st_mode
    except FileNotFoundError:
        if not target.parent.is_dir():
            raise OSError(f"there is no folder {target.parent}") from None
        return target
    except ValueError as error:  # a zero byte in the name
        raise OSError(str(error)) from None
    if not stat.S_ISREG(mode):
        raise OSError("it is a folder" if stat.S_ISDIR(mode) else "not a regular file")
    return target


@contextmanager
def written_beside(path: AnyPath) -> Iterator[Path]:
    """Give a new file beside another, whose place it takes at the end; on errors it vanishes.

    Examples
    --------
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     target = Path(folder) / "answers.parquet"
    ...     with written_beside(target) as file:
    ...         _ = file.write_bytes(b"PAR1")
    ...     target.read_bytes()
    b'PAR1'
    """
    with located(path, "write"):
        target = _target(path)
        hidden = _new_beside(target)
    try:
        yield hidden
        with located(path, "write"):
            _set_rights(hidden, target)
            hidden.replace(target)
    except BaseException:
        hidden.unlink(missing_ok=True)
        raise


def _written_beside(target: Path, text: str | Iterable[str]) -> Path:
    hidden = _new_beside(target)
    try:
        with hidden.open("w", encoding="utf-8", newline="\n") as stream:
            stream.writelines([text] if isinstance(text, str) else text)
        _set_rights(hidden, target)
    except BaseException:
        hidden.unlink(missing_ok=True)
        raise
    return hidden


def _new_beside(target: Path) -> Path:
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=".mlnlearn-")
    os.close(handle)
    return Path(name)


def _set_rights(hidden: Path, target: Path) -> None:
    """Give a new file the rights of the one whose place it takes, or those of any new file."""
    hidden.chmod(target.stat().st_mode & 0o777 if target.exists() else 0o666 & ~_umask())


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def check_outputs(
    outputs: Iterable[AnyPath], inputs: Iterable[AnyPath] = (), *, replace: bool = False
) -> None:
    """Refuse, before any work is done, outputs that cannot be written or would destroy something.

    Parameters
    ----------
    outputs
        The files to write.
    inputs
        What is read; of a folder, the files in it and in its folder ``tables``. An output that is
        an input, by whatever name or link, is always refused.
    replace
        Whether files that we did not write may be replaced. Ours are known by their first lines.

    Examples
    --------
    >>> check_outputs(["no/such/folder/model.mln"])
    Traceback (most recent call last):
    ...
    mlnlearn.errors.InputErrors: 1 problem found
    no/such/folder/model.mln: cannot write the file: there is no folder ...no/such/folder
    """
    read = {_identity(file) for path in inputs for file in _files_of(path)}
    seen: set[object] = set()
    problems: list[InputError] = []
    for path in outputs:
        with collected(problems), located(path, "write"):
            _check_output(path, read, seen, replace)
    raise_all(problems)


def check_new(path: AnyPath) -> None:
    """Refuse a place that is not new, or that is in no folder."""
    if os.path.lexists(str(path).replace("\0", "")):
        where = Location(str(path))
        raise InputError("it is there already, and nothing is overwritten", where, "name another")
    check_outputs([path])


def _check_output(path: AnyPath, read: set[object], seen: set[object], replace: bool) -> None:
    if not str(path) or str(path) == ".":
        raise OSError("the name is empty")
    target, where = _target(path), Location(str(path))
    same = _identity(target)
    if same in read:
        raise InputError("this output is also an input", where, "name another file")
    if same in seen:
        raise InputError("two outputs have this name", where, "name another file")
    seen.add(same)
    if target.exists() and not replace and not is_ours(target):
        raise InputError(
            "the file is there already, and mlnlearn did not write it",
            where,
            "name another file, or give --force to replace it",
        )
    if not os.access(target.parent, os.W_OK | os.X_OK):
        raise OSError(f"the folder {target.parent} is read-only")
    if target.exists() and not os.access(target, os.W_OK):
        raise OSError("it is read-only")
    if shutil.disk_usage(target.parent).free < _LEAST_ROOM:
        raise OSError("no space left on device")


def is_ours(path: AnyPath) -> bool:
    """Tell whether we wrote a file, by how it begins; an empty one is anybody's.

    Parquet files say at their end what they are.
    """
    with open_input(path) as file:
        start = file.read(_LONGEST_START)
        if start.startswith(_PARQUET_MAGIC):
            file.seek(max(0, os.fstat(file.fileno()).st_size - _LONGEST_FOOTER))
            return PARQUET_MARK.encode() in file.read()
    model = start.startswith(b"{") and _MODEL_MARK in start
    return not start or model or start.startswith(_MARKS)


def _identity(path: AnyPath) -> object:
    """Return what tells a file from all others: links of either kind lead to the same."""
    try:
        found = os.stat(path)
    except (OSError, ValueError):
        return os.path.realpath(str(path).replace("\0", ""))
    return found.st_dev, found.st_ino


def _files_of(path: AnyPath) -> Iterator[AnyPath]:
    yield path
    for folder in (Path(path), Path(path) / "tables"):
        try:
            yield from folder.iterdir()
        except (OSError, ValueError):
            continue
