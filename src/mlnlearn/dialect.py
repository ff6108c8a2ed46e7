"""Which system files are from: the names of those whose language is read, and the one in use."""

from __future__ import annotations

from contextvars import ContextVar

from mlnlearn.errors import InputError

DIALECTS = ("alchemy", "tuffy", "rockit", "lomrf", "pracmln")
"""The systems whose files can be named."""
DIALECT: ContextVar[str | None] = ContextVar("dialect", default=None)
"""The system that files are from where a reader is not told; the program sets it."""


def check_dialect(dialect: str | None) -> None:
    """Refuse a dialect that is not one.

    Examples
    --------
    >>> check_dialect("prolog")
    Traceback (most recent call last):
    mlnlearn.errors.InputError: no such dialect 'prolog'
      hint: those that are: alchemy, tuffy, rockit, lomrf, pracmln
    """
    if dialect is not None and dialect not in DIALECTS:
        raise InputError(
            f"no such dialect {dialect!r}", hint=f"those that are: {', '.join(DIALECTS)}"
        )
