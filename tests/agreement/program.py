"""The program ``mlnlearn``, run in this process on files of a case."""

from __future__ import annotations

import contextlib
import io
import json
import sys
from collections.abc import Iterator
from pathlib import Path as FilePath
from tempfile import TemporaryDirectory
from typing import Any
from unittest.mock import patch

from mlnlearn.cli.main import run
from mlnlearn.errors import MlnError


@contextlib.contextmanager
def files(**texts: str) -> Iterator[dict[str, str]]:
    """A folder with a file for each text: ``model_mln`` is written as ``model.mln``."""
    with TemporaryDirectory() as folder:
        paths = {name: FilePath(folder) / name.replace("_", ".") for name in texts}
        for name, text in texts.items():
            paths[name].write_text(text, encoding="utf-8")
        yield {name: str(path) for name, path in paths.items()} | {"folder": folder}


def said(*arguments: str) -> Any:
    """What the program prints with ``--json``; an error of it is raised as one of the library."""
    out, err = io.StringIO(), io.StringIO()
    with (
        patch.object(sys, "argv", ["mlnlearn", *arguments, "--json"]),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        try:
            run()
        except SystemExit as stop:
            if stop.code:
                raise MlnError(err.getvalue() or out.getvalue()) from None
    return json.loads(out.getvalue())
