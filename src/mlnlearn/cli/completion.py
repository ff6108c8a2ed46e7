"""What a shell offers at a tab: names of learners, methods, engines and settings.

Files are offered by the shell itself. Typer calls what is offered with ``ctx`` and ``incomplete``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import typer

from mlnlearn.cli.settings import settings_of
from mlnlearn.registry import LEARNERS

Offers = list[tuple[str, str]]
"""What may be typed, each with a word on it."""


def offered(names: Iterable[str], *more: str) -> Callable[[str], list[str]]:
    """Return what completes one of some names, which are asked for only then.

    Examples
    --------
    >>> offered(["memory", "duckdb"], "auto")("d")
    ['duckdb']
    """

    def complete(incomplete: str) -> list[str]:
        return [name for name in (*names, *more) if name.startswith(incomplete)]

    return complete


def learner_names(incomplete: str) -> Offers:
    """Return learners with what they are.

    Examples
    --------
    >>> [name for name, _ in learner_names("mln-")]
    ['mln-bt', 'mln-bc']
    """
    return [(name, LEARNERS[name].about) for name in LEARNERS if name.startswith(incomplete)]


def setting_names(ctx: typer.Context, incomplete: str) -> Offers:
    """Return ``name=`` for each setting of the learners on the line so far."""
    found = {
        f"{name}=": setting.kind
        for learner in _named(ctx)
        for name, setting in settings_of(LEARNERS[learner]).items()
        if name.startswith(incomplete)
    }
    return list(found.items())


def preset_names(ctx: typer.Context, incomplete: str) -> list[str]:
    """Return the presets of the learners on the line so far."""
    found = {name for learner in _named(ctx) for name in LEARNERS[learner].load().presets}
    return sorted(name for name in found if name.startswith(incomplete))


def _named(ctx: typer.Context) -> list[str]:
    given = ctx.params.get("learner") or ()
    return [name for name in ([given] if isinstance(given, str) else given) if name in LEARNERS]
