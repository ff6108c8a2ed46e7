"""Files from the web, kept in a folder, and taken only where their checksum is the one expected."""

from __future__ import annotations

import re
from os import PathLike
from pathlib import Path

from mlnlearn.errors import InputError

_SHA256 = re.compile(r"[0-9a-fA-F]{64}\Z")


def fetch(url: str, sha256: str, folder: str | PathLike[str] | None = None) -> Path:
    """Return a file from the web; it is fetched once, and checked every time.

    Parameters
    ----------
    url
        Its address: ``https://…``, or what else pooch knows.
    sha256
        Its checksum, 64 hexadecimal digits; a file with another one is refused, and not kept.
    folder
        Where files are kept; by default the cache folder of the user.

    Examples
    --------
    >>> fetch("https://example.org/data.tsv", "abc")
    Traceback (most recent call last):
    mlnlearn.errors.InputError: 'abc' is no SHA-256 checksum: 64 hexadecimal digits
    """
    if not _SHA256.match(sha256):
        raise InputError(f"{sha256!r} is no SHA-256 checksum: 64 hexadecimal digits")
    try:
        import pooch  # noqa: PLC0415 - an extra
    except ImportError as error:
        raise InputError("fetching needs pooch", hint="pip install mlnlearn[fetch]") from error
    pooch.get_logger().setLevel("ERROR")
    home = Path(folder) if folder is not None else Path(pooch.os_cache("mlnlearn"))
    try:
        found = pooch.retrieve(url, known_hash=f"sha256:{sha256.lower()}", path=home)
    except ValueError as error:
        if "hash" not in str(error).lower():
            raise InputError(f"{url}: {error}") from error
        raise InputError(
            f"{url}: the file has another checksum than {sha256[:12]}…",
            hint="it was changed or damaged: look at the address, and at who serves it",
        ) from error
    except Exception as error:  # whatever a network answers with
        raise InputError(
            f"{url}: cannot fetch the file: {type(error).__name__}",
            hint=f"without the web, put the file into {home} and read it from there",
        ) from error
    return Path(found)
