"""Folders of BoostSRL, and the objects of its Python wrapper srlearn.

A folder holds facts (``*facts.txt``), true and false examples (``*pos.txt``, ``*neg.txt``) and
background (``*bk.txt``), of which the modes say which predicates there are and of which types.
Where false examples are listed, they and the true ones are all that is known of the targets;
without such a list all other atoms are false.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from mlnlearn.data.database import Database
from mlnlearn.data.load.alchemy import database_of
from mlnlearn.errors import DataWarning, InputError, Location
from mlnlearn.files import read_text
from mlnlearn.logic.atoms import Predicate
from mlnlearn.logic.schema import Schema
from mlnlearn.syntax.db import DbText, scan_db

_FILES = {
    "facts": ("facts.txt",),
    "pos": ("pos.txt",),
    "neg": ("neg.txt",),
    "bk": ("bk.txt", "background.txt"),
}
_COMMENT = re.compile(r'"[^"\n]*"|//[^\n]*|%[^\n]*|/\*(?s:.*?)\*/')
_DIRECTIVE = re.compile(r"^[ \t]*[A-Za-z]\w*[ \t]*:(?!-)[^\n]*", re.MULTILINE)
_IMPORT = re.compile(r'^[ \t]*import[ \t]*:[ \t]*"([^"\n]+)"[ \t]*\.?[ \t]*$', re.MULTILINE)
# A statement ends at a full stop, or where a line begins another one ('okIfUnknown: p/1' alone).
_STATEMENT = re.compile(
    r"(?:\"[^\"\n]*\"|\n(?![ \t]*[A-Za-z]\w*[ \t]*:(?!-))|[^.\"\n]|\.(?=\S))+", re.DOTALL
)
_MODE = re.compile(r"([A-Za-z_]\w*)\s*(?:\((.*)\))?\Z", re.DOTALL)
_BARE_MODE = re.compile(r"[A-Za-z_]\w*\s*\(\s*[-+#`]")  # srlearn leaves out the word 'mode:'
_HEAD = re.compile(r"(?<![\w\"'])([A-Za-z_]\w*)\(")
_COUNT = re.compile(r"[0-9]{1,9}\Z")
_SETTINGS = {"nodesize": "literals_per_node", "numofclauses": "max_leaves"}
_DEEPEST = 20


@dataclass(frozen=True, eq=False)
class BoostSRLData:
    """What a folder of BoostSRL holds.

    Attributes
    ----------
    database
        Facts and examples; its schema is that of the modes.
    targets
        The predicates of which there are examples.
    modes
        The modes, for the setting of that name.
    settings
        What ``setParam`` lines say, under the names of our settings: ``literals_per_node`` and
        ``max_leaves`` of boosted networks.
    """

    database: Database
    targets: tuple[str, ...]
    modes: tuple[str, ...]
    settings: Mapping[str, int] = field(default_factory=dict)

    def asked(self) -> Database:
        """Return the database with all examples unknown: what is known before they are asked."""
        database = self.database
        unknown = dict(database.unknown)
        for target in self.targets:
            listed = [database.facts(target), database.false_facts(target)]
            unknown[target] = np.concatenate([*listed, database.unknown_facts(target)], axis=1)
        true, false = (
            {name: codes for name, codes in table.items() if name not in self.targets}
            for table in (database.true, database.false)
        )
        return Database.from_codes(
            database.schema, database.domains, true, false, unknown, name=database.name
        )


def is_boostsrl(folder: Path) -> bool:
    """Tell whether a folder holds facts of BoostSRL."""
    return folder.is_dir() and _find(folder, "facts") is not None


def read_boostsrl(folder: str | Path) -> BoostSRLData:
    r"""Read a folder of BoostSRL: facts, examples and modes.

    Parameters
    ----------
    folder
        The folder with ``*facts.txt``, ``*pos.txt``, ``*neg.txt`` and ``*bk.txt``.

    Warns
    -----
    DataWarning
        Where rules of the background (``precompute``) are left out, and facts without a mode.

    Examples
    --------
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> _ = (folder / "train_bk.txt").write_text("mode: smokes(+Person).\nmode: ill(+Person).\n")
    >>> _ = (folder / "train_facts.txt").write_text("smokes(anna).\nsmokes(bob).\n")
    >>> _ = (folder / "train_pos.txt").write_text("ill(anna).\n")
    >>> _ = (folder / "train_neg.txt").write_text("ill(bob).\n")
    >>> found = read_boostsrl(folder)
    >>> found.targets, found.modes, list(found.database.rows("smokes"))
    (('ill',), ('smokes(+person)', 'ill(+person)'), [('anna',), ('bob',)])
    """
    place = Path(folder)
    if not place.is_dir():
        raise InputError("no such folder", Location(str(place)))
    texts: dict[str, tuple[str, str]] = {}
    for kind in _FILES:
        path = _find(place, kind)
        if path is not None:
            texts[kind] = _with_imports(path), str(path)
    for kind, what in (("facts", "facts"), ("bk", "background with modes")):
        if kind not in texts:
            raise InputError(
                f"the folder has no file of {what}",
                Location(str(place)),
                hint=f"its name ends in {' or '.join(_FILES[kind])}",
            )
    return _read(texts, str(place))


def from_srlearn(background: Any, database: Any, name: str = "srlearn") -> BoostSRLData:
    """Take the objects of srlearn: its ``Background`` (or a list of modes) and its ``Database``.

    Parameters
    ----------
    background
        An object with ``modes``, or the modes themselves.
    database
        An object with lists of texts ``facts``, ``pos`` and ``neg``.
    name
        The database's name in messages.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> data = SimpleNamespace(facts=["smokes(a).", "smokes(b)."], pos=["ill(a)."], neg=["ill(b)."])
    >>> from_srlearn(["smokes(+person).", "ill(+person)."], data).targets
    ('ill',)
    """
    modes = getattr(background, "modes", background)
    if not isinstance(modes, Iterable) or isinstance(modes, str):
        raise InputError("no modes in the background", hint="give a list of texts such as p(+a,-b)")
    lines = (f"mode: {str(mode).strip().removeprefix('mode:').rstrip('.')}." for mode in modes)
    texts = {"bk": ("\n".join(lines), f"{name}.modes")}
    for kind in ("facts", "pos", "neg"):
        listed = getattr(database, kind, None)
        if listed:
            texts[kind] = "\n".join(map(str, listed)), f"{name}.{kind}"
    return _read(texts, name)


def _find(folder: Path, kind: str) -> Path | None:
    found = sorted(path for path in folder.iterdir() if path.name.lower().endswith(_FILES[kind]))
    if len(found) > 1:
        raise InputError(
            f"the folder has several files of this kind: {', '.join(p.name for p in found)}",
            Location(str(folder)),
            hint="keep one of them",
        )
    return found[0] if found else None


def _with_imports(path: Path, depth: int = 0) -> str:
    """Return a file's text without comments; what it imports stands in its place."""
    if depth > _DEEPEST:
        raise InputError(f"files import one another {_DEEPEST} levels deep", Location(str(path)))
    text = _without_comments(read_text(path))

    def imported(match: re.Match[str]) -> str:
        other = path.parent / match[1]
        # Complaints quote lines of the file: those of any other kind are nobody's business.
        if other.suffix != ".txt":
            raise InputError(f"cannot import {other}: its name does not end in .txt")
        return _with_imports(other, depth + 1)

    return _IMPORT.sub(imported, text)


def _without_comments(text: str) -> str:
    return _COMMENT.sub(
        lambda match: match[0] if match[0][0] == '"' else re.sub(r"[^\n]", " ", match[0]), text
    )


def _read(texts: Mapping[str, tuple[str, str]], name: str) -> BoostSRLData:
    background = _background(*texts["bk"])
    schema = background.schema
    scanned: list[DbText] = []
    targets: dict[str, None] = {}
    left_out: set[str] = set()
    parts = {"bk": ("\n".join(background.facts), texts["bk"][1])}
    parts |= {kind: text for kind, text in texts.items() if kind != "bk"}
    for kind, (text, file) in parts.items():
        found = scan_db(_known(text, file, schema, left_out, kind), schema, file)
        if kind in ("pos", "neg"):
            targets.update((predicate, None) for _, predicate in found.atoms)
        if kind == "neg":
            atoms = {("false", predicate): atoms for (_, predicate), atoms in found.atoms.items()}
            found = replace(found, atoms=atoms)
        scanned.append(found)
    _warn(sorted(left_out), "facts of {} are left out: there is no mode for them")
    _warn(background.rules, "rules of the background are not run: of {} only listed facts are used")
    database = database_of(scanned, schema, name)
    if "neg" in texts:
        database = replace(database, open=frozenset(targets))
    return BoostSRLData(database, tuple(targets), background.modes, background.settings)


def _warn(names: Iterable[str], message: str) -> None:
    listed = ", ".join(names)
    if listed:
        warnings.warn(message.format(listed), DataWarning, stacklevel=4)


def _known(text: str, file: str, schema: Schema, left_out: set[str], kind: str) -> str:
    """Return a text of atoms with predicates spelt as in the modes, without lines of others."""
    text = _DIRECTIVE.sub("", text)
    spelt = {predicate.name.lower(): predicate.name for predicate in schema.predicates}
    used = set(_HEAD.findall(text))
    if "regressionExample" in used:
        raise InputError(
            "examples with numbers (regressionExample) are not supported",
            Location(file),
            hint="cut the numbers into intervals and predict these",
        )
    unknown = {name for name in used if name.lower() not in spelt}
    if unknown and kind in ("pos", "neg"):
        raise InputError(
            f"there is no mode for the examples of {', '.join(sorted(unknown))}",
            Location(file),
            hint="add one to the background, as in mode: ill(+Person).",
        )
    if unknown:
        left_out |= unknown
        text = re.sub(rf"\b(?:{'|'.join(sorted(unknown))})\([^()\n]*\)[ \t]*\.?", "", text)
    if any(spelt[name.lower()] != name for name in used - unknown):
        text = _HEAD.sub(lambda match: f"{spelt[match[1].lower()]}(", text)
    return text


# Background --------------------------------------------------------------------------------------


@dataclass
class _Background:
    schema: Schema = field(default_factory=Schema)
    modes: tuple[str, ...] = ()
    settings: dict[str, int] = field(default_factory=dict)
    facts: list[str] = field(default_factory=list)
    rules: list[str] = field(default_factory=list)


def _background(text: str, file: str) -> _Background:
    """Read the statements of a background file; each ends in a full stop."""
    found = _Background()
    kinds: dict[str, tuple[str, ...]] = {}
    modes: dict[str, None] = {}
    # A semicolon ends a setting, too.
    text = re.sub(r";[ \t]*$", ".", _without_comments(text), flags=re.MULTILINE)
    for match in _STATEMENT.finditer(text):
        statement = match[0].strip()
        word, colon, rest = (part.strip() for part in statement.partition(":"))
        if _BARE_MODE.match(statement):
            word, colon, rest = "mode", ":", statement
        if ":-" in statement:
            head = _HEAD.search(statement)
            found.rules += [head[1]] if head and head[1] not in found.rules else []
        elif colon and word == "mode":
            name, signs, types = _mode(rest, file)
            if kinds.setdefault(name, types) != types:
                raise InputError(
                    f"modes give {name} the types {', '.join(kinds[name])} and {', '.join(types)}",
                    Location(file),
                    hint="a predicate has one type in each place",
                )
            places = (sign + kind for sign, kind in zip(signs, types, strict=True))
            modes[f"{name}({','.join(places)})"] = None
        elif colon and word == "setParam":
            key, _, value = (part.strip() for part in rest.partition("="))
            if key.lower() in _SETTINGS and _COUNT.match(value):
                found.settings[_SETTINGS[key.lower()]] = int(value)
        elif not colon and _HEAD.match(statement):
            found.facts.append(f"{statement}.")
    if not kinds:
        raise InputError("there are no modes", Location(file), hint="as in mode: ill(+Person).")
    found.schema = Schema(tuple(Predicate(name, types) for name, types in kinds.items()))
    found.modes = tuple(modes)
    return found


def _mode(text: str, file: str) -> tuple[str, str, tuple[str, ...]]:
    """Return the name, the signs and the types of a mode such as ``taught(+Course,-Person)``."""
    match = _MODE.match(text)
    if not match:
        raise InputError(f"this is no mode: {text!r:.80}", Location(file))
    signs, types = "", []
    for place in (match[2] or "").split(",") if match[2] else ():
        sign, kind = place.strip()[:1], place.strip()[1:].partition("!")[0].strip().lower()
        sign = "-" if sign == "`" else sign  # a new variable, or one that is there
        if sign not in ("+", "-", "#") or not kind.isidentifier():
            raise InputError(
                f"mode {text!r:.80}: found {place.strip()!r}",
                Location(file),
                hint="a place is one of +type, -type and #type",
            )
        signs += sign
        types.append(kind)
    return match[1], signs, tuple(types)
