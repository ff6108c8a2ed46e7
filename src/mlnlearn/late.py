"""Modules of other packages that are imported when they are first used.

SciPy, DuckDB and joblib each cost a tenth of a second and more at every start, in the program and
in each worker process, and most runs use none or one of them.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any


class _LateModule:
    """Stands for a module, and imports it when something of it is asked for."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        if attribute.startswith("__"):  # copying and inspecting are no use of it
            raise AttributeError(attribute)
        value = getattr(import_module(self._name), attribute)
        setattr(self, attribute, value)
        return value


def late(name: str) -> Any:
    """Return what stands for the module `name`, of another package, until it is used.

    Examples
    --------
    >>> special = late("scipy.special")
    >>> float(special.expit(0))
    0.5
    """
    return _LateModule(name)
