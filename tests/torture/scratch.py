"""Folders for a moment: in memory where the system has a place for that, since there are many."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_MEMORY = Path("/dev/shm")
ROOT = str(_MEMORY) if _MEMORY.is_dir() and os.access(_MEMORY, os.W_OK) else None


@contextmanager
def folder(files: dict[str, bytes] | None = None) -> Iterator[Path]:
    """Give a new folder with some files; it is gone afterwards."""
    with tempfile.TemporaryDirectory(dir=ROOT) as name:
        for file, data in (files or {}).items():
            with open(os.path.join(name, file), "wb") as stream:
                stream.write(data)
        yield Path(name)
