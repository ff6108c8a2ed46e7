"""Leaves with a value for each constant of a class: learned, asked, written and read."""

import json
from dataclasses import replace

import numpy as np
import pytest
from scipy.special import expit, softmax

from brute import brute_count
from mlnlearn.counting.objects import Objects
from mlnlearn.data.database import Database
from mlnlearn.data.examples import positives_and_negatives
from mlnlearn.errors import InputError
from mlnlearn.infer.query import query
from mlnlearn.logic.schema import Schema
from mlnlearn.model.boosted import BoostedModel
from mlnlearn.model.boosted.rules import ClauseList, Leaf
from mlnlearn.model.mln import MLN
from mlnlearn.report.page import report_page
from mlnlearn.run import Run
from mlnlearn.structure.boosting import BoostedMLN, BoostedRDN
from mlnlearn.structure.boosting.axes import AxisRequest
from mlnlearn.structure.boosting.class_regression import shrunken
from structure.boosting.boosting_reference import count
from worlds import true_facts

MARKED = Schema.of("kind(track,genre!)", "tag(track,word)", "on(track,album)", "loud(album)")
SEVERAL = Schema.of("kind(track,genre)", "tag(track,word)", "on(track,album)", "loud(album)")
GENRES = ("Folk", "Jazz", "Rock")
LEARNERS = {
    "trees": BoostedMLN(target="kind", steps=4, max_leaves=4),
    "clauses": BoostedMLN(target="kind", steps=3, representation="clauses", clauses_per_step=2),
    "existential": BoostedRDN(target="kind", steps=4, max_leaves=4),
}


def tracks(schema, number=90, seed=0, name=""):
    """Tags tell the genre, by how many there are of a word, and loud albums are of rock."""
    rng = np.random.default_rng(seed)
    facts = {"kind": set(), "tag": set(), "on": set(), "loud": {("A0",), ("A1",)}}
    words = [f"{genre}_{place}" for genre in GENRES for place in range(4)]
    for track in range(number):
        album = int(rng.integers(6))
        genre = 2 if album < 2 and rng.random() < 0.7 else int(rng.integers(3))
        facts["kind"].add((f"T{track}", GENRES[genre]))
        if "!" not in str(schema) and rng.random() < 0.2:
            facts["kind"].add((f"T{track}", GENRES[int(rng.integers(3))]))
        facts["on"].add((f"T{track}", f"A{album}"))
        for _ in range(int(rng.integers(0, 4))):
            word = words[4 * genre + int(rng.integers(4))] if rng.random() < 0.7 else words[0]
            facts["tag"].add((f"T{track}", word))
    return Database.from_facts(schema, {k: sorted(v) for k, v in facts.items()}, name=name)


def content(model):
    return json.dumps(model.to_plain(), sort_keys=True)


def scores_by_definition(model, database, track):
    """What the rules give to each genre of a track, one grounding after the other."""
    facts, rules = true_facts(database), model.rules_of("kind")
    found = []
    for genre in GENRES:
        names, total = (track, genre), rules.intercept
        for step in (rules.prior, *rules.steps):
            if isinstance(step, ClauseList):
                for clause in step.clauses:
                    added = clause.by.added.get(genre, 0.0) if clause.by else 0.0
                    many = count(database, facts, clause.body, names)
                    total += (clause.weight + added) * (min(many, 1) if model.existential else many)
                continue
            node, body = step.root, ()
            while not isinstance(node, Leaf):
                holds = count(database, facts, body + node.test, names) > 0
                body = body + node.test if holds else body
                node = node.yes if holds else node.no
            many = 1 if model.existential else count(database, facts, body, names)
            total += (node.value + (node.by.added.get(genre, 0.0) if node.by else 0.0)) * many
        found.append(total)
    return found


@pytest.mark.parametrize("schema", [MARKED, SEVERAL], ids=["marked", "several"])
@pytest.mark.parametrize("kind", LEARNERS)
def test_library_text_and_definition_agree(kind, schema, tmp_path):
    model = replace(LEARNERS[kind], axis="on").fit(tracks(schema)).model
    assert any(path.by for step in model.targets[0].steps for path in _paths(step))
    small = tracks(schema, 5, seed=7)
    atoms = positives_and_negatives([small], "kind")
    asked = {row: place for place, row in enumerate(atoms.rows([small]))}
    library = model.probabilities(small, atoms)
    model.save(tmp_path / "model.mln")
    network = MLN.read(tmp_path / "model.mln")
    assert "kind(t1,+g1)" in (tmp_path / "model.mln").read_text()
    evidence = small.without_facts(["kind"])
    answers = {
        tuple(str(term) for term in answer.atom.terms): answer.probability
        for answer in query(network, evidence, ["kind"], method="exact")
    }
    loaded = BoostedModel.load(tmp_path / "model.json")
    assert content(loaded) == content(model)
    for track in small.domains["track"]:
        scores = np.array(scores_by_definition(model, small, track))
        expected = softmax(scores) if "!" in str(schema) else expit(scores)
        for genre, chance in zip(GENRES, expected, strict=True):
            assert library[asked[track, genre]] == pytest.approx(chance, abs=1e-12)
            assert answers[track, genre] == pytest.approx(chance, abs=1e-12)
    found = {(a.atom.terms[0].name, a.atom.terms[1].name): a for a in model.query(evidence, "kind")}
    for row, place in asked.items():
        assert found[row].probability == pytest.approx(library[place], abs=1e-12)


def _paths(step):
    return step.clauses if isinstance(step, ClauseList) else step.paths


@pytest.mark.parametrize("kind", LEARNERS)
def test_lines_by_constant_are_the_rules_that_the_network_has(kind, tmp_path):
    model = replace(LEARNERS[kind], axis="on").fit(tracks(SEVERAL)).model
    model.save(tmp_path / "model.mln")
    assert MLN.read(tmp_path / "model.mln").rules == model.to_mln().rules
    assert len((tmp_path / "model.mln").read_text().splitlines()) < len(model.to_mln().rules) + 30


def test_weights_of_the_rules_make_the_log_odds():
    """Flipping an atom changes the weighted counts of the network by its log-odds."""
    model = BoostedMLN(target="kind", steps=2, max_leaves=3, axis="on").fit(tracks(SEVERAL)).model
    small = tracks(SEVERAL, 4, seed=3)
    atoms = positives_and_negatives([small], "kind")
    odds = model.log_odds(small, atoms)

    def weight(kinds):
        facts = {**true_facts(small), "kind": kinds}
        return sum(
            r.weight * sum(brute_count(small, r.formula, facts=facts).values())
            for r in model.to_mln().rules
        )

    given = set(small.rows("kind"))
    for row, expected in zip(atoms.rows([small]), odds, strict=True):
        assert weight(given | {row}) - weight(given - {row}) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("schema", [MARKED, SEVERAL], ids=["marked", "several"])
@pytest.mark.parametrize("kind", LEARNERS)
def test_any_number_of_threads_and_an_interrupted_run_give_the_same_bytes(kind, schema, tmp_path):
    data = [tracks(schema, 40, seed=1, name="a"), tracks(schema, 40, seed=2, name="b")]
    learner = replace(LEARNERS[kind], axis="on", fraction=0.8, shrinkage=0.5)
    whole = learner.fit(data, Run(workers=1)).model
    for workers in (2, 8):
        assert content(learner.fit(data, Run(workers=workers)).model) == content(whole)
    file = tmp_path / "run.jsonl"

    def stop(at):
        if at.done == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        learner.fit(data, Run(checkpoint=file, progress=stop))
    assert content(learner.fit(data, Run(checkpoint=file)).model) == content(whole)


@pytest.mark.parametrize("kind", LEARNERS)
def test_vectors_say_more_of_a_class_than_joins(kind):
    training, test = tracks(MARKED, 300, seed=1), tracks(MARKED, 200, seed=2)
    atoms = positives_and_negatives([test], "kind")
    found = {}
    for axis in ("auto", "off"):
        model = replace(LEARNERS[kind], axis=axis, steps=20).fit(training).model
        chances = model.probabilities(test, atoms)
        found[axis] = float(np.log(chances[atoms.labels]).mean())
    assert found["auto"] > found["off"] + 0.02
    assert found["auto"] > -1.0  # that of a third for each is -1.1


def test_the_first_test_saves_most_of_all_classes_squared_errors():
    """One tree of two leaves: gains of every test by enumeration, its leaves by shrinking."""
    data = tracks(MARKED, 150)
    learner = BoostedRDN(
        target="kind", steps=1, max_leaves=2, literals_per_node=1, max_constants=50
    )
    model = learner.fit(data).model
    (tree,) = model.targets[0].steps
    facts, names = true_facts(data), data.domains["track"].names
    genre = dict(data.rows("kind"))
    frequency = np.array([sum(g == each for g in genre.values()) + 0.5 for each in GENRES])
    chance = frequency / frequency.sum()
    gradient = np.array([[genre[t] == g for g in GENRES] for t in names]) - chance

    def gain(test):
        holds = np.array([count(data, facts, test, (t, "")) > 0 for t in names])
        if min(holds.sum(), (~holds).sum()) < 6:
            return -np.inf, None
        sides = [gradient[holds], gradient[~holds]]
        return sum((side.sum(axis=0) ** 2).sum() / len(side) for side in sides), sides

    best, sides = gain(tree.root.test)
    others = [
        type(tree.root.test[0])(data.schema["tag"], (0, word)) for word in data.domains["word"]
    ]
    assert best >= max(gain((other,))[0] for other in others) - 1e-9
    for leaf, side in zip((tree.root.yes, tree.root.no), sides, strict=True):
        mean, values = shrunken(side.mean(axis=0), chance * (1 - chance) / len(side))
        assert [leaf.by.added[g] for g in GENRES] == pytest.approx(list(values - mean), abs=1e-12)


def test_values_are_shrunk_as_far_as_they_differ_by_chance():
    rng = np.random.default_rng(0)
    alike, apart = rng.normal(0.0, 1.0, 1000), rng.normal(0.0, np.sqrt(5.0), 1000)
    mean, values = shrunken(alike, np.ones(1000))
    assert np.abs(values - mean).max() < 0.5
    mean, values = shrunken(apart, np.ones(1000))  # true ones vary by 4, noise by 1
    assert np.std(values) / np.std(apart) == pytest.approx(0.8, abs=0.05)


def test_what_an_axis_is():
    database = tracks(MARKED)
    world = Objects([database])
    names = ["kind", "tag", "on", "loud"]
    assert AxisRequest("auto").axis(world, "kind", names).names == GENRES
    assert AxisRequest("off").axis(world, "kind", names) is None
    assert AxisRequest("auto", ("a reason",)).axis(world, "kind", names) is None
    assert AxisRequest("auto").axis(world, "on", names) is None  # albums are joined with
    assert AxisRequest("on").axis(world, "on", names).kind == "album"
    with pytest.raises(InputError, match="loud has no argument beside it"):
        AxisRequest("on").axis(world, "loud", names)


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"recursive": ("kind",)}, "may stand in bodies of its own rules"),
        ({"target": ("kind", "loud")}, "several targets are learned jointly"),
        ({"negatives": "paper"}, "negatives are drawn as in the paper"),
        ({"initial": MLN(MARKED)}, "there are rules to start from"),
    ],
)
def test_an_axis_that_cannot_be_is_refused_or_left_out(settings, reason):
    data = tracks(MARKED, 30)
    given = {"target": "kind", "steps": 1, "max_leaves": 2, **settings}
    with pytest.raises(InputError, match=reason):
        BoostedMLN(axis="on", **given).fit(data)
    model = BoostedMLN(axis="auto", **given).fit(data).model
    assert not any(path.by for step in model.targets[0].steps for path in _paths(step))


@pytest.mark.parametrize("preset", ["paper", "0.1"])
def test_presets_have_no_axis(preset):
    assert BoostedMLN.preset(preset, target="kind").axis == "off"
    assert BoostedRDN.preset(preset, target="kind").axis == "off"


def test_the_model_knows_genres_that_a_file_does_not_mention():
    """Of a marked class all constants of the training data are values, and others may be."""
    model = BoostedMLN(target="kind", steps=3).fit(tracks(MARKED)).model
    facts = {"tag": [("New", "Jazz_1")], "on": [("New", "A3")]}
    with pytest.warns(match="Folk, Jazz, Rock"):
        answers = model.query(Database.from_facts(MARKED, facts))
    assert len(answers) == 3
    assert sum(answer.probability for answer in answers) == pytest.approx(1.0)
    listed = Database.from_facts(model.schema, facts)
    assert listed.domains["genre"].names == GENRES  # read with the model's schema, as files are
    with pytest.warns(match="Folk, Jazz, Rock"):
        larger = model.query(Database.from_facts(MARKED, facts, domains={"genre": ["Polka"]}))
    polka = next(a.probability for a in larger if a.atom.terms[1].name == "Polka")
    assert 0 < polka < min(a.probability for a in larger if a.atom.terms[1].name != "Polka")


@pytest.mark.parametrize("kind", LEARNERS)
@pytest.mark.parametrize("schema", [MARKED, SEVERAL], ids=["marked", "several"])
def test_explanations_add_up_and_pages_show_vectors(kind, schema):
    data = tracks(schema)
    model = replace(LEARNERS[kind], axis="on").fit(data).model
    found = model.explain(data, "kind(T1,Jazz)")
    assert sum(part.log_odds for part in found.contributions) == pytest.approx(found.log_odds)
    atoms = positives_and_negatives([data], "kind")
    place = list(atoms.rows([data])).index(("T1", "Jazz"))
    assert found.probability == pytest.approx(model.probabilities(data, atoms)[place], abs=1e-9)
    shown = {part.rule for part in found.contributions}
    assert shown <= {rule for rule, _ in model.rules()}
    assert any(rule.endswith("kind(t1,Jazz)") for rule in shown)
    if schema is MARKED:  # beside the rival's rules
        assert any(rule.endswith(f"kind(t1,{found.against.terms[1]})") for rule in shown)
    page = report_page(model, [data])
    assert "Jazz" in str(page)
    rules = model.rules()
    assert any(rule.endswith("kind(t1,Jazz)") for rule, _ in rules)
    assert len(model.to_mln().rules) >= len({rule for rule, _ in rules}) - 1
    assert sum(model.importance().values()) == pytest.approx(1.0)


def test_given_examples_are_the_ones_learned_from():
    data = tracks(MARKED, 80)
    atoms = positives_and_negatives([data], "kind")
    rock = atoms.take(np.array([not label or row[1] != "Jazz" for row, label in zip(
        atoms.rows([data]), atoms.labels, strict=True)]))  # fmt: skip
    model = BoostedRDN(target="kind", steps=2).fit(data, examples=rock).model
    chances = model.probabilities(data, atoms)
    jazz = np.array([row[1] == "Jazz" for row in atoms.rows([data])])
    assert chances[jazz].max() < 0.05


@pytest.mark.parametrize("schema", [MARKED, SEVERAL], ids=["marked", "several"])
def test_held_out_examples_tell_when_to_stop_and_steps_have_the_best_length(schema):
    data = tracks(schema, 200)
    stopped = BoostedMLN(target="kind", steps=400, axis="on", held_out_share=0.3, patience=3)
    assert 0 < stopped.fit(data).model.steps < 400
    atoms = positives_and_negatives([data], "kind")
    learner = BoostedMLN(target="kind", steps=1, axis="on", line_search=True, balance=1e9)
    model = learner.fit(data).model
    (rules,) = model.targets

    def worth(length):
        """The log-likelihood of the step made longer, the shift of its mean left out."""
        steps = tuple(step.scaled(length) for step in rules.steps)
        longer = replace(model, targets=(replace(rules, steps=steps, shifts=()),))
        chances = longer.probabilities(data, atoms)
        of_truth = chances[atoms.labels]
        if "!" not in str(schema):
            of_truth = np.where(atoms.labels, chances, 1.0 - chances)
        return float(np.log(of_truth).mean())

    assert worth(1.0) > max(worth(0.9), worth(1.1))


def test_means_of_independent_classes_are_calibrated():
    data = tracks(SEVERAL, 200)
    atoms = positives_and_negatives([data], "kind")
    chances = BoostedMLN(target="kind", axis="on").fit(data).model.probabilities(data, atoms)
    assert chances.mean() == pytest.approx(atoms.labels.mean(), abs=1e-6)
