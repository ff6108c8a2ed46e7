"""Scratch directories: gone when nobody needs them, and when the process is killed, too.

A killed process cannot tidy up. So a small process beside it is told of every directory, waits
until the pipe to it closes, which is when the process is gone, and removes what is left.
"""

from __future__ import annotations

import atexit
import os
import shutil
import subprocess
import tempfile
import weakref
from contextlib import suppress
from pathlib import Path

_WATCH = 'while IFS= read -r line; do set -- "$@" "$line"; done; rm -rf -- "$@"'


class ScratchFolder:
    """A new directory, removed on `close`, with the last reference, or after the process.

    Examples
    --------
    >>> scratch = ScratchFolder()
    >>> _ = (scratch.path / "notes.txt").write_text("soon gone")
    >>> scratch.close()
    >>> scratch.path.exists()
    False
    """

    def __init__(self) -> None:
        self.path = Path(tempfile.mkdtemp(prefix="mlnlearn-"))
        _Watcher.current().tell(self.path)
        self.close = weakref.finalize(self, shutil.rmtree, str(self.path), ignore_errors=True)


class _Watcher:
    """The process that removes directories after this one has ended, however it did."""

    _own: _Watcher | None = None

    def __init__(self) -> None:
        self.process_id = os.getpid()
        shell = shutil.which("sh")
        self._watch = shell and subprocess.Popen(
            [shell, "-c", _WATCH, "mlnlearn-scratch"],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd="/",
            start_new_session=True,  # what ends the process must not end the watcher
        )
        atexit.register(self._stop)

    @classmethod
    def current(cls) -> _Watcher:
        """Return the watcher of this process: one that was forked needs its own."""
        if cls._own is None or cls._own.process_id != os.getpid():
            cls._own = cls()
        return cls._own

    def tell(self, path: Path) -> None:
        """Add a directory to those that are removed in the end."""
        if self._watch and self._watch.stdin and "\n" not in str(path):
            with suppress(OSError):
                self._watch.stdin.write(f"{path}\n".encode())
                self._watch.stdin.flush()

    def _stop(self) -> None:
        if self._watch and self._watch.stdin and self.process_id == os.getpid():
            with suppress(OSError):
                self._watch.stdin.close()
            self._watch.wait()
