"""``mlnlearn.toml``: options of a project, so that they need not be typed each time.

    schema = "schema.mln"      # of every command that has the option

    [learn]
    learner = "mln-bt"
    set = ["steps=10", "max_leaves=6"]

What stands on the command line is stronger.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mlnlearn.errors import InputError, InputErrors, Location, did_you_mean
from mlnlearn.files import read_text

FILE = "mlnlearn.toml"


def project_options(commands: Mapping[str, Any], folder: Path) -> dict[str, Any] | None:
    """Return the options that a folder's project file gives, by command; None without a file.

    Raises
    ------
    InputErrors
        With every name that is no command or option, and every value that is none.
    """
    path = folder / FILE
    if not path.is_file():
        return None
    try:
        given = tomllib.loads(read_text(path))
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"this is no TOML: {error}", Location(str(path))) from None
    known = {name: _options(command) for name, command in commands.items()}
    everywhere = sorted({name for options in known.values() for name in options})
    problems: list[InputError] = []
    found: dict[str, dict[str, Any]] = {name: {} for name in commands}
    # what stands under a command is stronger than what stands above all: it comes later
    for name, value in sorted(given.items(), key=lambda item: isinstance(item[1], dict)):
        if not isinstance(value, dict):
            if name not in everywhere:
                problems.append(_unknown("option", name, everywhere, path))
            for command, options in known.items():
                if name in options:
                    found[command][options[name]] = _plain(name, value, path, problems)
        elif name not in known:
            problems.append(_unknown("command", name, known, path))
        else:
            for option, own in value.items():
                if option not in known[name]:
                    problems.append(_unknown(f"option of {name}", option, known[name], path))
                else:
                    found[name][known[name][option]] = _plain(option, own, path, problems)
    if problems:
        raise InputErrors(problems)
    return found


def _options(command: Any) -> dict[str, str]:
    """Return the parameters of a command by the names of their options."""
    return {
        option.removeprefix("--"): parameter.name or ""
        for parameter in command.params
        if parameter.param_type_name == "option" and parameter.name != "help"
        for option in parameter.opts
        if option.startswith("--")
    }


def _plain(name: str, value: Any, path: Path, problems: list[InputError]) -> Any:
    listed = value if isinstance(value, list) else [value]
    if not all(isinstance(item, str | int | float | bool) for item in listed):
        hint = "a text, a number, true, false, or a list of these"
        problems.append(InputError(f"{name}: {value!r:.60} is no value", Location(str(path)), hint))
    return value


def _unknown(what: str, name: str, known: Any, path: Path) -> InputError:
    return InputError(f"no such {what}: {name}", Location(str(path)), did_you_mean(name, known))
