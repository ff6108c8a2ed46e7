"""Structural EM: gradients by enumeration of all worlds, and a likelihood that does not fall."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from scipy.special import expit

from mlnlearn.counting.pattern import Pattern
from mlnlearn.data.database import Database
from mlnlearn.data.examples import Examples, positives_and_negatives
from mlnlearn.data.synthetic import disjunctive, hide, smokers
from mlnlearn.errors import InputError
from mlnlearn.logic.schema import Schema
from mlnlearn.model.boosted import BoostedModel
from mlnlearn.model.boosted.hidden.atoms import HiddenAtoms
from mlnlearn.model.boosted.rules import ClauseList, HornClause, Leaf, Split, TargetRules, Tree
from mlnlearn.run import Run
from mlnlearn.structure.boosting import BoostedMLN, BoostedRDN
from mlnlearn.structure.boosting.learners import Copies
from mlnlearn.structure.structural_em import StructuralEM
from mlnlearn.structure.structural_em.expectation import Worlds, sampled_worlds
from mlnlearn.structure.structural_em.potentials import StackedPotentials

PEOPLE = ["A", "B", "C", "D", "E"]


def small_network(seed=0):
    """Five people, three of whom may smoke, and rules in which smoking stands twice."""
    rng = np.random.default_rng(seed)
    schema = Schema.of("smokes(person)", "friends(person,person)", "cancer(person)")
    smokes, friends, cancer = (schema[name] for name in ("smokes", "friends", "cancer"))
    pairs = [(a, b) for a in PEOPLE for b in PEOPLE if rng.random() < 0.4] + [("A", "A")]
    facts = {"friends": sorted(set(pairs)), "smokes": [("D",)], "cancer": [("A",), ("D",)]}
    unknown = {"smokes": [("A",), ("B",), ("C",)]}
    database = Database.from_facts(schema, facts, unknown=unknown, domains={"person": PEOPLE})
    through = (Pattern(friends, (0, 1)), Pattern(smokes, (1,)))
    twice = (*through, Pattern(friends, (0, 2)), Pattern(smokes, (2,)))
    ill = (Pattern(cancer, (0,)),)
    rules = (
        TargetRules(
            cancer,
            -0.5,
            steps=(
                Tree(Split(through, Leaf(0.4), Leaf(-0.3))),
                ClauseList((HornClause((Pattern(smokes, (0,)),), 0.8),)),
            ),
        ),
        TargetRules(
            smokes,
            -0.2,
            steps=(
                Tree(Split(twice, Leaf(0.3), Split(ill, Leaf(0.5), Leaf(-0.1)))),
                ClauseList((HornClause(through, 0.35),)),
            ),
        ),
    )
    return database, rules


def enumerated(rules, hidden, existential):
    """All worlds, their probabilities, and the conditional log-odds of all atoms in each."""
    size = len(hidden)
    truth = (np.arange(2**size)[:, None] >> np.arange(size) & 1).astype(bool)
    model = BoostedModel(hidden.databases[0].schema, existential, rules)
    odds = {rule.predicate.name: [] for rule in rules}
    everyone = np.arange(len(PEOPLE), dtype=np.int32)[None]
    for world in truth:
        (filled,) = hidden.completed(world)
        for rule in rules:
            rows = filled_examples(rule.predicate, everyone)
            odds[rule.predicate.name].append(model.log_odds(filled, rows))
    weights = np.zeros(2**size)
    # a world's weight from the conditionals along a path of single changes
    for code in range(1, 2**size):
        atom = code.bit_length() - 1
        before = code & ~(1 << atom)
        weights[code] = weights[before] + odds["smokes"][before][atom]
    return truth, weights, {name: np.array(part) for name, part in odds.items()}


def filled_examples(predicate, columns):
    count = columns.shape[1]
    zeros = np.zeros(count, np.int32)
    return Examples(predicate, zeros, columns, zeros.astype(bool), np.ones(count))


def test_gradients_are_exact_expectations_over_all_worlds():
    """Equations 2 and 3, with every world of the unknown atoms as often as it is probable."""
    database, rules = small_network()
    hidden = HiddenAtoms.of([database], ["smokes"])
    truth, weights, _ = enumerated(rules, hidden, existential=False)
    chances = np.exp(weights - weights.max())
    chances /= chances.sum()
    worlds = sampled_worlds(rules, False, hidden, 4000, 50, 2, [3])
    # the E-step: marginals P(y = 1 | x; ψ)
    marginal = chances @ truth
    assert worlds.truth.mean(axis=0) == pytest.approx(marginal, abs=0.03)
    assert worlds.chance.mean(axis=0) == pytest.approx(marginal, abs=0.015)
    assert worlds.r_hat < 1.05
    # the M-step: gradients under a model that has gone on by a step
    further = [*(rule.steps[0] for rule in rules)]
    moved = tuple(replace(rule, steps=(*rule.steps, rule.steps[0])) for rule in rules)
    _, _, later = enumerated(moved, hidden, existential=False)
    stack = worlds.stacked()
    base = BoostedMLN(target=("cancer", "smokes"), recursive=("cancer", "smokes"))
    expected = {
        rule.predicate.name: partial(worlds.expected, stack, rule.predicate) for rule in rules
    }
    potentials = StackedPotentials(hidden, [rule.predicate for rule in rules])
    run = base.boosting(
        stack,
        base.languages(hidden.known),
        {},
        Copies(len(worlds)),
        expected,
        potentials.adds(worlds, stack),
    )
    run.replay([*zip(*(rule.steps for rule in rules), strict=True), further])
    for state in run.targets:
        name, pool = state.predicate.name, state.pool
        rule = next(rule for rule in rules if rule.predicate.name == name)
        potential = state.potential - pool.start + rule.bias
        gradient = pool.goal - expit(potential)
        person = pool.rows[1] % len(PEOPLE)
        found = np.bincount(person, gradient) / len(worlds)
        observed = np.isin(PEOPLE, [row[0] for row in database.rows(name)]).astype(float)
        if name == "smokes":
            observed[:3] = marginal
        exact = observed - chances @ expit(later[name])
        assert found == pytest.approx(exact, abs=0.02)
        if name == "smokes":  # under the model of the E-step itself eq. 2 is zero
            own = pool.goal - expit(potential - run_growth(run, state, further))
            assert own[person < 3] == pytest.approx(0.0, abs=1e-9)


def run_growth(run, state, steps):
    """What the last round added to a target's potentials."""
    place = run.targets.index(state)
    return sum(run._growth(number, step)[place] for number, step in enumerate(steps))


@pytest.mark.parametrize("seed", range(3))
def test_ground_potentials_are_those_of_joins(seed):
    database, rules = small_network(seed)
    hidden = HiddenAtoms.of([database], ["smokes"])
    rng = np.random.default_rng(seed)
    truth = rng.random((3, len(hidden))) < 0.5
    worlds = Worlds(hidden, truth, truth.astype(float), 1.0, 0.0)
    stack = worlds.stacked()
    base = BoostedMLN(target=("cancer", "smokes"), recursive=("cancer", "smokes"))
    potentials = StackedPotentials(hidden, [rule.predicate for rule in rules])
    runs = [
        base.boosting(stack, base.languages(hidden.known), {}, Copies(3), None, adds)
        for adds in (None, potentials.adds(worlds, stack))
    ]
    for run in runs:
        run.replay(list(zip(*(rule.steps for rule in rules), strict=True)))
    for one, other in zip(*(run.targets for run in runs), strict=True):
        assert one.potential == pytest.approx(other.potential, abs=1e-9)


def cancer(share=0.4, people=60):
    return hide(smokers(people, rng=1).databases[0], "smokes", share, rng=2)


@pytest.mark.parametrize("representation", ["trees", "clauses"])
def test_the_expected_likelihood_does_not_fall(representation):
    base = BoostedMLN(
        target="cancer", recursive=("cancer", "smokes"), max_leaves=4, representation=representation
    )
    learned = StructuralEM(base=base, iterations=6, worlds=20).fit(cancer())
    notes = learned.notes.iterations
    for note in notes:
        assert note.after >= note.before - 1e-9
        assert note.saved > 0.5
        assert note.r_hat < 1.5
    # from iteration to iteration worlds are drawn anew: their spread is the sampling error
    values = [note.after for note in notes]
    assert min(np.diff(values)) > -3.0
    assert values[-1] > notes[0].before + 5.0


def test_dependency_networks_find_the_hidden_disjunction():
    """Soft EM puts less of s(x) down to chance than the closed world does."""
    made = disjunctive(120, 3, rng=3, copies=2).databases
    train = hide(made[0], "r", 0.4, rng=1)
    base = BoostedRDN(target="s", max_constants=0, recursive=("r",))
    values = {}
    for mode in ("soft", "hard", "closed"):
        model = StructuralEM(base=base, mode=mode, worlds=6).fit(train).model
        examples = positives_and_negatives([made[1]], "s")
        chance = model.probabilities(made[1], examples)
        values[mode] = np.log(np.where(examples.labels, chance, 1 - chance)).mean()
    assert values["soft"] > values["closed"] + 0.02
    assert values["hard"] >= values["closed"] - 0.02


def test_without_unknown_atoms_em_is_boosting_step_by_step():
    database = smokers(60, rng=4).databases[0]
    base = BoostedRDN(target="cancer", max_leaves=3)
    once = StructuralEM(base=base, iterations=3, trees_per_step=2, worlds=1).fit(database).model
    plain = replace(base, steps=6).fit(database).model
    closed = (
        StructuralEM(base=base, iterations=3, trees_per_step=2, mode="closed").fit(database).model
    )
    assert closed == plain
    assert once.rules() == plain.rules()


@pytest.mark.parametrize("mode", ["soft", "hard"])
def test_same_seed_same_bytes_and_resuming(tmp_path, mode):
    database = cancer()
    base = BoostedMLN(target="cancer", recursive=("cancer", "smokes"), max_leaves=3)
    learner = StructuralEM(base=base, mode=mode, iterations=4, worlds=4, seed=5)
    whole = learner.fit(database)
    whole.model.save(tmp_path / "one.json")
    done = []

    def stop(at):
        done.append(at.done)
        if at.done == 2:
            raise KeyboardInterrupt

    file = tmp_path / "run.json"
    with pytest.raises(KeyboardInterrupt):
        learner.fit(database, Run(checkpoint=file, progress=stop))
    tell = Run(checkpoint=file, progress=lambda at: done.append(at.done))
    again = learner.fit(database, tell)
    assert done == [1, 2, 1, 2, 3, 4]
    again.model.save(tmp_path / "two.json")
    assert (tmp_path / "one.json").read_bytes() == (tmp_path / "two.json").read_bytes()
    assert again.notes.iterations == whole.notes.iterations
    with pytest.raises(InputError, match="other data: atoms of smokes in database 1"):
        learner.fit(cancer(0.2), Run(checkpoint=file))


def test_an_initial_model_is_where_learning_starts():
    database = cancer()
    base = BoostedMLN(target="cancer", recursive=("cancer", "smokes"), max_leaves=3)
    learner = StructuralEM(base=base, iterations=2, worlds=4)
    first = learner.fit(database).model
    more = replace(learner, initial=first).fit(database)
    assert more.model.steps == 1 + 4 + 4
    assert more.model.targets[0].steps[1:5] == first.targets[0].steps
    plain = learner.fit(database).notes.iterations
    assert more.notes.iterations[0].before > plain[0].before
    with pytest.raises(InputError, match="semantics"):
        StructuralEM(base=BoostedRDN(target="cancer"), initial=first).fit(database)
    with pytest.raises(InputError, match="no target"):
        StructuralEM(base=base, initial=first).fit(smokers(60, rng=1).databases[0])
    with pytest.raises(InputError, match="closed"):
        StructuralEM(base=base, mode="closed", initial=first)
