"""Writing files so that nothing is ever half-written."""

from __future__ import annotations

import os
import tempfile
from os import PathLike
from pathlib import Path


def write_atomically(path: str | PathLike[str], text: str) -> None:
    """Write a text file in full or not at all: first beside the target, then put in its place.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     target = Path(folder) / "model.mln"
    ...     write_atomically(target, "student(person)")
    ...     target.read_text()
    'student(person)'
    """
    target = Path(path)
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as stream:
            stream.write(text)
        mode = target.stat().st_mode & 0o777 if target.exists() else 0o666 & ~_umask()
        Path(name).chmod(mode)
        Path(name).replace(target)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
