"""Answers a part at a time, in files and summaries; `agreement` has them beside all others."""

import duckdb
import pytest

import mlnlearn as ml
from mlnlearn.errors import MlnError
from mlnlearn.evaluate.chunks import query_in_chunks
from mlnlearn.files import ANSWERS_MARK
from mlnlearn.model.answer_files import write_answers
from mlnlearn.model.answers import Answers

MLN = """
person = {Anna, "Bob, the tall", Carl, Dora}
smokes(person)
friends(person,person)
likes(person,person)
1.5 friends(x,y) ^ smokes(x) => likes(x,y)
"""
DB = """
smokes(Anna)
friends(Anna,"Bob, the tall")
friends(Anna,Carl)
likes(Carl,Dora)
!likes(Anna,Dora)
"""


@pytest.fixture
def asked():
    mln = ml.MLN.parse(MLN)
    return mln, ml.parse_db(DB, mln.schema), "likes"


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_files_of_chunks_have_all_answers(asked, tmp_path, suffix):
    whole = ml.query(*asked)
    path = tmp_path / f"answers.{suffix}"
    write_answers(path, query_in_chunks(*asked, atoms=4))
    rows = duckdb.sql(f"SELECT atom, probability, standard_error, method FROM '{path}'").fetchall()
    assert len(rows) == 14
    assert rows == [(str(a.atom), pytest.approx(a.probability), 0.0, "closed form") for a in whole]
    assert [file.name for file in tmp_path.iterdir()] == [path.name]


def test_a_file_is_written_in_full_or_not_at_all(asked, tmp_path):
    def failing():
        yield next(query_in_chunks(*asked, atoms=4))
        raise MlnError("no more")

    for suffix in ("csv", "parquet"):
        with pytest.raises(MlnError, match="no more"):
            write_answers(tmp_path / f"answers.{suffix}", failing())
    assert not list(tmp_path.iterdir())


def test_chunks_are_as_small_as_asked_for(asked):
    assert [len(answers) for answers in query_in_chunks(*asked, atoms=4)] == [4, 4, 4, 2]
    assert [len(answers) for answers in query_in_chunks(*asked, atoms=4, whole=True)] == [14]


def test_hard_rules_about_what_is_known_are_held(asked):
    _, database, name = asked
    mln = ml.MLN.parse(MLN + "friends(x,y) => smokes(y).\n")
    with pytest.raises(MlnError, match="contradicts the hard rule"):
        list(query_in_chunks(mln, database, name))


def test_the_program_writes_and_shows_all_chunks(asked, tmp_path, monkeypatch, program):
    monkeypatch.setattr("mlnlearn.evaluate.chunks.ATOMS", 4)
    (tmp_path / "model.mln").write_text(MLN)
    (tmp_path / "data.db").write_text(DB)
    out = tmp_path / "answers.csv"
    given = ["--model", tmp_path / "model.mln", "--db", tmp_path / "data.db", "--query", "likes"]
    code, shown, _ = program("infer", *map(str, given), "--out", str(out))
    assert code == 0
    text = out.read_text()
    ml.query(*asked).to_csv(tmp_path / "whole.csv")
    assert text == (tmp_path / "whole.csv").read_text()
    assert text.startswith(ANSWERS_MARK)
    assert "14 atoms of likes" in shown
    assert "likes(Anna,Carl)" in shown
    other = tmp_path / "answers.parquet"
    assert program("infer", *map(str, given), "--out", str(other))[0] == 0
    assert duckdb.sql(f"SELECT count(*) FROM '{other}'").fetchall() == [(14,)]


def test_a_predicate_must_be_named(asked):
    with pytest.raises(MlnError, match="no query predicate"):
        next(query_in_chunks(*asked[:2], []))


def test_the_best_answers_come_first(asked):
    answers = ml.query(*asked)
    best = answers.top(3)
    assert [a.probability for a in best] == sorted((a.probability for a in answers), reverse=True)[
        :3
    ]
    assert Answers((answers.tables[0].part(slice(0, 2)),)).top(5) == sorted(
        list(answers)[:2], key=lambda a: -a.probability
    )
