"""``mlnlearn.toml``: options of a project, so that they need not be typed each time.

    schema = "schema.mln"      # of every command that has the option

    [learn]
    learner = "mln-bt"
    set = ["steps=10", "max_leaves=6"]

What stands on the command line is stronger.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mlnlearn.errors import InputError, did_you_mean, raise_all
from mlnlearn.files import read_text
from mlnlearn.toml import Toml

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
    toml = Toml.of(read_text(path), str(path))
    known = {name: _options(command) for name, command in commands.items()}
    everywhere = sorted({name for options in known.values() for name in options})
    problems: list[InputError] = []
    found: dict[str, dict[str, Any]] = {name: {} for name in commands}
    # what stands under a command is stronger than what stands above all: it comes later
    for name, value in sorted(toml.values.items(), key=lambda item: isinstance(item[1], dict)):
        if not isinstance(value, dict):
            if name not in everywhere:
                problems.append(_unknown("option", everywhere, toml, name))
            for command, options in known.items():
                if name in options:
                    found[command][options[name]] = _plain(value, toml, problems, name)
        elif name not in known:
            problems.append(_unknown("command", known, toml, name))
        else:
            for option, own in value.items():
                if option not in known[name]:
                    problems.append(_unknown(f"option of {name}", known[name], toml, name, option))
                else:
                    found[name][known[name][option]] = _plain(own, toml, problems, name, option)
    raise_all(problems)
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


def _plain(value: Any, toml: Toml, problems: list[InputError], *path: str) -> Any:
    listed = value if isinstance(value, list) else [value]
    if not all(isinstance(item, str | int | float | bool) for item in listed):
        hint = "a text, a number, true, false, or a list of these"
        message = f"{path[-1]}: {value!r:.60} is no value"
        problems.append(InputError(message, toml.place(*path), hint))
    return value


def _unknown(what: str, known: Any, toml: Toml, *path: str) -> InputError:
    message = f"no such {what}: {path[-1]}"
    return InputError(message, toml.place(*path), did_you_mean(path[-1], known))
