"""Help without noise: a flag is shown as it is typed, without a type."""

from __future__ import annotations

from typing import Any

from typer.core import TyperCommand, TyperGroup


def _without_types(options: Any) -> None:
    for option in options:
        if option is not None and getattr(option, "is_flag", False):
            option.metavar = ""


class PlainCommand(TyperCommand):
    """A command whose flags have no type in its help."""

    def get_params(self, ctx: Any) -> Any:
        """Return the parameters, the option for help among them."""
        found = super().get_params(ctx)
        _without_types(found)
        return found


class PlainGroup(TyperGroup):
    """The program itself, likewise."""

    def get_params(self, ctx: Any) -> Any:
        """Return the parameters, the option for help among them."""
        found = super().get_params(ctx)
        _without_types(found)
        return found
