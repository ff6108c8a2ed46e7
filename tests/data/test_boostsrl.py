"""Folders of BoostSRL and objects of srlearn, as databases, and through the program."""

import csv
import re
import warnings
from pathlib import Path
from types import SimpleNamespace

import pytest

import mlnlearn as ml
from mlnlearn.errors import DataWarning, InputError
from mlnlearn.settings import describe

BACKGROUND = """
// what may stand in rules
useStdLogicVariables: true.
setParam: treeDepth=4.
setParam: nodeSize = 1.
setParam: numOfClauses=4.
mode: friends(+Person, -Person).
mode: friends(-Person, +Person).
mode: smokes(+Person).
mode: level(+Person, #Level!1).
mode: cancer(+Person).
bridger: friends/2.
"""
PEOPLE = [f"p{i}" for i in range(12)]


def write(folder, people, facts="", background=BACKGROUND, neg=True):
    folder.mkdir(parents=True)
    smokers, others = people[: len(people) // 2], people[len(people) // 2 :]
    pairs = zip(people, people[1:] + people[:1], strict=True)
    lines = [f"friends({a}, {b})." for a, b in pairs] + [f"smokes({p})." for p in smokers]
    (folder / "train_facts.txt").write_text(
        "useStdLogicVariables: true.\n" + "\n".join(lines) + facts
    )
    (folder / "train_pos.txt").write_text("".join(f"cancer({p}).\n" for p in smokers))
    if neg:
        (folder / "train_neg.txt").write_text("".join(f"cancer({p}).\n" for p in others[:-1]))
    (folder / "train_bk.txt").write_text('import: "../shared_bk.txt".\n')
    (folder.parent / "shared_bk.txt").write_text(background)
    return folder


def test_a_folder_is_read(tmp_path):
    found = ml.read_boostsrl(write(tmp_path / "train", PEOPLE, "\nSmokes(p7) . level(p0, high).\n"))
    database = found.database
    assert str(database.schema) == (
        "friends(person,person)\nsmokes(person)\nlevel(person,level)\ncancer(person)"
    )
    assert found.targets == ("cancer",)
    assert found.settings == {"literals_per_node": 1, "max_leaves": 4}
    assert "level(+person,#level)" in found.modes
    assert database.count("friends") == 12
    assert list(database.rows("level")) == [("p0", "high")]
    # what is neither a true nor a false example is no example
    examples = ml.positives_and_negatives([database], "cancer")
    assert (examples.positives, len(examples)) == (6, 11)


def test_modes_without_the_word_and_with_other_signs(tmp_path):
    background = """
        setParam: minLCTrees=5;
        smokes(+person).
        friends(+person,`person).
        level(+person, #Level!1).
        cancer(+person).
        range: level={low, high}.
        level(p0, high).
        """
    data = ml.read_boostsrl(write(tmp_path / "train", PEOPLE, background=background))
    assert data.modes == (
        *("smokes(+person)", "friends(+person,-person)", "level(+person,#level)"),
        "cancer(+person)",
    )
    assert list(data.database.rows("level")) == [("p0", "high")]


def test_without_false_examples_all_others_are_false(tmp_path):
    found = ml.read_boostsrl(write(tmp_path / "train", PEOPLE, neg=False))
    examples = ml.positives_and_negatives([found.database], "cancer")
    assert (examples.positives, len(examples)) == (6, 12)


def test_examples_become_unknown_where_they_are_asked(tmp_path):
    asked = ml.read_boostsrl(write(tmp_path / "train", PEOPLE)).asked()
    assert asked.unknown_facts("cancer").shape == (1, 11)
    assert asked.count("cancer") == 0
    assert asked.count("smokes") == 6


def test_what_is_left_out_is_said(tmp_path):
    rule = "precompute1: crowd(x,n) :- friends(x,y), countUniqueBindings(friends(x,z), n).\n"
    folder = write(tmp_path / "train", PEOPLE, "\ncolour(p0,red).\n", BACKGROUND + rule)
    with pytest.warns(DataWarning) as said:
        ml.read_boostsrl(folder)
    messages = [str(item.message) for item in said]
    assert any("facts of colour are left out: there is no mode" in text for text in messages)
    assert any("rules of the background are not run: of crowd" in text for text in messages)


@pytest.mark.parametrize(
    ("background", "message"),
    [
        ("", "there are no modes"),
        ("mode: smokes(&Person).", "found '&Person'"),
        ("mode: smokes(+Person).\nmode: smokes(+Pet).", "the types person and pet"),
        ("mode: smokes(+Person).", "there is no mode for the examples of cancer"),
    ],
)
def test_what_is_wrong_is_refused(tmp_path, background, message):
    folder = write(tmp_path / "train", PEOPLE, background=background)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        with pytest.raises(InputError, match=message):
            ml.read_boostsrl(folder)


def test_regression_and_missing_files_are_refused(tmp_path):
    folder = write(tmp_path / "train", PEOPLE)
    (folder / "train_pos.txt").write_text("regressionExample(cancer(p0), 0.5).\n")
    with pytest.raises(InputError, match="regressionExample"):
        ml.read_boostsrl(folder)
    (folder / "train_bk.txt").unlink()
    with pytest.raises(InputError, match="no file of background"):
        ml.read_boostsrl(folder)
    (folder / "train_bk.txt").write_text('import: "../../secret.key".')
    with pytest.raises(InputError, match=r"does not end in \.txt"):
        ml.read_boostsrl(folder)


def test_objects_of_srlearn():
    database = SimpleNamespace(
        facts=["smokes(a).", "smokes(b)."], pos=["ill(a)."], neg=["ill(b).", "ill(c)."]
    )
    background = SimpleNamespace(modes=["smokes(+person).", "ill(+person)."])
    found = ml.from_srlearn(background, database)
    assert found.targets == ("ill",)
    assert found.database.false_facts("ill").shape == (1, 2)
    with pytest.raises(InputError, match="no modes"):
        ml.from_srlearn(SimpleNamespace(modes=None), database)


def test_the_program_learns_evaluates_and_infers(tmp_path, program):
    train = write(tmp_path / "train", PEOPLE)
    test = write(tmp_path / "test", [f"Q{i}" for i in range(8)])
    model = tmp_path / "model.json"
    common = ["--set", "steps=2", "--set", "min_examples=1"]
    code, out, err = program(
        "learn", "--learner", "mln-bt", "--boostsrl", train, "--out", model, *common
    )
    assert (code, err) == (0, "")
    assert "smokes(p1)" in out
    code, out, err = program(
        "infer", "--model", model, "--boostsrl", test, "--out", tmp_path / "p.csv"
    )
    assert (code, err) == (0, "")
    with (tmp_path / "p.csv").open() as file:
        rows = {row["atom"]: float(row["probability"]) for row in csv.DictReader(file)}
    assert rows["cancer(Q0)"] > 0.6 > 0.4 > rows["cancer(Q6)"]
    assert len(rows) == 7  # the examples, no other atoms
    code, out, err = program(
        "evaluate", "--learner", "mln-bt", "--boostsrl", train, "--boostsrl", test, *common
    )
    assert (code, err) == (0, "")


def test_the_table_of_settings_names_settings_that_exist():
    page = (Path(__file__).parents[2] / "docs" / "migrating.md").read_text()
    names = {name for learner in (ml.BoostedMLN, ml.BoostedRDN) for name in describe(learner)}
    rows = [line for line in page.split("| BoostSRL |")[1].splitlines() if line.startswith("| ")]
    ours = {name for row in rows for name in re.findall(r"`([a-z_]+)`", row.split("|")[-2])}
    assert {"steps", "modes", "max_leaves"} <= ours
    assert ours <= names


def test_statements_without_full_stops_end_where_the_next_line_begins_another(tmp_path):
    background = """
        okIfUnknown: smokes/1
        mode: smokes(+Person).
        okIfUnknown: friends/2

        mode: friends(+Person,
                      -Person).
        setParam: someThreshold = 5
        mode: level(+Person, #Level).
        precompute1:
        often(P, N) :- friends(P, Q),
            member(N, [1, 3]).
        relevant: level/2, STRONGLY_RELEVANT.
        threshold: level(+Person, -Level), arg=2, maxCuts=4
        mode: cancer(+Person).
        """
    with pytest.warns(DataWarning, match="of often only listed facts are used"):
        data = ml.read_boostsrl(write(tmp_path / "train", PEOPLE, background=background))
    assert data.modes == (
        *("smokes(+person)", "friends(+person,-person)", "level(+person,#level)"),
        "cancer(+person)",
    )


@pytest.mark.parametrize("value", ["⑶", "9" * 5000, "-1", "many"])
def test_parameters_that_are_no_counts_are_passed_over(tmp_path, value):
    background = BACKGROUND.replace("nodeSize = 1", f"nodeSize = {value}")
    data = ml.read_boostsrl(write(tmp_path / "train", PEOPLE, background=background))
    assert data.settings == {"max_leaves": 4}
