"""Models in files: whichever kind it is, by what is in the file."""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import TypeAlias

from mlnlearn.documents import read_document
from mlnlearn.errors import InputError, Location
from mlnlearn.files import content_hash, open_input, read_text
from mlnlearn.model.boosted.files import FORMAT as BOOSTED
from mlnlearn.model.boosted.model import BoostedModel
from mlnlearn.model.mln import MLN
from mlnlearn.model.paths.files import FORMAT as PATHS
from mlnlearn.model.paths.model import PathModel
from mlnlearn.model.relational.files import FORMAT as FEATURES
from mlnlearn.model.relational.model import RelationalModel
from mlnlearn.structure.join_bayes.model import FORMAT as NET
from mlnlearn.structure.join_bayes.model import JoinBayesModel

AnyModel: TypeAlias = MLN | BoostedModel | JoinBayesModel | PathModel | RelationalModel
"""What learners make."""
_KINDS: dict[str, type[BoostedModel | JoinBayesModel | PathModel | RelationalModel]] = {
    BOOSTED: BoostedModel,
    NET: JoinBayesModel,
    FEATURES: RelationalModel,
    PATHS: PathModel,
}


def load_model(path: str | PathLike[str]) -> AnyModel:
    """Read a model that `save` wrote, of any kind, or a network that somebody else did.

    A boosted model or a Bayes net is saved as rules to read with JSON beside them; either file may
    be named. The JSON says which rules belong to it: rules that were changed since are taken as the
    network that they are. JSON that cannot be read is an error, since the rules alone may say less
    than the model.

    Parameters
    ----------
    path
        The file of rules, or the JSON beside it.

    Examples
    --------
    >>> import tempfile
    >>> mln = MLN.parse("smokes(person)" + chr(10) + "0.5 smokes(x)")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     mln.save(Path(folder) / "model.mln")
    ...     print(load_model(Path(folder) / "model.mln").rules[0])
    0.5 smokes(x)
    """
    given = Path(path)
    if not given.name:
        raise InputError("the name of the model is empty")
    named = _looks_like_json(given)
    file = given if named else given.with_suffix(".json")
    plain = read_document(file) if named or file.exists() else None
    if not isinstance(plain, dict) or (kind := _KINDS.get(str(plain.get("format")))) is None:
        if named and given.suffix == ".json":
            raise InputError(
                f"no model: its format is none of {', '.join(map(repr, _KINDS))}",
                Location(str(file)),
            )
        return MLN.read(given)
    if not named and plain.get("rules") != content_hash(read_text(given)):
        return MLN.read(given)
    return kind.from_plain(plain, str(file))


def _looks_like_json(path: Path) -> bool:
    """Whether a file begins as a JSON object does; rules never do."""
    if path.suffix == ".json":
        return True
    try:
        with open_input(path) as file:
            return file.read(64).lstrip().startswith(b"{")
    except InputError:
        return False
