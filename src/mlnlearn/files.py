"""Writing files so that nothing is ever half-written; reading numbers that are numbers."""

from __future__ import annotations

import math
import os
import tempfile
from os import PathLike
from pathlib import Path
from typing import Any

from mlnlearn.errors import InputError


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


def refuse_non_finite(value: Any, where: str) -> None:
    """Refuse plain data (dictionaries, lists, numbers) with NaN or an infinity in it.

    JSON has no words for these, but Python's reader takes them.

    Examples
    --------
    >>> refuse_non_finite({"targets": [{"bias": float("nan")}]}, "m.json")
    Traceback (most recent call last):
    ...
    mlnlearn.errors.InputError: m.json: targets.0.bias is nan, not a finite number
      hint: learn the model again, or mend the file
    """
    waiting: list[tuple[str, Any]] = [("", value)]
    while waiting:
        place, part = waiting.pop()
        if isinstance(part, float) and not math.isfinite(part):
            raise InputError(
                f"{where}: {place[1:]} is {part}, not a finite number",
                hint="learn the model again, or mend the file",
            )
        if isinstance(part, dict):
            waiting += [(f"{place}.{name}", item) for name, item in part.items()]
        elif isinstance(part, list):
            waiting += [(f"{place}.{number}", item) for number, item in enumerate(part)]
