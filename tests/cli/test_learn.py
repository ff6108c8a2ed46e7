"""Learning rules on the command line, and what can be asked of the models."""

import json
import math
import os
import pty
import subprocess
import sys
from contextlib import suppress

import pytest

import mlnlearn as ml
from mlnlearn.cli import settings
from mlnlearn.cli.learn import configured
from mlnlearn.cli.progress import Reporter
from mlnlearn.model.boosted.model import BoostedModel
from mlnlearn.registry import LEARNERS

KEYS = {"learner", "rules", "train_cpu_seconds", "peak_memory_mb"}
SMALL = ("professor", "student", "advisedBy", "publication")
TABLES = {
    "person": "id,sex\n" + "".join(f"P{i},{'fm'[i % 2]}\n" for i in range(40)),
    "job": "id,pay\n" + "".join(f"J{i},{['low', 'high'][i % 2]}\n" for i in range(20)),
    "works": "person,job\n" + "".join(f"P{i},J{i % 20}\n" for i in range(40)),
}
DDL = """
CREATE TABLE person (id TEXT PRIMARY KEY, sex TEXT);
CREATE TABLE job (id TEXT PRIMARY KEY, pay TEXT);
CREATE TABLE works (person TEXT REFERENCES person, job TEXT REFERENCES job,
                    PRIMARY KEY (person, job));
"""


@pytest.fixture(scope="module")
def made():
    return ml.synthetic.university(40, areas=3, rng=0)


@pytest.fixture
def folder(tmp_path, monkeypatch, made):
    """Three areas of a university, all predicates and few of them, and the shell there."""
    lines = str(made.schema).splitlines()
    few = [line for line in lines if line.startswith(SMALL)]
    (tmp_path / "schema.mln").write_text("\n".join(lines) + "\n")
    (tmp_path / "few.mln").write_text("\n".join(few) + "\n")
    for number, database in enumerate(made.databases, start=1):
        facts = [
            f"{predicate.name}({','.join(row)})"
            for predicate in made.schema.predicates
            for row in database.rows(predicate.name)
        ]
        (tmp_path / f"area{number}.db").write_text("\n".join(facts) + "\n")
        kept = [fact for fact in facts if fact.startswith(SMALL)]
        (tmp_path / f"few{number}.db").write_text("\n".join(kept) + "\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    return tmp_path


def boosted(learner, out, *more):
    return (
        "learn", "--learner", learner, "--schema", "schema.mln", "--db", "area1.db", "area2.db",
        "--target", "advisedBy", "--set", "steps=3", "--out", out, *more,
    )  # fmt: skip


def generative(learner, out, *more):
    return (
        "learn", "--learner", learner, "--schema", "few.mln", "--db", "few1.db", "few2.db",
        "--out", out, *more,
    )  # fmt: skip


def test_every_listed_learner_is_there_and_has_readable_settings():
    for entry in LEARNERS.values():
        for setting in settings.settings_of(entry).values():
            assert setting.kind
        assert callable(entry.load().fit)
        assert all(entry.has(name) for name in entry.fixed)


@pytest.mark.parametrize("learner", ["mln-bt", "mln-bc", "rdn-b"])
def test_boosted_json_is_the_model_that_the_library_learns(folder, program, learner, made):
    code, out, err = program(*boosted(learner, "model.mln", "--seed", "4", "--json"))
    assert (code, err) == (0, "")
    found = json.loads(out)
    assert set(found) == KEYS
    assert found["learner"] == learner
    assert found["train_cpu_seconds"] > 0
    assert found["peak_memory_mb"] > 10
    names = {"mln-bt": ml.BoostedMLN, "mln-bc": ml.BoostedMLN, "rdn-b": ml.BoostedRDN}
    more = {"mln-bc": {"representation": "clauses"}}.get(learner, {})
    databases = [ml.read_db(f"area{k}.db", schema="schema.mln") for k in (1, 2)]
    model = names[learner](target="advisedBy", steps=3, seed=4, **more).fit(databases).model
    assert [(r["rule"], r["weight"]) for r in found["rules"]] == model.rules()
    assert ml.BoostedModel.load(folder / "model.json").rules() == model.rules()


@pytest.mark.parametrize(
    ("learner", "options"),
    [
        ("gslp", ("--set", "max_literals=3")),
        ("msl", ("--set", "max_literals=3", "--set", "strategy=shortest")),
        ("lsl", ("--set", "max_literals=2", "--set", "max_rounds=2")),
    ],
)
def test_generative_learners_write_networks(folder, program, learner, options):
    code, out, err = program(*generative(learner, "model.mln", "--json", *options))
    assert (code, err) == (0, "")
    found = json.loads(out)
    assert set(found) == KEYS
    saved = ml.MLN.read(folder / "model.mln")
    assert [(str(r.formula), r.weight) for r in saved.rules] == [
        (r["rule"], r["weight"]) for r in found["rules"]
    ]
    assert len(saved.rules) > len(SMALL)


@pytest.mark.parametrize("learner", ["laj-dt", "mbn"])
@pytest.mark.parametrize("inside", ["", "tables"])
def test_learning_from_a_folder_of_tables(tmp_path, monkeypatch, program, learner, inside):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "shop" / inside).mkdir(parents=True)
    (tmp_path / "shop" / "schema.sql").write_text(DDL)
    for name, text in TABLES.items():
        (tmp_path / "shop" / inside / f"{name}.csv").write_text(text)
    for out in ("model.mln", "model.json"):
        code, text, err = program(
            "learn", "--learner", learner, "--tables", "shop", "--out", out, "--json"
        )
        assert (code, err) == (0, "")
        found = json.loads(text)
        assert set(found) == KEYS
        assert any("sex" in r["rule"] and "pay" in r["rule"] for r in found["rules"])
    code, text, _ = program("learn", "--learner", learner, "--tables", "shop", "--out", "a.mln")
    assert code == 0
    assert "rules" in text


def test_who_is_interrupted_while_writing_is_told_how_to_go_on(folder, program, monkeypatch):
    def interrupt(self, path):
        raise KeyboardInterrupt

    command = boosted("mln-bt", "late.mln", "--checkpoint", "late_run.json")
    with monkeypatch.context() as patch:
        patch.setattr(BoostedModel, "save", interrupt)
        code, _, err = program(*command)
    assert code == 130
    assert "run the same command again to go on from late_run.json" in err


def test_an_interrupted_run_goes_on_to_the_same_file(folder, program, monkeypatch):
    assert program(*boosted("mln-bt", "whole.mln"))[0] == 0
    calls = []

    def interrupt(self, at):
        calls.append((at.done, at.total))
        if at.done == 2:
            raise KeyboardInterrupt

    command = boosted("mln-bt", "resumed.mln", "--checkpoint", "run.json")
    with monkeypatch.context() as patch:
        patch.setattr(Reporter, "__call__", interrupt)
        code, out, err = program(*command)
    assert (code, out) == (130, "")
    assert calls == [(1, 3), (2, 3)]
    assert "run the same command again to go on from run.json" in err
    assert not (folder / "resumed.mln").exists()
    assert len((folder / "run.json").read_text().splitlines()) == 1 + 2
    assert program(*command)[0] == 0
    for suffix in ("mln", "json"):
        assert (folder / f"resumed.{suffix}").read_bytes() == (
            folder / f"whole.{suffix}"
        ).read_bytes()


def test_an_interrupted_search_goes_on_to_the_same_file(folder, program, monkeypatch):
    few = ("--set", "max_literals=3")
    assert program(*generative("gslp", "whole.mln", *few))[0] == 0
    command = generative("gslp", "resumed.mln", "--checkpoint", "run.jsonl", *few)

    def interrupt(self, progress):
        if "edges" not in progress.stage:
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Reporter, "__call__", interrupt)
        assert program(*command)[0] == 130
    assert len((folder / "run.jsonl").read_text().splitlines()) > 5
    assert program(*command)[0] == 0
    assert (folder / "resumed.mln").read_bytes() == (folder / "whole.mln").read_bytes()


def test_an_interrupted_lifted_search_goes_on_to_the_same_file(folder, program, monkeypatch):
    assert program(*generative("lsl", "whole.mln"))[0] == 0
    command = generative("lsl", "resumed.mln", "--checkpoint", "run.jsonl")

    def interrupt(self, step):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Reporter, "__call__", interrupt)
        code, _, err = program(*command)
    assert code == 130
    assert "run the same command again to go on from run.jsonl" in err
    assert program(*command)[0] == 0
    assert (folder / "resumed.mln").read_bytes() == (folder / "whole.mln").read_bytes()


def test_without_a_checkpoint_nothing_is_kept(folder, program, monkeypatch):
    def interrupt(self, at):
        raise KeyboardInterrupt

    monkeypatch.setattr(Reporter, "__call__", interrupt)
    code, _, err = program(*boosted("rdn-b", "model.mln"))
    assert code == 130
    assert "nothing was kept" in err


def test_the_rules_fit_the_screen(folder, program):
    for learner in ("mln-bt", "mln-bc"):
        code, out, _ = program(*boosted(learner, "model.mln"))
        assert code == 0
        assert max(map(len, out.splitlines())) <= 80
        assert "=> advisedBy(p1,p2)" in " ".join(out.split())
        assert "written to model.mln" in out


def test_progress_is_a_bar_on_a_terminal(folder):
    script = "import sys; from mlnlearn.cli.main import run; sys.argv = sys.argv[1:]; run()"
    command = [sys.executable, "-c", script, "mlnlearn", *boosted("mln-bt", "model.mln", "--json")]
    reader, writer = pty.openpty()
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=writer, env={**os.environ, "TERM": "xterm"}
    ) as running:
        os.close(writer)
        shown = b""
        with suppress(OSError):  # the end, as Linux tells it
            while part := os.read(reader, 10_000):
                shown += part
        out, _ = running.communicate(timeout=120)
    os.close(reader)
    assert set(json.loads(out)) == KEYS
    assert b"mln-bt" in shown
    assert b"3 of 3" in shown


def test_settings_are_listed(folder, program):
    code, out, _ = program("learn", "--learner", "mln-bc", "--settings")
    assert code == 0
    assert max(map(len, out.splitlines())) <= 80
    listed = {line.split()[0] for line in out.splitlines() if line[:1].strip()}
    assert {"steps", "clauses_per_step", "balance", "initial"} <= listed
    assert not {"target", "seed", "representation"} & listed
    assert "Most leaves of a tree. (a whole number, at least" in out


def test_settings_reach_the_learner(folder, program):
    prior = "publication(title,person)\nadvisedBy(person,person)\n"
    prior += "1.5 publication(t,s) ^ publication(t,p) => advisedBy(s,p)\n"
    (folder / "prior.mln").write_text(prior)
    code, out, err = program(
        *boosted("mln-bc", "model.mln", "--set", "steps=0", "--set", "initial=prior.mln", "--json")
    )
    assert (code, err) == (0, "")
    [bias, rule] = json.loads(out)["rules"]
    assert bias["rule"] == "advisedBy(p1,p2)"
    assert rule == {
        "rule": "publication(t1,p1) ^ publication(t1,p2) => advisedBy(p1,p2)", "weight": 1.5,
    }  # fmt: skip


def test_a_preset_reaches_the_learner_and_what_it_is_built_on(folder, program):
    _, plain, _ = program(*boosted("mln-bc", "a.mln", "--json"))
    code, paper, err = program(*boosted("mln-bc", "b.mln", "--preset", "paper", "--json"))
    assert (code, err) == (0, "")
    (bias, *_), (first, *_) = json.loads(plain)["rules"], json.loads(paper)["rules"]
    assert first["weight"] == -1.8 != bias["weight"]
    learner = configured("sem", LEARNERS["sem"], ["max_leaves=3"], ["p"], 1, None, "paper")
    assert (learner.cautious, learner.base.negatives, learner.base.max_leaves) == (
        False, "paper", 3,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("steps= 7", 7),
        ("balance=none", None),
        ("balance=3", 3.0),
        ("line_search=yes", True),
        ("line_search=False", False),
        ("negatives=paper", "paper"),
        ("bodies=none", None),
        ("bodies=student, publication", ("student", "publication")),
        ("modes=publication(-,+),student(+)", ("publication(-,+)", "student(+)")),
    ],
)
def test_values_are_read_by_type(text, value):
    entry = LEARNERS["mln-bt"]
    [[(name, found)]] = [
        list(given.items()) for given in settings.parse_settings([text], {"mln-bt": entry}).values()
    ]
    assert name == text.partition("=")[0]
    assert found == value
    assert type(found) is type(value)


def test_all_bad_settings_are_named_at_once(folder, program):
    bad = ("steps=many", "line_search=maybe", "depth=3", "seed=1", "representation=trees", "loose")
    code, out, err = program(
        *boosted("mln-bt", "model.mln", *(part for text in bad for part in ("--set", text)))
    )
    assert (code, out) == (1, "")
    assert "6 problems found" in err
    assert "--set steps=many: expected a whole number, at least 0" in err
    assert "--set line_search=maybe: expected true or false" in err
    assert "--set depth: mln-bt has no such setting" in err
    assert "there are: steps, max_leaves, literals_per_node" in err
    assert "--set seed: give it with --seed" in err
    assert "--set representation: it is 'trees' in mln-bt" in err
    assert "--set loose: expected name=value" in err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            "--learner mln-xx --db few1.db --out m",
            "no learner 'mln-xx'\n  hint: there are: auto, boost",
        ),
        ("--learner mln-bt --db few1.db --out m", "--target: mln-bt needs the predicates"),
        ("--learner gslp --db few1.db --target student --out m", "learns rules for all predicates"),
        ("--learner gslp --db few1.db", "--out: name a file"),
        ("--learner gslp --out m", "--db: name one or more databases"),
        ("--learner gslp --db few1.db --seed 3 --out m", "--seed: gslp draws nothing at random"),
        ("--learner gslp --db few1.db --max-seconds -1 --out m", "max_seconds is -1.0"),
        ("--learner mbn --db few1.db --tables few --out m", "not both"),
        ("--learner mbn --tables nothing --out m", "nothing"),
        ("--learner rdn-b --db few1.db --target nobody --out m", "no such predicate 'nobody'"),
        (
            "--learner rdn-b --db few1.db --target student --set steps=-1 --out m",
            "at least 0",
        ),
        ("--learner msl --db few1.db --set strategy=depth --out m", "expected beam or shortest"),
        (
            "--learner gslp --db few1.db --set max_literals=1 --out m",
            "at least 2",
        ),
        (
            "--learner gslp --db few1.db --preset papers --out m",
            "gslp has no preset 'papers'\n  hint: there are: paper; did you mean 'paper'?",
        ),
        ("--learner boost --db few1.db --target student --preset paper --out m", "there are: none"),
    ],
)
def test_bad_commands_are_one_message(folder, program, options, message):
    code, out, err = program("learn", "--schema", "few.mln", *options.split())
    assert (code, out) == (1, "")
    assert message in err
    assert "Traceback" not in err
    assert not (folder / "m").exists()


def test_infer_takes_boosted_models_by_content(folder, program):
    for learner in ("mln-bt", "rdn-b"):
        program(*boosted(learner, "model.mln"))
        model = ml.BoostedModel.load(folder / "model.json")
        database = ml.read_db("area3.db", schema="schema.mln")
        expected = model.query(database).by_atom()
        (folder / "renamed").write_bytes((folder / "model.json").read_bytes())
        for name in ("model.mln", "model.json", "renamed"):
            code, out, _ = program(
                "infer", "--model", name, "--db", "area3.db", "--query", "advisedBy", "--json",
                "--out", "answers.csv",
            )  # fmt: skip
            found = json.loads(out)
            assert code == 0
            assert set(found) == {"answers", "components", "cpu_seconds"}
            assert {a["atom"]: a["probability"] for a in found["answers"]} == expected
            assert [part["method"] for part in found["components"]] == ["closed form"]
            assert len((folder / "answers.csv").read_text().splitlines()) == 1 + len(expected)


def test_changed_rules_are_the_network_that_they_are(folder, program):
    program(*boosted("mln-bc", "model.mln"))
    text = (folder / "model.mln").read_text()
    (folder / "model.mln").write_text(text + "9.0 student(x) ^ professor(y) => advisedBy(x,y)\n")
    (folder / "evidence.db").write_text("student(Anna)\nprofessor(Bob)\n")
    closed = ",".join(p.name for p in ml.read_mln("schema.mln").schema.predicates[3:])
    code, out, _ = program(
        "infer", "--model", "model.mln", "--db", "evidence.db", "--query", "advisedBy",
        "--closed", f"student,professor,{closed}", "--json",
    )  # fmt: skip
    assert code == 0
    found = {a["atom"]: a["probability"] for a in json.loads(out)["answers"]}
    assert found["advisedBy(Anna,Bob)"] > 0.9
    assert found["advisedBy(Bob,Anna)"] < 0.1


def test_joint_models_are_sampled(folder, program):
    program(
        "learn", "--learner", "mln-bc", "--schema", "schema.mln", "--db", "area1.db", "area2.db",
        "--target", "advisedBy,publication", "--set", "steps=2", "--out", "joint.mln",
    )  # fmt: skip
    model = ml.BoostedModel.load(folder / "joint.json")
    ask = ("infer", "--model", "joint.mln", "--db", "area3.db", "--query", "advisedBy",
           "--samples", "5", "--seed", "3", "--json")  # fmt: skip
    first, again = (json.loads(program(*ask)[1]) for _ in range(2))
    assert first["answers"] == again["answers"]
    assert model.is_joint
    methods = {part["method"] for part in first["components"]}
    assert methods <= {"closed form", "enumeration", "gibbs"}
    assert {a["method"] for a in first["answers"]} <= methods
    for answer in first["answers"]:
        assert (answer["standard_error"] > 0) == (answer["method"] == "gibbs")
    asked = model.query(ml.read_db("area3.db", schema="schema.mln"), "advisedBy")
    exact = {str(a.atom): a.probability for a in asked if a.method != "gibbs"}
    found = {a["atom"]: a["probability"] for a in first["answers"]}
    assert {atom: found[atom] for atom in exact} == pytest.approx(exact, abs=1e-12)
    assert all(a["atom"].startswith("advisedBy") for a in first["answers"])
    code, out, _ = program(
        "explain", "--model", "joint.mln", "--db", "area1.db",
        "--atom", next(iter(facts("area1.db", "advisedBy"))), "--json",
    )  # fmt: skip
    found = json.loads(out)
    assert code == 0
    assert found["log_odds"] == pytest.approx(sum(p["log_odds"] for p in found["contributions"]))


def facts(file, predicate):
    with open(file) as lines:
        return [line.strip() for line in lines if line.startswith(f"{predicate}(")]


def test_explain_takes_boosted_models(folder, program):
    program(*boosted("mln-bt", "model.mln"))
    [atom, *_] = facts("area1.db", "advisedBy")
    ask = ("explain", "--model", "model.mln", "--db", "area1.db", "--atom", atom)
    code, out, _ = program(*ask, "--json")
    found = json.loads(out)
    assert code == 0
    assert set(found) == {"against", "assumed", "atom", "contributions", "log_odds", "probability"}
    assert found["atom"] == atom
    total = sum(part["log_odds"] for part in found["contributions"])
    assert found["log_odds"] == pytest.approx(total)
    assert found["probability"] == pytest.approx(1 / (1 + math.exp(-total)))
    model = ml.BoostedModel.load(folder / "model.json")
    answers = model.query(ml.read_db("area1.db", schema="schema.mln")).by_atom()
    assert found["probability"] == pytest.approx(answers[atom])
    code, out, _ = program(*ask)
    assert code == 0
    assert f"{atom}: probability" in out


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("infer --model m.mln --db area3.db --query student", "no target 'student'"),
        ("infer --model m.mln --db area3.db --query advisedBy --method mcsat", "takes neither"),
        ("infer --model m.mln --db area3.db --query advisedBy --open ta", "takes neither"),
        ("explain --model m.mln --db area3.db --atom advisedBy(Zoe,Bob)", "Zoe"),
        ("weights --model m.json --db area3.db", "name an .mln file"),
        ("loglik --model m.json --db area3.db", "name an .mln file"),
        ("infer --model damaged.json --db area3.db --query advisedBy", "damaged"),
        ("infer --model other.json --db area3.db --query advisedBy", "no model: its format"),
    ],
)
def test_what_boosted_models_do_not_take(folder, program, command, message):
    program(*boosted("mln-bt", "m.mln", "--set", "steps=0"))
    (folder / "damaged.json").write_text('{"format": "mlnlearn-boosted-1"')
    (folder / "other.json").write_text('{"format": "something else"}')
    code, out, err = program(*command.split())
    assert (code, out) == (1, "")
    assert message in err
    assert "Traceback" not in err


def test_exact_likelihood(folder, program):
    rules = (folder / "few.mln").read_text() + "1.0 !professor(x) v !student(x)\n"
    (folder / "rules.mln").write_text(rules)
    code, out, _ = program(
        "weights", "--model", "rules.mln", "--db", "few1.db", "few2.db", "--method", "likelihood",
        "--sigma", "2", "--out", "learned.mln", "--json",
    )  # fmt: skip
    assert code == 0
    assert json.loads(out)["objective"] < 0
    code, out, _ = program("loglik", "--model", "learned.mln", "--db", "few3.db", "--json")
    found = json.loads(out)
    assert code == 0
    assert set(found) == {"loglik", "log_z"}
    learned = ml.MLN.read(folder / "learned.mln")
    database = ml.read_db("few3.db", schema=learned.schema)
    engine = ml.MemoryEngine([database])
    energy = sum(
        rule.weight * sum(ml.true_groundings(engine, rule.formula)) for rule in learned.rules
    )
    assert found["loglik"] == pytest.approx(energy - found["log_z"])
    code, out, _ = program("loglik", "--model", "learned.mln", "--db", "few3.db")
    assert code == 0
    assert f"{found['loglik']:,.6f}" in out


def test_lifted_inference_equals_exact(folder, program):
    text = "smokes(person)\nfriends(person,person)\n1.5 friends(x,y) ^ smokes(x) => smokes(y)\n"
    (folder / "people.mln").write_text(text)
    (folder / "people.db").write_text("smokes(Anna)\n!smokes(Bob)\n?smokes(Carl)\n")
    found = {}
    for method in ("lifted", "exact"):
        code, out, err = program(
            "infer", "--model", "people.mln", "--db", "people.db", "--query", "smokes",
            "--method", method, "--json",
        )  # fmt: skip
        assert (code, err) == (0, "")
        found[method] = {a["atom"]: a["probability"] for a in json.loads(out)["answers"]}
    assert found["lifted"] == pytest.approx(found["exact"])
    assert list(found["lifted"]) == ["smokes(Carl)"]


@pytest.mark.usefixtures("folder")
def test_a_boosted_model_is_asked_about_its_target_unless_told(program):
    program(*boosted("mln-bt", "m.mln", "--set", "steps=0"))
    code, out, err = program("infer", "--model", "m.mln", "--db", "area3.db")
    assert (code, err) == (0, "")
    assert "atoms of advisedBy" in out
