"""Relations to one of a few values: leaves have a value for each, one structure serves all."""

import numpy as np
import pytest

import mlnlearn as ml
from mlnlearn.counting.examples import examples_of, find_place
from mlnlearn.counting.relational import relational
from mlnlearn.data.database import Database
from mlnlearn.data.load.data import Data
from mlnlearn.data.population import all_atoms
from mlnlearn.errors import InputError
from mlnlearn.evaluate.row_importance import row_importances
from mlnlearn.logic.schema import Schema
from mlnlearn.model.relational.trees import axis_of
from mlnlearn.run import Run
from mlnlearn.structure.relational_boosting.learner import RelationalBoost
from mlnlearn.structure.relational_boosting.name_axis import named_examples
from mlnlearn.structure.saved import load_model

GENES, ROLES, MOTIFS = 120, 10, 8
SCHEMA = Schema.of("has(gene,motif)", "function(gene,role)")
SETTINGS = {"target": "function", "own_facts": False, "steps": 30, "patience": 10}


def genes(seed, number=GENES, strength=3.0, roles=ROLES, schema=SCHEMA):
    """Each function goes with two motifs of its own."""
    rng = np.random.default_rng(seed)
    has = rng.random((number, MOTIFS)) < 0.4
    score = np.full((number, roles), -1.0)
    for role in range(roles):
        score[:, role] += strength * (has[:, role % MOTIFS] - 0.4)
        score[:, role] += strength * (has[:, (role + 3) % MOTIFS] - 0.4)
    chance = 1 / (1 + np.exp(-score))
    true = rng.random(chance.shape) < chance
    facts = {
        "has": [(f"G{seed}{gene:03}", f"M{motif}") for gene, motif in np.argwhere(has)],
        "function": [(f"G{seed}{gene:03}", f"r {role}") for gene, role in np.argwhere(true)],
    }
    domains = {
        "gene": [f"G{seed}{gene:03}" for gene in range(number)],
        "role": [f"r {role}" for role in range(roles)],
        "motif": [f"M{motif}" for motif in range(MOTIFS)],
    }
    return Database.from_facts(schema, facts, domains=domains), chance


@pytest.fixture(scope="module")
def fitted():
    return RelationalBoost(**SETTINGS).fit(genes(1)[0])


def surprise(chance, said):
    return -np.mean(chance * np.log(said) + (1 - chance) * np.log(1 - said))


def answers(model, database, predicate="function"):
    atoms = all_atoms(database, predicate)
    return model.predict(database, predicate, atoms).reshape(-1, database.size("role"))


def said_by_definition(model, database):
    """The probability of each atom by walking the trees atom by atom, with the name looked up."""
    view = relational([database])
    examples = examples_of(view, find_place(view, "function"))
    columns = model.columns(view, examples.base)
    roles = columns[axis_of(model.trees).feature]
    found = []
    for row in range(examples.base.rows):
        name, score = roles.names[int(roles.values[row])], model.start[0]
        for tree in model.trees:
            node = tree
            while node.test is not None:
                values = columns[node.test.feature]
                one = type(values)(values.values[[row]], values.names)
                node = node.yes if node.test.holds(one)[0] else node.no
            value = node.values[0]
            if node.by_name is not None and name in node.by_name.axis.names:
                value = node.by_name.values[node.by_name.axis.names.index(name)]
            score += value
        found.append(1 / (1 + np.exp(-score)))
    return np.array(found).reshape(-1, database.size("role"))


def test_the_axis_is_taken_where_it_gains(fitted, monkeypatch):
    database, chance = genes(2)
    assert fitted.notes.axis == "its role"
    assert axis_of(fitted.model.trees).names == tuple(f"r {role}" for role in range(ROLES))
    learner = "mlnlearn.structure.relational_boosting.learner.named_examples"
    monkeypatch.setattr(learner, lambda *given: None)
    plain = RelationalBoost(**SETTINGS).fit(genes(1)[0])
    assert axis_of(plain.model.trees) is None
    best = surprise(chance, chance)
    loss, before = (
        surprise(chance, answers(one.model, database)) - best for one in (fitted, plain)
    )
    assert loss < 0.7 * before


def test_without_a_gain_the_model_is_the_plain_one(monkeypatch):
    """Where all functions go with the same motif, a value for each says nothing more."""
    rng = np.random.default_rng(4)
    has = rng.random((150, 3)) < 0.4
    true = rng.random((150, 6)) < np.where(has[:, :1], 0.6, 0.2)
    facts = {
        "has": [(f"G{gene}", f"M{motif}") for gene, motif in np.argwhere(has)],
        "function": [(f"G{gene}", f"R{role}") for gene, role in np.argwhere(true)],
    }
    database = Database.from_facts(SCHEMA, facts)
    found = RelationalBoost(**SETTINGS).fit(database)
    assert not found.notes.axis
    learner = "mlnlearn.structure.relational_boosting.learner.named_examples"
    monkeypatch.setattr(learner, lambda *given: None)
    assert RelationalBoost(**SETTINGS).fit(database).model == found.model


def test_answers_are_those_of_the_definition_and_of_the_network(fitted):
    model, small = fitted.model, genes(5, number=7)[0]
    said = answers(model, small)
    assert said == pytest.approx(said_by_definition(model, small), abs=1e-12)
    network = ml.MLN.parse(model.network_text())
    closed = [p.name for p in network.schema.predicates if p.name != "function"]
    facts = model.derived_facts(small)
    exact = ml.query(network, facts, "function", method="exact", closed=closed).by_atom()
    queried = model.query(small, "function").by_atom()
    assert set(exact) == set(queried)
    assert max(abs(exact[atom] - queried[atom]) for atom in exact) < 1e-12
    assert sorted(queried.values()) == pytest.approx(sorted(said.ravel()), abs=1e-12)


def test_a_name_not_seen_in_training_has_the_mean(fitted):
    model, wider = fitted.model, genes(5, number=7, roles=ROLES + 1)[0]
    said = answers(model, wider)
    assert said == pytest.approx(said_by_definition(model, wider), abs=1e-12)
    assert 0.05 < said[:, -1].mean() < 0.6


def test_the_model_survives_a_file(fitted, tmp_path):
    path = tmp_path / "function.mln"
    fitted.model.save(path)
    assert load_model(path) == fitted.model
    plain = fitted.model.to_plain()
    assert ml.RelationalModel.from_plain(plain) == fitted.model


def test_damaged_axes_are_refused(fitted):
    def broken(change):
        plain = fitted.model.to_plain()
        change(plain)
        return plain

    changes = {
        "no axis to name": lambda plain: plain.pop("axis"),
        "twice": lambda plain: plain["axis"].update(names=["a"] * ROLES),
        "values for": lambda plain: plain["axis"].update(names=["a", "b"]),
        "expected an argument": lambda plain: plain["axis"].update(feature=10_000),
        "others have not": lambda plain: next(
            tree for tree in plain["trees"] if "yes" in tree and "by_name" in tree
        )["yes"].pop("by_name"),
    }
    for message, change in changes.items():
        with pytest.raises(InputError, match=message):
            ml.RelationalModel.from_plain(broken(change))


def test_explanations_add_up_and_tell_the_name(fitted):
    model, small = fitted.model, genes(5, number=7)[0]
    for atom, chance in list(model.query(small, "function").by_atom().items())[:20]:
        found = model.explain(small, atom)
        assert sum(part.log_odds for part in found.contributions) == pytest.approx(found.log_odds)
        assert 1 / (1 + np.exp(-found.log_odds)) == pytest.approx(chance)
    said = [str(part.rule) for part in found.contributions]
    assert any(text.startswith("its role is r ") for text in said)
    assert any("motif" in text for text in said)


def test_rules_of_the_short_list_name_values(fitted):
    sentences = [sentence for sentence, _ in fitted.model.rules()]
    assert any("its role is r " in text and "motif = M" in text for text in sentences)
    assert fitted.model.listed.kept > 0.4
    assert "for each of 10 names (its role)" in str(fitted.model)
    small = genes(5, number=7)[0]
    listed = ml.MLN.parse(fitted.model.file_text())
    short = fitted.model.distilled()
    closed = [p.name for p in listed.schema.predicates if p.name != "function"]
    exact = ml.query(
        listed, short.derived_facts(small), "function", method="exact", closed=closed
    ).by_atom()
    queried = short.query(small, "function").by_atom()
    assert max(abs(exact[atom] - queried[atom]) for atom in queried) < 1e-12


@pytest.mark.parametrize("workers", [2, 8])
def test_the_same_model_for_any_number_of_threads(fitted, workers):
    other = RelationalBoost(**SETTINGS).fit(genes(1)[0], Run(workers=workers))
    assert other.model == fitted.model


def test_a_killed_run_resumes_to_the_same_model(fitted, tmp_path):
    path = tmp_path / "run.journal"
    RelationalBoost(**SETTINGS).fit(genes(1)[0], Run(checkpoint=path))
    lines = path.read_bytes().splitlines(keepends=True)
    names = [at for at, line in enumerate(lines) if b"names, fold step" in line]
    refits = [at for at, line in enumerate(lines) if b'"step ' in line]
    assert names
    assert refits
    for kept in (names[3], refits[2]):
        path.write_bytes(b"".join(lines[:kept]) + lines[kept][:40])
        again = RelationalBoost(**SETTINGS).fit(genes(1)[0], Run(checkpoint=path))
        assert again.model == fitted.model


def test_models_that_read_labels_have_an_axis_of_their_own(tmp_path):
    """Functions come in pairs, so that others of the same gene tell; the part alone reads none."""
    database, _ = genes(1)
    model = RelationalBoost(**SETTINGS | {"own_facts": True}).fit(database).model
    alone = model if model.alone is None else model.alone
    assert axis_of(alone.trees) is not None
    model.save(tmp_path / "own.mln")
    assert load_model(tmp_path / "own.mln") == model


def test_importance_counts_the_name(fitted):
    found = row_importances(fitted.model, Data((genes(6, number=30)[0],)))
    assert found["its role"] > 0.02


def test_exclusive_arguments_stay_as_they_are():
    schema = Schema.of("has(gene,motif)", "function(gene!,role)")
    database = genes(1, schema=schema)[0]
    view = relational([database])
    examples = examples_of(view, find_place(view, "function"))
    assert named_examples(view, examples) is not None
    few = SETTINGS | {"steps": 2}
    assert axis_of(RelationalBoost(**few).fit(database).model.trees) is None


def test_names_that_do_not_recur_are_no_axis():
    def view_of(names):
        facts = [
            {"function": [(f"G{number}{gene}", name) for gene, name in enumerate(names(number))]}
            for number in range(3)
        ]
        return relational([Database.from_facts(SCHEMA, one) for one in facts])

    def found(names):
        view = view_of(names)
        return named_examples(view, examples_of(view, find_place(view, "function")))

    assert found(lambda number: ["a", "b", "a"]).axis.names == ("a", "b")
    assert found(lambda number: [f"a{number}", f"b{number}"]) is None
    assert found(lambda number: ["a"]) is None
    assert found(lambda number: [f"v{k}" for k in range(41)]) is None


def test_what_raises_some_names_and_lowers_others_is_opened():
    rng = np.random.default_rng(1)
    genes, roles, motifs, causes = 300, 16, 20, 6
    has = rng.random((genes, motifs)) < 0.25
    effects = np.zeros((motifs, roles))
    for motif in range(causes):  # over all names, they come to nothing
        effects[motif] = 1.5 * rng.permutation(np.where(np.arange(roles) % 2, 1.0, -1.0))
    chance = 1.0 / (1.0 + np.exp(1.2 - (has - 0.25) @ effects))
    plays = rng.random(chance.shape) < chance
    facts = {
        "function": [(f"G{gene}", f"R{role}") for gene, role in np.argwhere(plays)],
        "has": [(f"G{gene}", f"M{motif}") for gene, motif in np.argwhere(has)],
    }
    schema = Schema.of("function(gene,role)", "has(gene,motif)")
    learner = RelationalBoost(target="function", max_rules=0, own_facts=False)
    fitted = learner.fit(Database.from_facts(schema, facts))
    tested = " ".join(map(str, fitted.model.features()))
    assert fitted.notes.axis == "its role"
    assert all(f"motif = M{motif}" in tested for motif in range(causes))
    base, best = fitted.notes.curve[0], min(fitted.notes.curve)
    least = -np.mean(np.where(plays, np.log(chance), np.log(1.0 - chance)))
    assert base - best > 0.5 * (base - least)
