"""Reading text files: plain or gzip, UTF-8, with every failure a located error."""

from __future__ import annotations

import gzip
import zlib
from os import PathLike
from pathlib import Path

from mlnlearn.errors import InputError, Location

_GZIP_MAGIC = b"\x1f\x8b"


def read_text(path: str | PathLike[str]) -> str:
    """Return the text of a file, unpacked where it is gzip.

    Examples
    --------
    >>> read_text("no/such/file.mln")
    Traceback (most recent call last):
    ...
    mlnlearn.errors.InputError: no/such/file.mln: cannot read the file: No such file or directory
    """
    place = Location(str(path))
    try:
        data = Path(path).read_bytes()
        if data.startswith(_GZIP_MAGIC):
            data = gzip.decompress(data)
    except OSError as error:
        reason = error.strerror or str(error)
        raise InputError(f"cannot read the file: {reason}", place) from None
    except (EOFError, zlib.error, ValueError) as error:
        raise InputError(f"cannot read the file: {error}", place) from None
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise InputError(
            f"byte 0x{data[error.start]:02x} is not UTF-8 text",
            Location(str(path), line),
            hint="save the file as UTF-8",
        ) from None
