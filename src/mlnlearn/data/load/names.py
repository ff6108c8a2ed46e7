"""Names for predicates and types, made from names of tables and columns."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Container

from mlnlearn.syntax.symbols import is_reserved

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")


def is_name(text: str) -> bool:
    """Whether a text can name a predicate or type in a formula.

    Examples
    --------
    >>> is_name("inPhase"), is_name("in phase"), is_name("v")
    (True, False, False)
    """
    return bool(_NAME.match(text)) and not is_reserved(text)


def clean_name(name: str) -> str:
    """Return a name that can stand in a formula: ASCII letters, digits and ``_``.

    Examples
    --------
    >>> clean_name("größe (cm)"), clean_name("2010")
    ('grosse_cm', 'n_2010')
    """
    plain = unicodedata.normalize("NFKD", name.replace("ß", "ss")).encode("ascii", "ignore")
    text = re.sub(r"[^A-Za-z0-9_]+", "_", plain.decode()).strip("_") or "unnamed"
    return text if is_name(text) else f"n_{text}"


def type_name(name: str) -> str:
    """Return a clean name that starts in lower case, as types do.

    Examples
    --------
    >>> type_name("Student")
    'student'
    """
    text = clean_name(name)
    return text[0].lower() + text[1:]


def unused(name: str, taken: Container[str]) -> str:
    """Return the name, or the name with the first number that makes it new.

    Examples
    --------
    >>> unused("age", {"age", "age_2"})
    'age_3'
    """
    if name not in taken:
        return name
    number = 2
    while f"{name}_{number}" in taken:
        number += 1
    return f"{name}_{number}"
