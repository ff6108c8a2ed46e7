"""Data written as Alchemy's files by the program."""

import mlnlearn as ml
from mlnlearn.dialect import DIALECT


def test_tables_become_facts_that_read_the_same(tmp_path, monkeypatch, program):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "shop").mkdir()
    (tmp_path / "shop" / "item.csv").write_text("id,colour\nI1,dark red\nI2,\nI3,blue\n")
    (tmp_path / "shop" / "schema.sql").write_text(
        "CREATE TABLE item (id TEXT PRIMARY KEY, colour TEXT);"
    )
    code, out, err = program("convert", "--tables", "shop", "--out", "shop.db")
    assert (code, err) == (0, "")
    assert "2 facts in shop.db, declarations in shop.mln" in out
    again = ml.read_db("shop.db", schema="shop.mln")
    assert set(again.rows("colour")) == {("I1", "dark red"), ("I3", "blue")}
    # the empty cell: whatever its colour, it is unknown
    unknown = again.decode("colour", again.unknown_facts("colour"))
    assert set(unknown) == {("I2", "dark red"), ("I2", "blue")}


def test_what_cannot_be_converted(tmp_path, monkeypatch, program):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "schema.mln").write_text("smokes(person)\n")
    for name in ("a.db", "b.db"):
        (tmp_path / name).write_text("smokes(Anna)\n")
    for arguments, message in [
        (["a.db", "b.db", "--schema", "schema.mln"], "make 2 databases"),
        ([], "name the data"),
        (["a.db", "--tables", "shop"], "name the data"),
        (["a.db", "--schema", "schema.mln", "--out", "c.txt"], "ends in .db"),
    ]:
        code, out, err = program("convert", *arguments)
        assert (code, out) == (1, "")
        assert message in err


def test_rules_of_another_system_are_written_as_ours(tmp_path, program):
    rules, out = tmp_path / "theirs.mln", tmp_path / "ours.mln"
    rules.write_text("plays(word,role)\nlog(0.9/0.1) plays(?w,theme)\n")
    code, _, err = program("convert", str(rules), "--dialect", "pracmln", "--out", str(out))
    assert (code, err) == (0, "")
    assert '2.1972245773362196 plays(w,"theme")' in out.read_text()
    code, _, err = program("convert", str(rules), "--dialect", "prolog", "--out", str(out))
    assert code == 1
    assert "no such dialect 'prolog'" in err
    assert DIALECT.get() is None  # of one command alone
