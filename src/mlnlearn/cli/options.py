"""Options that several commands share."""

from __future__ import annotations

import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Any

import typer

import mlnlearn as ml
from mlnlearn.cli.registry import LEARNERS
from mlnlearn.errors import InputError, Location

if TYPE_CHECKING:  # loading the models can wait until a command runs
    from mlnlearn.model.boosted.model import BoostedModel
    from mlnlearn.model.mln import MLN

LEARNER_NAMES = ", ".join(LEARNERS)

ModelOption = Annotated[
    Path, typer.Option("--model", help="A model: an .mln file, or what learn wrote.")
]
DatabasesOption = Annotated[
    list[Path], typer.Option("--db", help="Databases, one or more after --db.", show_default=False)
]
# Words that follow the first database: `--db fold1.db fold2.db` reads like `--db fold1.db --db …`.
MoreArgument = Annotated[list[Path] | None, typer.Argument(hidden=True)]
SetOption = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="NAME=VALUE",
        help="A setting of the learner; may be given several times.",
        show_default=False,
    ),
]
SeedOption = Annotated[int, typer.Option("--seed", help="Same seed, same result.")]


def names(text: str, option: str) -> tuple[str, ...]:
    """Read a list of names with commas.

    Examples
    --------
    >>> names("smokes, cancer", "--query")
    ('smokes', 'cancer')
    """
    found = tuple(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))
    if text.strip() and not found:
        raise InputError(f"{option}: no name in {text!r}")
    return found


def one_database(paths: list[Path]) -> Path:
    """Return the only database of a command that takes one."""
    if len(paths) != 1:
        raise InputError(f"--db: one database is needed, not {len(paths)}")
    return paths[0]


def read_model(path: Path) -> MLN | BoostedModel:
    """Read a model, whichever it is by what is in the file.

    A boosted model is saved as rules to read with JSON beside them; either file may be named. Rules
    that were changed since are taken as the network that they are.
    """
    from mlnlearn.model.boosted.files import FORMAT  # noqa: PLC0415 - loads the models
    from mlnlearn.model.boosted.model import BoostedModel  # noqa: PLC0415

    plain = _json(path)
    if plain is None:
        twin = path.with_suffix(".json")
        beside = _json(twin)
        if beside is not None and beside.get("format") == FORMAT:
            boosted = BoostedModel.from_plain(beside, str(twin))
            if _is_text_of(boosted, path):
                return boosted
        return ml.MLN.read(path)
    if plain.get("format") == FORMAT:
        return BoostedModel.from_plain(plain, str(path))
    from mlnlearn.structure.join_bayes.model import JoinBayesModel  # noqa: PLC0415

    return JoinBayesModel.load(path).mln()


def read_network(path: Path) -> MLN:
    """Read a model for a command that takes only Markov logic networks."""
    model = read_model(path)
    if isinstance(model, ml.MLN):
        return model
    raise InputError(
        "a boosted model is no network with weights of its own",
        Location(str(path)),
        hint="name an .mln file",
    )


def _json(path: Path) -> dict[str, Any] | None:
    """Return the JSON object in a file; None where the file is missing or something else."""
    try:
        with path.open("rb") as file:
            if not file.read(64).lstrip().startswith(b"{"):
                return None
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) else None


def _is_text_of(model: BoostedModel, path: Path) -> bool:
    """Whether a file is what the model writes as rules to read."""
    with TemporaryDirectory() as folder:
        copy = Path(folder) / "model.mln"
        model.save(copy)
        return path.is_file() and copy.read_bytes() == path.read_bytes()
