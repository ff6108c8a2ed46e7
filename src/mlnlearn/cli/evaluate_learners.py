"""The learners of ``mlnlearn evaluate``, with their settings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import mlnlearn as ml
from mlnlearn.cli.learn import configured
from mlnlearn.errors import InputError
from mlnlearn.registry import LEARNERS, Entry

ALL = "all"
"""The name that stands for every learner there is."""

# What a net is to say of links: they must be nodes of it, and its weights those of the net; weights
# learned for attributes do not tell how probable a link is.
_FOR_LINKS = {"links": "true", "weights": "log-probability"}


def entries(learners: Sequence[str]) -> dict[str, Entry]:
    """Return the learners by name; ``all`` stands for every one.

    Examples
    --------
    >>> list(entries(["gslp", "rdn-b"])), list(entries(["all"])) == list(LEARNERS)
    (['gslp', 'rdn-b'], True)
    """
    if ALL in learners:
        return dict(LEARNERS)
    return {name: LEARNERS[name] for name in learners}


def with_settings(
    chosen: dict[str, Entry],
    texts: Sequence[str],
    query: tuple[str, ...],
    links: bool,
    preset: str | None = None,
) -> dict[str, Any]:
    """Return the learners with their settings, by name; targets are what is asked for.

    A setting goes to all learners that have it, or to one: ``gslp.beam=20``.
    """
    mine = by_learner(chosen, texts)
    found = {}
    for name, entry in chosen.items():
        given = [text.partition("=")[0].strip() for text in mine[name]]
        defaults = _FOR_LINKS if links and entry.tables else {}
        more = [f"{key}={value}" for key, value in defaults.items() if key not in given]
        target = query if entry.has("target") or entry.has("base") else ()
        found[name] = configured(name, entry, [*mine[name], *more], target, None, preset=preset)
    return found


def by_learner(chosen: dict[str, Entry], texts: Sequence[str]) -> dict[str, list[str]]:
    """Return which of the texts ``name=value`` or ``learner.name=value`` each learner gets.

    Examples
    --------
    >>> by_learner(entries(["gslp", "msl"]), ["sigma=10", "msl.beam=3"])
    {'gslp': ['sigma=10'], 'msl': ['sigma=10', 'beam=3']}
    """
    from mlnlearn.cli.settings import parse_settings, settings_of  # noqa: PLC0415

    known = {name: settings_of(entry) for name, entry in chosen.items()}
    found: dict[str, list[str]] = {name: [] for name in chosen}
    shared = []
    for text in texts:
        learner, dot, _ = text.partition("=")[0].partition(".")
        if not dot:
            shared.append(text)
        elif learner.strip() in chosen:
            found[learner.strip()].append(text.partition(".")[2])
        else:
            raise InputError(
                f"--set {text}: {learner.strip()} is not evaluated",
                hint=f"there are: {', '.join(chosen)}",
            )
    parse_settings(shared, chosen)
    for name, settings in known.items():
        common = [text for text in shared if text.partition("=")[0].strip() in settings]
        found[name] = common + found[name]  # a setting of its own comes last, and counts
    return found


def grids(chosen: dict[str, Entry], texts: Sequence[str]) -> dict[str, dict[str, list[Any]]]:
    """Return the values that each learner is to choose from, by setting.

    Examples
    --------
    >>> grids(entries(["rdn-b", "msl"]), ["steps=2", "steps=3"])
    {'rdn-b': {'steps': [2, 3]}, 'msl': {}}
    """
    from mlnlearn.cli.settings import parse_settings  # noqa: PLC0415

    found: dict[str, dict[str, list[Any]]] = {}
    for name, mine in by_learner(chosen, texts).items():
        found[name] = {}
        for text in mine:
            for setting, value in parse_settings([text], {name: chosen[name]})[name].items():
                found[name].setdefault(setting, []).append(value)
    return found


def from_tables(learner: Any, entry: Entry, mapping: ml.Mapping | None) -> Any:
    """Return a learner that takes databases: those from tables are told of them here."""
    return ml.WithMapping(learner, mapping) if entry.tables and mapping is not None else learner
