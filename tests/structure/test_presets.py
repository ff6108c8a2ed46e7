"""Presets: settings that go together by name, and what those of the papers do."""

import numpy as np
import pytest

from mlnlearn.data.database import Database
from mlnlearn.data.synthetic import hide, smokers, university
from mlnlearn.errors import InputError
from mlnlearn.logic.atoms import Atom
from mlnlearn.logic.clauses import as_clause
from mlnlearn.logic.schema import Schema
from mlnlearn.model.boosted.hidden.atoms import HiddenAtoms
from mlnlearn.model.mln import MLN
from mlnlearn.registry import LEARNERS
from mlnlearn.structure.boosting.learners import BoostedMLN, BoostedRDN, Copies
from mlnlearn.structure.predicate_graph.learn import GSLP
from mlnlearn.structure.search.background import Background
from mlnlearn.structure.search.network import Alone, Model
from mlnlearn.structure.search.scoring import scorer
from mlnlearn.structure.structural_em.expectation import sampled_worlds
from mlnlearn.structure.structural_em.learner import StructuralEM
from mlnlearn.weights.generative import learn_pseudolikelihood

PAPERS = ("mln-bt", "mln-bc", "rdn-b", "sem", "h-sem", "gslp", "msl", "lsl", "laj-dt", "mbn")
COMPARED = ("lsm", "lhl", "busl", "hgsm", "dmsp", "ils", "ils-dsl")


def test_every_learner_with_a_paper_has_its_preset():
    without = {"boost", "auto", "paths"}
    assert {*PAPERS, *COMPARED} | without == set(LEARNERS)
    assert all("paper" in LEARNERS[name].load().presets for name in (*PAPERS, *COMPARED))


@pytest.mark.parametrize("name", [*PAPERS, *COMPARED])
def test_presets_are_settings_of_their_learner(name):
    entry = LEARNERS[name]
    needed = {"target": "p"} if entry.has("target") else {}
    if entry.has("base"):
        needed["base"] = BoostedRDN(target="p")
    for preset in entry.load().presets:
        made = entry.load().preset(preset, **needed, **entry.fixed)
        assert all(getattr(made, key) == value for key, value in entry.fixed.items())


def test_an_unknown_preset_is_refused_with_those_there_are():
    with pytest.raises(InputError, match=r"BoostedMLN has no preset 'papr'(?s:.*)paper, 0\.1"):
        BoostedMLN.preset("papr", target="p")


def test_settings_beside_a_preset_count():
    assert GSLP.preset("paper", beam=7).beam == 7
    assert GSLP.preset("paper").beam is None
    assert GSLP().beam is not None


def test_version_0_1_is_a_preset_whatever_the_defaults_are():
    """Figures of version 0.1, computed with it."""
    areas = university(100, areas=2, rng=0).databases
    trees = BoostedMLN.preset("0.1", target="advisedBy", steps=2).fit(areas).model
    clauses = BoostedMLN.preset("0.1", target="advisedBy", steps=2, representation="clauses")
    network = BoostedRDN.preset("0.1", target="advisedBy", steps=2).fit(areas).model
    found = [
        sum(weight for _, weight in model.rules())
        for model in (trees, clauses.fit(areas).model, network)
    ]
    assert found == pytest.approx(GOLDEN, abs=1e-9)


GOLDEN = [-1.7515037001798932, -5.062811504460719, -1.324490938417237]


def rich_people():
    """Of eight people, all but one are happy, and the unhappy one alone is poor."""
    schema = Schema.of("happy(person)", "rich(person)")
    people = [f"P{i}" for i in range(8)]
    facts = {"happy": [(p,) for p in people[1:]], "rich": [(p,) for p in people[1:]]}
    return Database.from_facts(schema, facts, domains={"person": people})


@pytest.mark.parametrize(("of", "leaves"), [("side", 1), ("node", 2)])
def test_six_examples_are_asked_of_a_side_or_of_a_node(of, leaves):
    learner = BoostedMLN(target="happy", steps=1, min_examples_of=of)
    (rules,) = learner.fit(rich_people()).model.targets
    assert len(rules.steps[0].paths) == leaves


@pytest.mark.parametrize("name", COMPARED)
def test_presets_of_compared_systems_leave_out_nothing_for_its_number(name):
    """What bounds a search in the defaults and is none of the paper's is off, and learns."""
    entry, database = LEARNERS[name], smokers(80, rng=1).databases[0]
    needed = {"target": "cancer"} if entry.has("target") else {}
    made = entry.load().preset("paper", **needed, **entry.fixed)
    bounds = ("max_clauses", "max_nodes", "max_blanket", "max_paths", "max_places", "partners")
    every = [getattr(made, bound) for bound in (*bounds, "tried", "max_rounds") if entry.has(bound)]
    assert set(every) == {None}
    small = {"max_literals": 2, "min_gain": 0.01} | ({"walks": 50} if entry.has("walks") else {})
    fitted = entry.load().preset("paper", **needed, **entry.fixed, **small).fit(database)
    bounded = entry.load()(**needed, **entry.fixed, **small).fit(database)
    assert fitted.notes.scored >= bounded.notes.scored > 0


def test_copies_that_count_for_nothing_change_nothing():
    one, other = smokers(30, rng=1).databases[0], smokers(30, rng=2).databases[0]
    base = BoostedMLN(target="cancer", min_examples=1, steps=1)
    steps = []
    for databases, copies in (
        ([one], Copies(1, None, cautious=False)),
        ([one, other], Copies(2, np.array([2.0, 0.0]), cautious=False)),
    ):
        run = BoostedMLN._prepare(base, databases, None)
        run = base.boosting(run.world, base.languages(run.world), {}, copies)
        run.step()
        steps.append(run.targets[0].steps[0])
    values = [[path.value for path in step.paths] for step in steps]
    assert values[0] == pytest.approx(values[1])
    assert len(values[0]) > 1


def test_units_with_repeated_variables_can_be_left_out():
    """The quick score of a clause beside the unit clauses is that of the networks themselves."""
    database = smokers(25, rng=3).databases[0]
    formulas = ("!friends(x,y) v smokes(x)", "!friends(x,y) v !smokes(y) v cancer(x)")
    # with two unit clauses for an atom, the prior ties their weights a little
    for reflexive, near in ((True, 5e-3), (False, 1e-6)):
        background = Background.of([database], None, reflexive=reflexive)
        found = scorer([database], background, 100.0)
        atoms = [rule.formula for rule in background.soft]
        repeated = [atom for atom in atoms if len(set(atom.terms)) < len(atom.terms)]
        assert bool(repeated) == reflexive
        for text in formulas:
            clause = as_clause(MLN.parse(f"{database.schema}\n{text}").rules[0].formula)
            names = sorted({literal.atom.predicate.name for literal in clause})
            rules = [r for r in background.soft if r.formula.predicate.name in names]
            units = Model.of(found.counts, found.prior, rules, names)
            slow, quick = Alone.between(units, units.extended(clause)), found.alone(clause)
            assert quick.gain == pytest.approx(slow.gain, rel=near)
            assert quick.weight == pytest.approx(slow.weight, rel=near)


@pytest.fixture(scope="module")
def published():
    areas = [smokers(30, rng=seed).databases[0] for seed in (1, 2)]
    return areas, GSLP.preset("paper", max_literals=3).fit(areas)


def test_the_paper_s_gslp_ends_with_weights_of_pseudo_likelihood(published):
    areas, fitted = published
    again = learn_pseudolikelihood(fitted.model, areas, weighted=False, units=False).mln
    assert fitted.model.weights == pytest.approx(again.weights, abs=1e-3)
    weighted = learn_pseudolikelihood(fitted.model, areas, units=False).mln
    assert max(abs(np.array(fitted.model.weights) - weighted.weights)) > 0.1


def test_the_paper_s_gslp_tries_one_clause_a_set_of_predicates(published):
    _, fitted = published
    sets = [frozenset(lit.atom.predicate.name for lit in c.clause) for c in fitted.notes.candidates]
    assert len(sets) == len(set(sets)) > 1
    units = [rule.formula for rule in fitted.model.rules if isinstance(rule.formula, Atom)]
    assert all(len(set(unit.terms)) == len(unit.terms) for unit in units)


def test_what_a_longer_clause_improves_upon_is_no_candidate():
    areas = [smokers(30, rng=seed).databases[0] for seed in (1, 2)]
    common = {"held_out": False, "joint": False, "max_literals": 3, "max_loop": 1}
    every, longest = (
        {str(c.clause) for c in GSLP(**common, drop_improved=drop).fit(areas).notes.candidates}
        for drop in (False, True)
    )
    assert every - longest  # edges that were improved upon


def test_worlds_by_probability_are_weighed_as_the_network_does():
    database = hide(smokers(12, rng=4).databases[0], "smokes", 0.3, rng=5)
    base = BoostedMLN(target=("cancer", "smokes"), max_leaves=2, recursive=("smokes",))
    model = StructuralEM(base=base, iterations=1).fit(database).model
    hidden = HiddenAtoms.of([database], ["smokes"])
    drawn = sampled_worlds(model.targets, False, hidden, 40, 5, 1, [0])
    worlds = drawn.by_probability()
    assert len(np.unique(drawn.truth, axis=0)) == len(worlds) < len(drawn)
    assert worlds.shares.sum() == pytest.approx(len(worlds))
    # worlds that differ in one atom: the ratio of their weights is that atom's odds in either
    pairs = 0
    for first in range(len(worlds)):
        for second in range(first):
            (atoms,) = np.nonzero(worlds.truth[first] != worlds.truth[second])
            if len(atoms) == 1:
                chance = worlds.chance[first][atoms[0]]
                odds = chance / (1.0 - chance)
                true, false = sorted((first, second), key=lambda w: not worlds.truth[w][atoms[0]])
                assert worlds.shares[true] / worlds.shares[false] == pytest.approx(odds)
                pairs += 1
    assert pairs > 3


def test_em_of_the_paper_runs_and_takes_whole_steps():
    database = hide(smokers(30, rng=1).databases[0], "smokes", 0.4, rng=2)
    base = BoostedMLN(target="cancer", max_leaves=2, recursive=("smokes",))
    careful = StructuralEM(base=base, iterations=3, trees_per_step=1)
    paper = StructuralEM.preset("paper", base=base, iterations=3, trees_per_step=1)
    found, other = careful.fit(database), paper.fit(database)
    assert other.model.steps == found.model.steps == 3
    assert str(other.model.targets) != str(found.model.targets)
