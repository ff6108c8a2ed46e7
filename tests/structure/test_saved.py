"""Models in files: read as what they are, of any kind, and rules that were changed as rules."""

import json

import pytest

import mlnlearn as ml
from mlnlearn.data.synthetic import university

AREAS = university(40, areas=2, rng=0).databases


def boosted():
    return ml.BoostedMLN(target="advisedBy", steps=2, max_leaves=2).fit(AREAS).model


def net():
    schema = ml.Schema.of("sex(person,sex_value!)")
    facts = {"sex": [("Anna", "f"), ("Bob", "m"), ("Carl", "m")]}
    return ml.MBN().fit(ml.Database.from_facts(schema, facts)).model


@pytest.mark.parametrize("make", [boosted, net])
def test_either_file_is_the_model_until_its_rules_change(make, tmp_path):
    model = make()
    model.save(tmp_path / "model.mln")
    for name in ("model.mln", "model.json"):
        again = ml.load_model(tmp_path / name)
        assert type(again) is type(model)
        again.save(tmp_path / "again.mln")
        assert (tmp_path / "again.json").read_bytes() == (tmp_path / "model.json").read_bytes()
    rules = (tmp_path / "model.mln").read_bytes()
    (tmp_path / "model.mln").write_bytes(rules.replace(b"\n", b"\r\n"))
    assert type(ml.load_model(tmp_path / "model.mln")) is type(model)
    (tmp_path / "model.mln").write_bytes(rules + b"// a remark\n")
    assert isinstance(ml.load_model(tmp_path / "model.mln"), ml.MLN)
    assert type(ml.load_model(tmp_path / "model.json")) is type(model)


def test_json_of_another_kind_or_damaged(tmp_path):
    mln = ml.MLN.parse("smokes(person)\n0.5 smokes(x)")
    mln.save(tmp_path / "model.mln")
    (tmp_path / "model.json").write_text(json.dumps({"format": "notes of mine"}))
    assert ml.load_model(tmp_path / "model.mln") == mln
    (tmp_path / "model.json").write_text('{"format": "mlnl')
    with pytest.raises(ml.InputError, match="this model file is damaged"):
        ml.load_model(tmp_path / "model.mln")
    with pytest.raises(ml.InputError, match="the name of the model is empty"):
        ml.load_model("")
