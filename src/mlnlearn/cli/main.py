"""The entry of the program ``mlnlearn``: what becomes of errors, warnings and signals."""

from __future__ import annotations

import os
import signal
import sys
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import TextIO

from mlnlearn.errors import DataWarning, InputErrors, MlnError

_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_MOMENT = 0.02
_GLOBAL_FLAGS = ("--quiet",)
_GLOBAL_OPTIONS = ("--log-level", "--dialect")


class _Stopped(KeyboardInterrupt):
    """Ctrl-C, or the wish of another program that this one end."""


class _Signals:
    """Turns signals into `KeyboardInterrupt`, and knows afterwards which came.

    An interrupt that strikes within foreign code (an import, a compiler, a destructor) may come out
    as some other error, or be lost; whatever comes out, what was asked for is known here.
    """

    def __init__(self) -> None:
        self.received = 0

    def __call__(self, number: int, frame: FrameType | None) -> None:
        self.received = number
        raise _Stopped

    def unraisable(self, what: sys.UnraisableHookArgs) -> None:
        """Raise again what Python could not deliver, once the destructor or callback is over."""
        if issubclass(what.exc_type, KeyboardInterrupt):
            # from here it would be lost once more: another thread sends it, a moment later
            number = self.received or signal.SIGINT
            again = threading.Timer(_MOMENT, os.kill, (os.getpid(), number))
            again.daemon = True
            again.start()
        elif not self.received:  # what an interrupt left half made cannot be taken apart
            sys.__unraisablehook__(what)

    @property
    def exit_code(self) -> int:
        """What shells expect of a program that a signal ended: 130 or 143."""
        return 128 + (self.received or signal.SIGINT)


_signals = _Signals()


def was_stopped(error: BaseException) -> bool:
    """Tell whether an error is an interrupt, or what came out of one."""
    return isinstance(error, KeyboardInterrupt) or bool(_signals.received)


def run() -> None:
    """Run the program: exit code 0 on success, 1 on bad input, 2 on a wrong command line."""
    try:
        _listen()
        _run()
    except BaseException as error:
        if not was_stopped(error):
            raise
        for number in _SIGNALS:  # the end is near already; nothing may interrupt it
            signal.signal(number, signal.SIG_IGN)
    sys.exit(_signals.exit_code)


def _listen() -> None:
    _signals.received = 0
    sys.unraisablehook = _signals.unraisable
    for number in _SIGNALS:
        signal.signal(number, _signals)


def _run() -> None:
    # Imported here, so that Ctrl-C is met quietly from the first moment on.
    from mlnlearn.cli.app import app  # noqa: PLC0415
    from mlnlearn.cli.show import complain  # noqa: PLC0415

    with _shown_warnings():
        try:
            app(args=with_globals_first(sys.argv[1:]), prog_name="mlnlearn")
        except InputErrors as error:
            only = error.problems[0] if len(error.problems) == 1 else error
            complain("error", str(only))
        except MlnError as error:
            complain("error", str(error))
        except MemoryError:
            complain("error", "out of memory")
        except OSError as error:
            where = f"{error.filename}: " if error.filename else ""
            complain("error", f"{where}{error.strerror or error}")
    sys.exit(1)


def with_globals_first(arguments: list[str]) -> list[str]:
    """Return a command line with the options of all commands in front, wherever they stood.

    Examples
    --------
    >>> with_globals_first(["learn", "--quiet", "--log-level", "info", "--seed", "1"])
    ['--quiet', '--log-level', 'info', 'learn', '--seed', '1']
    """
    first: list[str] = []
    rest = list(arguments)
    place = 0
    while place < len(rest) and rest[place] != "--":
        word = str(rest[place])
        length = 2 if word in _GLOBAL_OPTIONS else 1
        name, _, _ = word.partition("=")
        if word in _GLOBAL_FLAGS or name in _GLOBAL_OPTIONS:
            first += rest[place : place + length]
            del rest[place : place + length]
        else:
            place += 1
    return first + rest


@contextmanager
def _shown_warnings() -> Iterator[None]:
    """Show what is doubtful about the data as one line each, without a place in the code."""
    from mlnlearn.cli.show import MOST_REMARKS, complain  # noqa: PLC0415

    verbose = "--verbose" in sys.argv[1:]
    with warnings.catch_warnings():
        warnings.simplefilter("always", DataWarning)
        shown = warnings.showwarning
        said: set[str] = set()

        def show(
            message: Warning | str,
            category: type[Warning],
            filename: str,
            lineno: int,
            file: TextIO | None = None,
            line: str | None = None,
        ) -> None:
            if issubclass(category, DataWarning):
                if str(message) not in said and (len(said) < MOST_REMARKS or verbose):
                    complain("warning", str(message))
                said.add(str(message))
            else:
                shown(message, category, filename, lineno, file, line)

        warnings.showwarning = show
        try:
            yield
        finally:
            if len(said) > MOST_REMARKS and not verbose:
                complain("note", f"{len(said) - MOST_REMARKS} more remarks on the data")
