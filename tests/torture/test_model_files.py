"""Files of models are what their kind declares, or are refused with the place that is not."""

import json

import pytest

from mlnlearn.documents import MOST_DEPTH, signed
from mlnlearn.errors import InputError
from mlnlearn.model.bayesnet import ParametrizedBayesNet
from mlnlearn.model.boosted.model import BoostedModel
from mlnlearn.model.relational.model import RelationalModel
from mlnlearn.structure.join_bayes.model import JoinBayesModel
from torture import model_files


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (("targets", 0, "bias"), "much", r"targets\[0\]\.bias: expected `float`, got `str`"),
        (("targets", 0, "target"), "dances", r"targets\[0\]: target: no such predicate 'dances'"),
        (("targets", 0, "shifts"), [1.0], r"targets\[0\]: shifts: 2 steps have 1"),
        (("semantics",), "both", "semantics: invalid enum value 'both'"),
        (("schema", "functional"), {"age": [2]}, "schema: functional: .* has no place 2"),
        (("targets", 0, "steps", 0, "tree", "if", 0), ["friends", 0], "literal 0: .* has 1 terms"),
        (("targets", 0, "steps", 0, "tree", "if", 0, 1), 1000, "expected `int` <= 999"),
        (("targets", 0, "steps", 0, "tree", "if"), [], "tree.if: expected `array` of length >= 1"),
        (
            ("targets", 0, "steps", 0, "tree", "then", "if"),
            [["age", 1, 1]],
            "variable 1 .* is a person before, not a years",
        ),
    ],
)
def test_boosted_models_say_where(tmp_path, path, value, message):
    refuse(BoostedModel.load, tmp_path, model_files.boosted(), path, value, message)


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (("net", "tables", 1, "parents"), [9], r"net: tables\[1\]: parents: \[9\]"),
        (("net", "tables", 1, "parents"), [1], "the edges run in a circle"),
        (("net", "tables", 1, "configurations", 0), [2], r"configurations\[0\]: expected values"),
        (("net", "tables", 1, "counts", 0), [-1, 2], r"net.tables\[1\].counts\[0\]\[0\]: expected"),
        (("net", "nodes", 1, "values"), ["no", "yes"], r"nodes\[1\]: smokes\(person\) is true or"),
        (
            ("net", "nodes", 3, "predicate", 0),
            "knows",
            r"nodes\[3\]: an attribute of",
        ),
        (("families", 0, "child"), 17, r"families\[0\]: the net has 4 nodes"),
        (("families", 0, "leaves", 1), [[0, 5]], r"leaves\[1\]: no such value"),
        (("families", 1, "given"), ["knows"], r"families\[1\]: given: no link 'knows'"),
        (("weights",), [1.0], "weights: expected 6, found 1"),
        (("schema",), "smokes(person", "schema: "),
        (("mapping", "person", "columns", "age", "as"), "id", r"mapping\.person|mapping\[\.\.\.\]"),
    ],
)
def test_models_of_nets_say_where(tmp_path, path, value, message):
    refuse(JoinBayesModel.load, tmp_path, model_files.join_bayes(), path, value, message)


@pytest.mark.parametrize(
    ("classes", "message"),
    [(["false", "false", "true"], "classes: one .* twice"), (["true"], "classes: expected 2")],
)
def test_models_of_features_say_where(tmp_path, classes, message):
    plain = model_files.features()
    refuse(RelationalModel.load, tmp_path, plain, ("classes",), classes, message)


def refuse(load, folder, plain, path, value, message):
    content = json.loads(json.dumps(plain))
    part = content
    for step in path[:-1]:
        part = part[step]
    part[path[-1]] = value
    file = folder / "m.json"
    file.write_text(json.dumps(signed(content)))
    with pytest.raises(InputError, match=message) as caught:
        load(file)
    assert caught.value.location.file == str(file)


def test_a_format_alone_is_no_model(tmp_path):
    file = tmp_path / "m.json"
    for load, name in (
        (JoinBayesModel.load, "mlnlearn join bayes 1"),
        (BoostedModel.load, "mlnlearn boosted rules, version 1"),
        (ParametrizedBayesNet.load, "mlnlearn bayes net 1"),
    ):
        file.write_text(json.dumps({"format": name}))
        with pytest.raises(InputError, match="missing required field"):
            load(file)


def test_trees_and_lists_without_end_are_refused(tmp_path):
    file = tmp_path / "m.json"
    content = json.loads(json.dumps(model_files.boosted()))
    content.pop("checksum")
    step = content["targets"][0]["steps"][0]
    for _ in range(900):
        step["tree"] = {"if": [["smokes", 0]], "then": step["tree"], "else": 0}
    for text in (json.dumps(content), "[" * 100_000, '{"a":' * 100_000):
        file.write_text(text)
        with pytest.raises(InputError, match=f"nested more than {MOST_DEPTH} deep"):
            BoostedModel.load(file)


@pytest.mark.parametrize("plain", [model_files.boosted, model_files.join_bayes])
def test_any_changed_digit_is_noticed(tmp_path, plain):
    file = tmp_path / "m.json"
    load = BoostedModel.load if plain is model_files.boosted else JoinBayesModel.load
    text = json.dumps(signed(plain()), indent=1)
    file.write_text(text)
    load(file)
    digits = [place for place, letter in enumerate(text) if letter.isdigit()]
    for place in digits[:: len(digits) // 40]:
        other = "4" if text[place] != "4" else "6"
        file.write_text(text[:place] + other + text[place + 1 :])
        with pytest.raises(InputError):
            load(file)


def test_a_key_that_stands_twice_is_refused(tmp_path):
    file = tmp_path / "m.json"
    content = {k: v for k, v in model_files.boosted().items() if k != "checksum"}
    file.write_text(json.dumps(content).replace('"bias": -1.5', '"bias": -1.5, "bias": 2.5'))
    with pytest.raises(InputError, match="'bias' twice"):
        BoostedModel.load(file)


def test_listed_constants_are_kept(tmp_path):
    content = json.loads(json.dumps(model_files.boosted()))
    content.pop("checksum")
    content["schema"]["listed"] = {"years": ["7"]}
    model = BoostedModel.from_plain(content)
    model.save(tmp_path / "m.mln")
    assert BoostedModel.load(tmp_path / "m.mln").schema.listed == {"years": ("7",)}
