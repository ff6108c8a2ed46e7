"""What commands write: checked against what they read before any work is done."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from mlnlearn.errors import InputError
from mlnlearn.files import RULES, check_outputs, read_text

_INCLUDE = re.compile(r'^\s*#include\s+"([^"\n]*)"', re.MULTILINE)
_MOST_INCLUDED = 1000


def check(
    outputs: Iterable[Path | None],
    *,
    force: bool,
    data: Iterable[Path] = (),
    tables: str | None = None,
    model: Path | None = None,
    others: Iterable[Path | str | None] = (),
) -> None:
    """Refuse outputs that cannot be written, are inputs, or would replace what is not ours.

    Parameters
    ----------
    data, tables, model
        What the options of these names give; files that they imply are inputs as well.
    others
        Further inputs: schemas, mappings, values of settings.
    """
    read: list[Path | str] = [path for path in others if path is not None]
    read += [file for path in data for file in (path, path.parent / "schema.mln")]
    read += _of_tables(tables)
    if model is not None:
        read += model_files(model, beside=True)
    included = [file for path in read for file in _included(Path(path))]
    check_outputs([path for path in outputs if path is not None], [*read, *included], replace=force)


def model_files(path: Path, beside: bool) -> Iterator[Path]:
    """Yield the files of a model: where there is JSON beside the rules, that too."""
    yield path
    if beside and path.suffix != ".json":
        yield from beside_of(path, ".json")


def beside_of(path: Path, suffix: str) -> Iterator[Path]:
    """Yield the file of another kind beside one; none where that has no name, and is refused."""
    if path.name:
        yield path.with_suffix(suffix)


def _included(path: Path) -> list[Path]:
    """Return the files that a file of rules includes, and those that they include in turn."""
    found: dict[Path, None] = {}
    waiting = [path]
    while waiting and len(found) < _MOST_INCLUDED:
        file = waiting.pop()
        if not file.name.endswith(RULES) or file in found:
            continue
        found[file] = None
        with suppress(InputError, OSError):  # what cannot be read is complained about by its reader
            waiting += [file.parent / name for name in _INCLUDE.findall(read_text(file))]
    return list(found)


def _of_tables(tables: str | None) -> list[Path]:
    from mlnlearn.data.load.urls import is_url, read_url  # noqa: PLC0415 - with the reader

    if tables is None:
        return []
    place = read_url(tables) if is_url(tables) else Path(tables)
    return [place] if isinstance(place, Path) else []
