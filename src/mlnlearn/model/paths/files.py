"""Path models in files: a table of their rules to read, and all of the model as JSON beside it."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
import numpy as np
from msgspec import Struct

from mlnlearn.counting.path_rules import ClosedRules, ConstantRules
from mlnlearn.counting.walks import Path
from mlnlearn.data.vocabulary import Vocabulary
from mlnlearn.documents import Place, decode, in_file, within
from mlnlearn.errors import InputError
from mlnlearn.files import AnyPath
from mlnlearn.model.paths.model import PathModel
from mlnlearn.model.paths.scoring import Aggregation, LinkWeights

FORMAT = "mlnlearn paths 1"

Number = Annotated[int, msgspec.Meta(ge=0, lt=1 << 62)]
EndPlace = Annotated[int, msgspec.Meta(ge=-1, lt=1 << 31)]


class ClosedFile(Struct, forbid_unknown_fields=True):
    """The closed rules, a list for each property."""

    heads: list[Place]
    paths: list[Annotated[list[Place], msgspec.Meta(min_length=1, max_length=20)]]
    support: list[Number]
    body: list[Number]
    pca_body: list[Number]


class ConstantsFile(Struct, forbid_unknown_fields=True):
    """The rules with constants, a list for each property."""

    head_link: list[Place]
    head_end: list[Place]
    body_link: list[Place]
    body_end: list[EndPlace]
    support: list[Number]
    body: list[Number]


class WeightsFile(Struct, forbid_unknown_fields=True):
    """The weights of a link."""

    link: Place
    rules: list[float]
    shared: list[float]
    having: list[float]


class PathsFile(Struct, forbid_unknown_fields=True):
    """A path model."""

    format: str
    relations: list[str]
    names: list[str]
    facts: list[Number]
    closed: ClosedFile
    constants: ConstantsFile
    weights: list[WeightsFile]
    aggregation: Aggregation
    smoothing: Annotated[float, msgspec.Meta(ge=0.0, le=1e9)]
    least_support: Annotated[int, msgspec.Meta(ge=1, lt=1 << 31)]
    checksum: str = ""
    rules: str = ""


def to_plain(model: PathModel) -> dict[str, Any]:
    """Return a model as plain values; of entities, those that rules name."""
    rules = model.constants
    named = np.union1d(rules.head_end, rules.body_end[rules.body_end >= 0])
    place = np.full(len(model.entities) + 1, -1, np.int64)
    place[named] = np.arange(len(named))
    closed = model.closed
    return {
        "format": FORMAT,
        "relations": list(model.relations),
        "names": [model.entities[code] for code in named.tolist()],
        "facts": model.facts.tolist(),
        "closed": {
            "heads": closed.heads.tolist(),
            "paths": [list(path) for path in closed.paths],
            "support": closed.support.tolist(),
            "body": closed.body.tolist(),
            "pca_body": closed.pca_body.tolist(),
        },
        "constants": {
            "head_link": rules.head_link.tolist(),
            "head_end": place[rules.head_end].tolist(),
            "body_link": rules.body_link.tolist(),
            "body_end": place[rules.body_end].tolist(),
            "support": rules.support.tolist(),
            "body": rules.body.tolist(),
        },
        "weights": [
            {
                "link": link,
                "rules": weights.rules.tolist(),
                "shared": weights.shared.tolist(),
                "having": weights.having.tolist(),
            }
            for link, weights in sorted(model.weights.items())
        ],
        "aggregation": model.aggregation,
        "smoothing": model.smoothing,
        "least_support": model.least_support,
    }


def from_plain(plain: object, where: AnyPath) -> PathModel:
    """Make a model of plain values, checked; it has no graph yet."""
    with in_file(where):
        found = decode(plain, PathsFile)
        return _model(found)


def _model(file: PathsFile) -> PathModel:
    links = 2 * len(file.relations)
    closed, constants = file.closed, file.constants
    _same_lengths("closed", closed)
    _same_lengths("constants", constants)
    steps = [step for path in closed.paths for step in path]
    for title, codes, bound in (
        ("closed.heads", closed.heads, len(file.relations)),
        ("closed.paths", steps, links),
        ("constants.head_link", constants.head_link, links),
        ("constants.body_link", constants.body_link, links),
        ("constants.head_end", constants.head_end, len(file.names)),
        ("constants.body_end", constants.body_end, len(file.names)),
        ("weights", [part.link for part in file.weights], links),
    ):
        if max(codes, default=-1) >= bound:
            raise InputError(f"{title}: {max(codes)} is the number of nothing")
    if len(file.facts) != len(file.relations) or len(set(file.relations)) != len(file.relations):
        raise InputError("relations and facts do not fit each other")
    if len(set(file.names)) != len(file.names):
        raise InputError("names: one stands twice")
    paths: list[Path] = [tuple(path) for path in closed.paths]
    heads = np.array(closed.heads, np.int64)
    weights = {}
    for part in file.weights:
        own = int(np.sum(heads == part.link % len(file.relations)))
        with within(f"weights of link {part.link}"):
            like = LinkWeights.start(own, links)
            weights[part.link] = LinkWeights.read(part.rules, part.shared, part.having, like)
    return PathModel(
        Vocabulary(file.relations),
        Vocabulary(file.names),
        np.array(file.facts, np.int64),
        ClosedRules(
            heads,
            paths,
            np.array(closed.support, np.int64),
            np.array(closed.body, np.int64),
            np.array(closed.pca_body, np.int64),
        ),
        ConstantRules(
            np.array(constants.head_link, np.int32),
            np.array(constants.head_end, np.int32),
            np.array(constants.body_link, np.int32),
            np.array(constants.body_end, np.int32),
            np.array(constants.support, np.int64),
            np.array(constants.body, np.int64),
        ),
        weights,
        file.aggregation,
        file.smoothing,
        file.least_support,
    )


def _same_lengths(title: str, part: Struct) -> None:
    sizes = {len(getattr(part, name)) for name in part.__struct_fields__}
    if len(sizes) > 1:
        raise InputError(f"{title}: its lists have different lengths")
