"""The entry of the program ``mlnlearn``: what becomes of errors, warnings and Ctrl-C."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

from mlnlearn.errors import DataWarning, InputErrors, MlnError

INTERRUPTED = 130
"""Exit code after Ctrl-C, as shells have it."""


def run() -> None:
    """Run the program: exit code 0 on success, 1 on bad input, 2 on a wrong command line."""
    try:
        _run()
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)


def _run() -> None:
    # Imported here, so that Ctrl-C is met quietly from the first moment on.
    from mlnlearn.cli.app import app  # noqa: PLC0415
    from mlnlearn.cli.show import complain  # noqa: PLC0415

    with _shown_warnings():
        try:
            app()
        except InputErrors as error:
            only = error.problems[0] if len(error.problems) == 1 else error
            complain("error", str(only))
        except MlnError as error:
            complain("error", str(error))
        except MemoryError:
            complain("error", "out of memory")
    sys.exit(1)


@contextmanager
def _shown_warnings() -> Iterator[None]:
    """Show what is doubtful about the data as one line each, without a place in the code."""
    from mlnlearn.cli.show import complain  # noqa: PLC0415

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
                if str(message) not in said:
                    complain("warning", str(message))
                said.add(str(message))
            else:
                shown(message, category, filename, lineno, file, line)

        warnings.showwarning = show
        yield
