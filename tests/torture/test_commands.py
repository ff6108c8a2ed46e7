"""The command line: values out of range, outputs that are inputs, files that are not there."""

import os

import pytest

RULES = "smokes(person)\nfriends(person,person)\n1 friends(x,y) ^ smokes(x) => smokes(y)\n"


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rules.mln").write_text(RULES)
    (tmp_path / "a.db").write_text(
        "smokes(Anna)\nfriends(Anna,Bob)\nsmokes(Bob)\nfriends(Carl,Dan)\n"
    )
    (tmp_path / "schema.mln").write_text("smokes(person)\nfriends(person,person)\n")
    (tmp_path / "outer.mln").write_text('#include "rules.mln"\n')
    (tmp_path / "t").mkdir()
    (tmp_path / "t" / "person.csv").write_text(
        "id,age\n" + "".join(f"p{i},{i}\n" for i in range(9))
    )
    (tmp_path / "train.csv").write_text("id,y\n" + "".join(f"p{i},{i % 2}\n" for i in range(9)))
    (tmp_path / "kg.tsv").write_text("Anna\tknows\tBob\nBob\tknows\tCarl\n")
    return tmp_path


LEARN = ("learn", "--learner", "rdn-b", "--target", "smokes", "--db", "a.db", "--set", "steps=1")
WEIGHTS = ("weights", "--model", "rules.mln", "--db", "a.db")
TASK = ("learn", "--learner", "boost", "--tables", "t", "--task", "train.csv")
TRIPLES = ("learn", "--learner", "paths", "--triples", "kg.tsv")
INFER = ("infer", "--model", "rules.mln", "--db", "a.db", "--query", "smokes")


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        ((*LEARN, "--out", "m.mln", "--seed", "-1"), 2, "--seed"),
        ((*INFER, "--seed", "-1"), 2, "--seed"),
        ((*INFER, "--max-seconds", "nan"), 2, "--max-seconds"),
        ((*INFER, "--max-seconds", "inf"), 2, "finite"),
        ((*WEIGHTS, "--sigma", "inf"), 2, "finite"),
        ((*WEIGHTS, "--l1", "nan"), 2, "--l1"),
        (
            ("learn", "--learner", "gslp", "--db", "a.db", "--out", "m", "--set", "sigma=inf"),
            1,
            "sigma",
        ),
        ((*LEARN, "--out", "no/m.mln"), 1, "there is no folder"),
        ((*LEARN, "--out", ""), 1, "cannot write"),
        ((*TASK, "--out", ""), 1, "cannot write"),
        (("learn", "--learner", "msl", "--tables", "t", "--out", ""), 1, "cannot write"),
        ((*TASK, "--out", "train.csv", "--force"), 1, "also an input"),
        ((*TASK, "--out", "t/person.csv", "--force"), 1, "also an input"),
        (
            (
                "infer",
                "--model",
                "m.mln",
                "--tables",
                "t",
                "--task",
                "train.csv",
                "--out",
                "train.csv",
                "--force",
            ),
            1,
            "also an input",
        ),
        ((*TRIPLES, "--out", "kg.tsv", "--force"), 1, "also an input"),
        ((*TRIPLES, "--out", "m.tsv", "--checkpoint", "kg.tsv"), 1, "no checkpoint"),
        (
            (
                "evaluate",
                "--learner",
                "paths",
                "--triples",
                "kg.tsv",
                "--test",
                "kg.tsv",
                "--out",
                "kg.tsv",
                "--force",
            ),
            1,
            "also an input",
        ),
        (("weights", "--model", "", "--db", "a.db"), 1, "empty"),
        ((*LEARN, "--out", "a" * 300), 1, "too long"),
        ((*LEARN, "--out", "m.mln", "--checkpoint", "no/c.json"), 1, "there is no folder"),
        ((*LEARN, "--out", "m.mln", "--checkpoint", "m.json"), 1, "also an input"),
        ((*LEARN, "--out", "a.db", "--force"), 1, "also an input"),
        ((*LEARN, "--out", "schema.mln", "--force"), 1, "also an input"),
        ((*LEARN, "--out", "data.mln"), 1, "data.json: the file is there already"),
        ((*WEIGHTS, "--out", "rules.mln", "--force"), 1, "also an input"),
        ((*WEIGHTS, "--out", "data.json"), 1, "--force"),
        (
            ("weights", "--model", "outer.mln", "--db", "a.db", "--out", "rules.mln", "--force"),
            1,
            "also an input",
        ),
        ((*INFER, "--out", "a.db", "--force"), 1, "also an input"),
        (("convert", "a.db", "--out", "a.db", "--force"), 1, "also an input"),
        (("report", "--model", "rules.mln", "--db", "a.db", "--out", "data.json"), 1, "--force"),
        (("demo", "--report", "no/page.html"), 1, "there is no folder"),
        (("inspect", "pipe.db", "--schema", "schema.mln"), 1, "not a regular file"),
        (("inspect", "--tables", "host=h password=s3cr3t"), 1, "password=***"),
        (("inspect", "--tables", "postgresql://anna:s3cr3t/x@h/db"), 1, "postgresql://anna@h/db"),
        (("inspect", "--tables", "postgresql://[::1/db"), 1, "cannot be read"),
        (("count", "smokes(x)", "a" * 5000 + ".db"), 1, "too long"),
    ],
)
def test_refused_before_any_work(program, files, arguments, code, said):
    (files / "data.json").write_text('{"mine": 1}')
    os.mkfifo(files / "pipe.db")
    before = {path.name: path.stat().st_mtime_ns for path in files.iterdir()}
    found, _, err = program(*arguments)
    plain = " ".join(err.replace("│", " ").split())
    assert (found, said in plain) == (code, True), err
    assert "s3cr3t" not in err
    assert len(err) < 3000
    assert "Traceback" not in err
    assert {path.name: path.stat().st_mtime_ns for path in files.iterdir()} == before


def test_the_same_command_twice_replaces_its_own_files(program, files):
    for arguments in (
        (*LEARN, "--out", "m.mln"),
        (*WEIGHTS, "--out", "w.mln"),
        (*INFER, "--out", "p.csv"),
        ("convert", "a.db", "--out", "c.db"),
        ("report", "--model", "rules.mln", "--db", "a.db", "--query", "smokes", "--out", "r.html"),
        ("evaluate", "--learner", "rdn-b", "--query", "smokes", "--db", "a.db", "c.db",
         "--schema", "schema.mln", "--out", "e.json", "--set", "steps=1"),
    ):  # fmt: skip
        for _ in range(2):
            code, _, err = program(*arguments)
            assert code == 0, err


def test_a_task_is_learned(program, files):
    found = program("learn", "--learner", "boost", "--tables", "t", "--task", "train.csv",
                    "--set", "steps=1", "--out", "m.mln")  # fmt: skip
    assert found[0] == 0, found[2]


def test_force_replaces_what_is_not_ours(program, files):
    (files / "mine.mln").write_text("something else")
    assert program(*WEIGHTS, "--out", "mine.mln")[0] == 1
    assert program(*WEIGHTS, "--out", "mine.mln", "--force")[0] == 0
    assert (files / "mine.mln").read_text().startswith("// mlnlearn rules\n")
