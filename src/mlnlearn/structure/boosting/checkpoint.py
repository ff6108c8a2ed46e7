"""Rules learned so far, in a file from which a run that was stopped goes on."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mlnlearn.counting.objects import Objects
from mlnlearn.errors import InputError
from mlnlearn.files import write_atomically
from mlnlearn.model.boosted.files import rules_from_plain, rules_to_plain, to_json
from mlnlearn.model.boosted.rules import Step, TargetRules

if TYPE_CHECKING:
    from _typeshed import DataclassInstance


class Checkpoint:
    """The rules of a run in a file, with a mark of the settings and data they belong to.

    Parameters
    ----------
    path
        The file.
    learner
        The settings.
    world
        The data.
    marks
        What else tells the run from others.
    """

    def __init__(
        self,
        path: str | PathLike[str],
        learner: DataclassInstance,
        world: Objects,
        marks: Iterable[bytes] = (),
    ) -> None:
        self.path = Path(path)
        self.schema = world.schema
        self.mark = {
            "learner": type(learner).__name__,
            "settings": json.loads(json.dumps(asdict(learner), default=str)),
            "data": _fingerprint(world, marks),
        }

    def read(self) -> tuple[list[TargetRules], list[dict[str, Any]]]:
        """Return the rules of each target, and the notes; none where there is no file."""
        if not self.path.exists():
            return [], []
        try:
            plain = json.loads(self.path.read_text(encoding="utf-8"))
            if plain["run"] != self.mark:
                raise InputError(
                    f"{self.path} belongs to a run with other settings or data",
                    hint="delete it, or name another checkpoint",
                )
            rules = [rules_from_plain(item, self.schema) for item in plain["targets"]]
            return rules, list(plain.get("notes", []))
        except (KeyError, TypeError, ValueError) as problem:
            raise InputError(f"{self.path} is no checkpoint: {problem!r}") from None

    def steps(self) -> list[list[Step]]:
        """Return the steps there are: for each round, one a target."""
        rules, _ = self.read()
        return [list(step) for step in zip(*(target.steps for target in rules), strict=True)]

    def write(
        self, rules: Sequence[TargetRules], notes: Sequence[dict[str, Any]] | None = None
    ) -> None:
        """Put all that was learned so far in the file."""
        plain: dict[str, object] = {"run": self.mark, "targets": [*map(rules_to_plain, rules)]}
        if notes is not None:
            plain["notes"] = list(notes)
        write_atomically(self.path, to_json(plain))


def _fingerprint(world: Objects, marks: Iterable[bytes]) -> str:
    """Return a mark of the facts, and of what else a run learns from."""
    digest = hashlib.sha256()
    for database in world.databases:
        digest.update(str(database.schema).encode())
        for kind in database.schema.types:
            digest.update(f"{kind} {database.size(kind)} ".encode())
        for predicate in database.schema.predicates:
            digest.update(database.facts(predicate.name).tobytes())
    for mark in marks:
        digest.update(mark)
    return digest.hexdigest()
