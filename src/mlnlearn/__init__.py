"""Learn Markov logic networks from relational data.

    import mlnlearn as ml

    databases = [ml.read_db(f"fold{k}.db", schema="schema.mln") for k in (1, 2, 3)]
    engine = ml.open_engine(databases)
    rule = ml.parse_formula("friends(x,y) ^ smokes(x) => smokes(y)", databases[0].schema)
    ml.true_groundings(engine, rule.formula)

Names are loaded on first use, so that importing the package costs next to nothing; which there
are, and where each lives, stands in ``__init__.pyi``.
"""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path
from typing import Any

_FACE = Path(__file__).with_suffix(".pyi").read_text(encoding="utf-8")
_HOME_OF = {n: home for home, n in re.findall(r"^from (\S+) import (\w+) as ", _FACE, re.MULTILINE)}

__all__ = ["__version__", *sorted(_HOME_OF)]  # noqa: PLE0604 - names, all of them


def __getattr__(name: str) -> Any:
    """Load a public name on first use, and keep it (PEP 562)."""
    value: Any
    if name == "__version__":
        value = import_module("importlib.metadata").version("mlnlearn")
    elif name in _HOME_OF:
        home = import_module(_HOME_OF[name])
        # `synthetic` is a module itself: no attribute of its package until it is imported.
        value = getattr(home, name, None) or import_module(f"{_HOME_OF[name]}.{name}")
    else:
        raise AttributeError(f"module 'mlnlearn' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
