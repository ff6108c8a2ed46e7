"""Every learner goes on from any beginning of its journal to the same model, byte for byte."""

from dataclasses import dataclass, replace

import numpy as np
import pytest

from mlnlearn.data.database import Database
from mlnlearn.data.load.build import build_database
from mlnlearn.data.load.columns import Column
from mlnlearn.data.load.data import Data
from mlnlearn.data.load.tables import ForeignKey, Table
from mlnlearn.data.synthetic import hide, smokers
from mlnlearn.data.vocabulary import Vocabulary
from mlnlearn.errors import InputError
from mlnlearn.run import Run
from mlnlearn.structure.beam.learn import MSL
from mlnlearn.structure.boosting.learners import BoostedMLN, BoostedRDN
from mlnlearn.structure.join_bayes.learners import LAJDT, MBN
from mlnlearn.structure.lifted_search.learn import LiftedStructureLearner
from mlnlearn.structure.predicate_graph.learn import GSLP
from mlnlearn.structure.structural_em.learner import StructuralEM

PEOPLE = [smokers(14, rng=seed).databases[0] for seed in (1, 2)]
HIDDEN = [hide(database, "smokes", 0.3, rng=3) for database in PEOPLE]
TREES = BoostedMLN(target=("cancer", "smokes"), steps=4, max_leaves=3)


def tables():
    """People with columns that depend on each other, and friends."""
    rng = np.random.default_rng(4)
    old = rng.random(30) < 0.5
    ill = rng.random(30) < np.where(old, 0.8, 0.2)
    names = [f"P{number}" for number in range(30)]
    columns = {
        "id": Column.of(names),
        "age": Column.of(["old" if one else "young" for one in old]),
        "ill": Column.of(["yes" if one else "no" for one in ill]),
    }
    pairs = [(a, b) for a in range(30) for b in range(30) if a != b and old[a] == old[b]][::5]
    friends = {
        "one": Column.of([names[a] for a, _ in pairs]),
        "two": Column.of([names[b] for _, b in pairs]),
    }
    keys = (ForeignKey(("one",), "person"), ForeignKey(("two",), "person"))
    return build_database(
        [Table("person", columns, ("id",)), Table("friend", friends, ("one", "two"), keys)]
    )


TABLES = tables()


@dataclass
class Case:
    """A learner, its data, and the same learner with another setting."""

    learner: object
    databases: list
    other: object
    mapping: object = None

    def fit(self, path=None, **changes):
        case = replace(self, **changes)
        data = Data(tuple(case.databases), case.mapping)
        return case.learner.fit(data, Run(checkpoint=path)).model

    def saved(self, folder, path=None):
        """The bytes of the model's files."""
        folder.mkdir(exist_ok=True)
        self.fit(path).save(folder / "model.mln")
        return {file.name: file.read_bytes() for file in sorted(folder.iterdir())}


LIFTED = LiftedStructureLearner(max_variables=2, refitted=5, max_rounds=3, min_gain=0.01, risk=0.0)
SMALL = GSLP(max_literals=3, max_loop=2, min_gain=1e-4, joint=False)
CASES = {
    "trees": Case(TREES, PEOPLE, replace(TREES, max_leaves=4)),
    "clauses": Case(
        replace(TREES, representation="clauses"), PEOPLE, replace(TREES, representation="trees")
    ),
    "dependency network": Case(
        BoostedRDN(target="cancer", steps=4), PEOPLE, BoostedRDN(target="cancer", steps=4, seed=1)
    ),
    "soft EM": Case(
        StructuralEM(base=TREES, iterations=3, worlds=4),
        HIDDEN,
        StructuralEM(base=replace(TREES, max_leaves=2), iterations=3, worlds=4),
    ),
    "hard EM": Case(
        StructuralEM(base=TREES, iterations=3, mode="hard"),
        HIDDEN,
        StructuralEM(base=TREES, iterations=3, mode="soft"),
    ),
    "GSLP": Case(SMALL, PEOPLE, replace(SMALL, min_gain=2e-4)),
    "MSL": Case(MSL(min_gain=1e-3, max_literals=3), PEOPLE, MSL(min_gain=2e-3, max_literals=3)),
    "LSL": Case(LIFTED, PEOPLE, replace(LIFTED, sigma=3.0)),
    "learn-and-join trees": Case(LAJDT(links=True), [TABLES[0]], LAJDT(links=False), TABLES[1]),
    "moralised net": Case(MBN(), [TABLES[0]], MBN(sample_size=5.0), TABLES[1]),
}


@pytest.fixture(params=CASES)
def case(request):
    return CASES[request.param]


def renamed(database):
    """The same codes, for other constants."""
    domains = {
        kind: Vocabulary(f"{name}x" if kind == "person" else name for name in names.names)
        for kind, names in database.domains.items()
    }
    return replace(database, domains=domains)


def chosen(lines):
    """All beginnings of a short journal, some of a long one; the header alone, too."""
    return sorted({*np.linspace(1, len(lines), 5).astype(int).tolist()})


def test_any_beginning_leads_to_the_same_model_and_damage_is_refused(case, tmp_path):
    path = tmp_path / "run.jsonl"
    whole = case.saved(tmp_path / "model")
    assert case.saved(tmp_path / "model", path) == whole
    content = path.read_bytes()
    lines = content.splitlines(keepends=True)
    assert len(lines) > 2
    for count in chosen(lines):
        unfinished = lines[count][:-5] if count < len(lines) else b""
        path.write_bytes(b"".join(lines[:count]) + unfinished)
        assert case.saved(tmp_path / "model", path) == whole
        assert path.read_bytes() == content
    rng = np.random.default_rng(5)
    digits = [place for place, byte in enumerate(content) if chr(byte).isdigit()]
    for place in rng.choice(digits, 12):
        digit = bytes([48 + (content[place] - 47) % 10])
        path.write_bytes(content[:place] + digit + content[place + 1 :])
        with pytest.raises(InputError, match=r"run\.jsonl:\d+: this"):
            case.fit(path)


def test_a_checkpoint_of_other_constants_settings_or_learner_is_refused(case, tmp_path):
    path = tmp_path / "run.jsonl"
    case.fit(path)
    content = path.read_bytes()
    with pytest.raises(InputError, match="other data: constants of person in database 1"):
        case.fit(path, databases=[renamed(database) for database in case.databases])
    with pytest.raises(InputError, match="other settings: "):
        case.fit(path, learner=case.other)
    stranger = CASES["GSLP" if case is not CASES["GSLP"] else "MSL"]
    with pytest.raises(InputError, match="belongs to a run of"):
        stranger.fit(path)
    assert path.read_bytes() == content


def test_all_constants_and_atoms_count(tmp_path):
    """Facts that no rule may use, and atoms that are false by name, count as well."""
    path = tmp_path / "run.jsonl"
    learner = BoostedRDN(target="cancer", steps=1, bodies=("smokes",))
    learner.fit(PEOPLE, Run(checkpoint=path))
    first = PEOPLE[0]
    fewer = replace(first, true={**first.true, "friends": first.facts("friends")[:, 1:]})
    false = replace(first, false={"smokes": np.array([[13]], np.int32)})
    for other in (fewer, false):
        assert isinstance(other, Database)
        with pytest.raises(InputError, match=r"other data: atoms of .* in database 1"):
            learner.fit([other, PEOPLE[1]], Run(checkpoint=path))
