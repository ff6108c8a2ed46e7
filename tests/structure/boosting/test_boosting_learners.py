"""The learners as users see them: repeatable, resumable, right on planted rules."""

from itertools import pairwise

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit

from mlnlearn.counting.objects import Objects
from mlnlearn.data.database import Database
from mlnlearn.data.examples import positives_and_negatives
from mlnlearn.data.synthetic import university
from mlnlearn.errors import InputError
from mlnlearn.logic.schema import Schema
from mlnlearn.model.boosted.evaluate import step_values
from mlnlearn.model.boosted.files import to_json
from mlnlearn.model.boosted.rules import ClauseList, HornClause, bodies
from mlnlearn.model.mln import MLN
from mlnlearn.run import Run
from mlnlearn.structure.boosting import BoostedMLN, BoostedRDN
from structure.boosting.boosting_reference import small_world

LEARNERS = [
    BoostedRDN(target="advisedBy", steps=4),
    BoostedMLN(target="advisedBy", steps=4),
    BoostedMLN(target="advisedBy", steps=4, representation="clauses"),
    BoostedMLN(target="advisedBy", steps=4, negatives="paper"),
    BoostedRDN(target="advisedBy", steps=4, fraction=0.1, shrinkage=0.5, line_search=True),
    BoostedMLN(target=("advisedBy", "professor"), steps=2, max_leaves=4),
]
IDENTITIES = ["rdn", "trees", "clauses", "paper", "sampled", "joint"]


@pytest.fixture(scope="module")
def areas():
    return university(40, areas=2, rng=5).databases


def content(model):
    return to_json(model.to_plain())


@pytest.mark.parametrize("learner", LEARNERS, ids=IDENTITIES)
def test_same_seed_same_bytes_and_interrupted_runs_end_the_same(learner, areas, tmp_path):
    whole = learner.fit(areas).model
    assert content(learner.fit(areas).model) == content(whole)
    stop_after = learner.steps // 2

    class StoppedError(Exception):
        pass

    def stop(at):
        if at.done == stop_after:
            raise StoppedError

    file = tmp_path / "run.json"
    with pytest.raises(StoppedError):
        learner.fit(areas, Run(checkpoint=file, progress=stop))
    assert len(file.read_text().splitlines()) == 1 + stop_after
    seen = []
    resumed = learner.fit(
        areas, Run(checkpoint=file, progress=lambda at: seen.append(at.done))
    ).model
    assert seen == list(range(1, learner.steps + 1))
    assert content(resumed) == content(whole)


def test_a_checkpoint_of_another_run_is_refused(areas, tmp_path):
    file = tmp_path / "run.json"
    BoostedRDN(target="advisedBy", steps=1).fit(areas, Run(checkpoint=file))
    with pytest.raises(InputError, match="other settings: steps was 1, is 2"):
        BoostedRDN(target="advisedBy", steps=2).fit(areas, Run(checkpoint=file))
    with pytest.raises(InputError, match=r"other data: .* database 2"):
        BoostedRDN(target="advisedBy", steps=1).fit(areas[:1], Run(checkpoint=file))
    file.write_text("nonsense\n")
    with pytest.raises(InputError, match="no checkpoint"):
        BoostedRDN(target="advisedBy", steps=1).fit(areas, Run(checkpoint=file))


def test_another_seed_draws_other_negatives(areas):
    learner = BoostedMLN(target="advisedBy", steps=3, negatives="paper")
    other = BoostedMLN(target="advisedBy", steps=3, negatives="paper", seed=1)
    assert content(learner.fit(areas).model) != content(other.fit(areas).model)


def mean_log_likelihood(odds, labels):
    return float(-np.logaddexp(0.0, np.where(labels, -odds, odds)).mean())


@pytest.mark.parametrize(
    "learner",
    [
        BoostedRDN(target="advisedBy"),
        BoostedMLN(target="advisedBy"),
        BoostedMLN(target="advisedBy", representation="clauses"),
    ],
    ids=["rdn", "trees", "clauses"],
)
def test_planted_rules_are_recovered(learner):
    made = university(60, areas=4, rng=0)
    model = learner.fit(made.databases).model
    found = {
        frozenset(pattern.predicate.name for pattern in body)
        for step in model.rules_of().steps
        for body in bodies(step)
    }
    assert any({"publication"} <= names for names in found)
    assert any({"ta", "taughtBy"} <= names for names in found)
    texts = [rule for rule, _ in model.rules()]
    assert any("publication(t1,p1) ^ publication(t1,p2)" in text for text in texts)
    test = university(60, areas=3, rng=77)
    odds, labels, truth = [], [], 0.0
    for database, known in zip(test.databases, test.truth, strict=True):
        examples = positives_and_negatives([database], "advisedBy")
        odds.append(model.log_odds(database, examples))
        labels.append(examples.labels)
        truth += known["advisedBy"].log_likelihood(database)
    labels = np.concatenate(labels)
    rate = labels.mean()
    ours = mean_log_likelihood(np.concatenate(odds), labels)
    # within 0.02 of the truth, and most of the way from the base rate to it
    base = rate * np.log(rate) + (1 - rate) * np.log(1 - rate)
    assert truth / len(labels) - ours < 0.02
    assert ours - base > 0.6 * (truth / len(labels) - base)


def test_few_steps_leave_weights_below_the_most_likely_ones_and_no_rule_takes_them():
    areas = university(100, areas=4, rng=1).databases
    rules = BoostedMLN(target="advisedBy", representation="clauses").fit(areas).model.rules_of()
    learned = {}
    for clause in (clause for step in rules.steps for clause in step.clauses):
        learned[clause.body] = learned.get(clause.body, 0.0) + clause.weight
    examples = positives_and_negatives(areas, "advisedBy")
    world = Objects(areas)
    rows = world.numbered(examples.predicate, examples.database, examples.columns)
    counts = np.stack(
        [
            step_values(ClauseList((HornClause(body, 1.0),)), world, rows, False)
            for body in learned | {(): 0.0}
        ]
    )

    def loss(weights):
        odds = weights @ counts
        value = np.logaddexp(0.0, np.where(examples.labels, -odds, odds)).sum()
        slope = counts @ (expit(odds) - examples.labels)
        return value + 1e-3 * weights @ weights, slope + 2e-3 * weights

    best = minimize(loss, np.zeros(len(counts)), jac=True, method="L-BFGS-B")
    (number,) = (
        number
        for number, body in enumerate(learned)
        if [pattern.predicate.name for pattern in body] == ["ta", "taughtBy"]
    )
    # the same rules, with the weights of maximum likelihood: that of the planted rule is back
    assert best.x[number] == pytest.approx(1.2, abs=0.4)
    assert 0 < list(learned.values())[number] < best.x[number]


def test_calibrated_probabilities_hold_on_the_population_and_paper_ones_do_not(areas):
    examples = positives_and_negatives(areas, "advisedBy")
    rate = examples.labels.mean()
    calibrated = BoostedMLN(target="advisedBy").fit(areas).model.probabilities(areas, examples)
    assert calibrated.mean() == pytest.approx(rate, rel=0.25)
    paper = BoostedMLN(target="advisedBy", negatives="paper").fit(areas).model
    assert paper.probabilities(areas, examples).mean() > 4 * rate


def test_sampled_negatives_stay_calibrated(areas):
    examples = positives_and_negatives(areas, "advisedBy")
    learner = BoostedRDN(target="advisedBy", max_examples=600)
    found = learner.fit(areas).model.probabilities(areas, examples)
    # every eleventh example of the sample is true, every hundredth of the population
    assert found.mean() < 2 * examples.labels.mean()


def test_given_examples_are_the_ones_learned_from(areas):
    few = positives_and_negatives(areas, "advisedBy", ratio=1, rng=3)
    model = BoostedRDN(target="advisedBy", steps=0, balance=np.inf).fit(areas, examples=few).model
    odds = few.positives / few.weights[~few.labels].sum()
    assert model.rules_of().bias == pytest.approx(np.log(odds))
    with pytest.raises(InputError, match="no target"):
        BoostedRDN(target="professor", steps=1).fit(areas, examples=few)


def test_early_stopping_keeps_the_best_number_of_steps(areas):
    learner = BoostedRDN(
        target="advisedBy", steps=60, held_out_share=0.3, patience=3, line_search=True
    )
    model = learner.fit(areas).model
    assert 1 <= model.steps < 60


def test_a_line_search_never_lowers_the_likelihood(areas):
    examples = positives_and_negatives(areas, "advisedBy")
    learner = BoostedMLN(target="advisedBy", steps=8, balance=np.inf, line_search=True)
    model = learner.fit(areas).model
    values = [
        mean_log_likelihood(model.truncated(k).log_odds(areas, examples), examples.labels)
        for k in range(9)
    ]
    assert all(later >= earlier - 1e-12 for earlier, later in pairwise(values))


def test_constants_of_value_types_stand_in_rules_and_equality_tests_the_head():
    schema = Schema.of("likes(person,genre)", "female(person)")
    rng = np.random.default_rng(0)
    databases = []
    for number in range(2):
        people = [f"P{number}_{i}" for i in range(30)]
        female = [name for name in people if rng.random() < 0.5]
        likes = [(name, "Drama") for name in female] + [(people[0], "War")]
        domains = {"person": people, "genre": ["Drama", "War", "Noir"]}
        facts = {"likes": set(likes), "female": [(name,) for name in female]}
        databases.append(Database.from_facts(schema, facts, domains=domains))
    model = BoostedRDN(target="likes", steps=10, axis="off").fit(databases).model
    assert any("g1 = Drama" in rule for rule, _ in model.rules())
    examples = positives_and_negatives(databases, "likes")
    odds = model.log_odds(databases, examples)
    assert odds[examples.labels].mean() > odds[~examples.labels].mean() + 2


def test_modes_restrict_the_language(areas):
    modes = ("publication(-title,+person)", "inPhase(+person,#phase)", "student(+)")
    model = BoostedMLN(target="advisedBy", steps=3, modes=modes).fit(areas).model
    used = {p for step in model.rules_of().steps for body in bodies(step) for p in body}
    assert {p.predicate.name for p in used} <= {"publication", "inPhase", "student", "="}
    assert all(isinstance(p.terms[1], str) for p in used if p.predicate.name == "inPhase")
    bad = ("publication(+title)", "nothing(+)", "inPhase(+person,*phase)")
    with pytest.raises(InputError, match="3 problems found"):
        BoostedMLN(target="advisedBy", modes=bad).fit(areas)


def test_prior_clauses_are_kept_and_built_upon(areas):
    schema = areas[0].schema
    text = "2.5 publication(t,s) ^ publication(t,p) => advisedBy(s,p)"
    given = MLN.parse(f"{schema}\n{text}")
    model = BoostedMLN(target="advisedBy", steps=1, initial=given).fit(areas).model
    assert model.rules()[1][1] == 2.5
    assert isinstance(model.rules_of().prior, ClauseList)
    bad = MLN.parse(f"{schema}\n1 student(x)\nprofessor(x) => student(x)")
    with pytest.raises(InputError, match="2 problems found"):
        BoostedMLN(target="advisedBy", initial=bad).fit(areas)


def test_a_target_without_any_split_gets_the_fitted_constant():
    schema = Schema.of("happy(person)", "rich(person)")
    names = [f"P{i}" for i in range(10)]
    facts = {"happy": [(name,) for name in names[:3]]}
    database = Database.from_facts(schema, facts, domains={"person": names})
    model = BoostedMLN(target="happy", steps=30, negatives="paper").fit(database).model
    assert all(len(step.paths) == 1 for step in model.rules_of().steps)
    probability = model.query(database).tables[0].probability
    assert probability == pytest.approx(np.full(10, 1 / 3), abs=0.05)


def test_joint_rules_use_the_other_targets():
    databases = small_world(np.random.default_rng(2), 4)
    model = BoostedMLN(target=("goal", "aim"), steps=3, min_examples=2).fit(databases).model
    used = {
        (rules.predicate.name, p.predicate.name)
        for rules in model.targets
        for step in rules.steps
        for body in bodies(step)
        for p in body
    }
    assert ("goal", "goal") not in used
    assert ("aim", "aim") not in used
    assert {("goal", "aim"), ("aim", "goal")} & used


def test_targets_without_positives_or_negatives_are_refused(areas):
    with pytest.raises(InputError, match="no such predicate"):
        BoostedMLN(target="nobody").fit(areas)
    schema = Schema.of("happy(person)", "rich(person)")
    database = Database.from_facts(schema, {"rich": [("Anna",)]})
    with pytest.raises(InputError, match="no true example"):
        BoostedMLN(target="happy").fit(database)
    with pytest.raises(InputError, match="no false example"):
        BoostedMLN(target="rich").fit(database)
