"""Which sources a task's result rests on: its own module, and whatever that imports, at any depth.

A kept result is as good as new as long as these are unchanged; a change elsewhere in the library
does not touch it. A module that starts other programs rests on the whole library.
"""

from __future__ import annotations

import ast
import hashlib
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import mlnlearn

HOMES = {
    "mlnlearn": Path(mlnlearn.__file__).parent,
    "studies": Path(__file__).parent,
    "bench": Path(__file__).parent.parent / "bench",
}


@cache
def code_digest(path: Path) -> str:
    """Return what tells a version of a module, and of all that it imports, from others.

    Examples
    --------
    >>> len(code_digest(Path(__file__)))
    16
    """
    found = hashlib.sha256()
    for source in sources_of(path):
        found.update(source.name.encode())
        found.update(source.read_bytes())
    return found.hexdigest()[:16]


def sources_of(path: Path) -> list[Path]:
    """Return a module and all modules of library, studies and benches that it needs, in order.

    Examples
    --------
    >>> [source.name for source in sources_of(HOMES["mlnlearn"] / "errors.py")]
    ['errors.py']
    """
    found = {path.resolve()}
    if re.search(r"^import subprocess", path.read_text(encoding="utf-8"), re.MULTILINE):
        found |= {source.resolve() for source in HOMES["mlnlearn"].rglob("*.py")}
    waiting = [path.resolve()]
    while waiting:
        new = set(_imported(waiting.pop())) - found
        found |= new
        waiting += new
    return sorted(found)


@cache
def _imported(path: Path) -> tuple[Path, ...]:
    return tuple(_walked(path))


def _walked(path: Path) -> Iterator[Path]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        match node:
            case ast.Import(names=names):
                modules = [name.name for name in names]
            case ast.ImportFrom(module=str(module), names=names):
                modules = [module, *(f"{module}.{name.name}" for name in names)]
            case _:
                continue
        for module in modules:
            source = _source(module)
            if source is not None:
                yield source


def _source(module: str) -> Path | None:
    """Return the file of a module of ours; None where there is none."""
    top, *parts = module.split(".")
    if top not in HOMES:
        return None
    place = HOMES[top].joinpath(*parts)
    for path in (place.with_suffix(".py"), place / "__init__.py"):
        if parts and path.is_file():
            return path.resolve()
    return None
