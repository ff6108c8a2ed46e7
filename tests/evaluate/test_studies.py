"""The machinery of the studies: options in, a page out."""

import json
from dataclasses import dataclass, replace
from math import inf
from pathlib import Path

import numpy as np
import pytest

from mlnlearn.evaluate.metrics import scores
from mlnlearn.evaluate.results import FoldResult, Results
from studies.__main__ import all_studies, listing, of_papers, run_studies
from studies.best import bold_beside
from studies.common import (
    Options,
    Study,
    bold_best,
    comparison_table,
    machine,
    markdown_table,
    page,
    run,
    run_tasks,
    show_progress,
)
from studies.curves import draw_curves
from studies.khot2011 import scores_of
from studies.papers import made_table, pages_read
from studies.sources import HOMES, code_digest, sources_of

STUDY = Study("toy_table1", "Toy: table 1", "Ours and theirs.", {"trees": 20, "depth": "2|3"}, 3)


def test_a_page_is_written(tmp_path):
    seen = []

    def sections(options):
        seen.append((options.seeds, options.jobs))
        yield "## Table"
        yield markdown_table(["a", "b"], [["x", 1.5]])

    path = run(STUDY, sections, ["--out", str(tmp_path / "new"), "--jobs", "2"])
    assert path == tmp_path / "new" / "toy_table1.md"
    text = path.read_text()
    assert seen == [(3, 2)]
    assert text.startswith("# Toy: table 1\n\nOurs and theirs.\n\n## Table\n\n| a | b |\n")
    for line in (
        "| x | 1.5 |",
        "- Seeds: 0, 1, 2",
        "- Processes: 2",
        f"- Machine: {machine()}",
        f"- Code: {code_digest(Path(__file__))}",
        "- Again: `python -m studies.toy_table1 --seeds 3 --jobs 2`",
        "| trees | `20` |",
        "| depth | `2\\|3` |",
    ):
        assert line in text.splitlines()


def test_a_study_that_fails_writes_nothing(tmp_path):
    def sections(options):
        yield "## Table"
        raise RuntimeError("no data")

    with pytest.raises(RuntimeError, match="no data"):
        run(STUDY, sections, ["--out", str(tmp_path)])
    assert not list(tmp_path.iterdir())


def test_ours_beside_the_published():
    folds = tuple(
        FoldResult(n, "", 0, "p", {"auc_pr": value}, 1.0, 1.0, 1.0, 1, 1)
        for n, value in enumerate((0.5, 0.7))
    )
    table = comparison_table(
        [Results("BT", ("p",), folds)],
        {"auc_pr": "AUC-PR"},
        {"BT": {"auc_pr": "0.94 ± 0.06"}, "LHL": {"auc_pr": "0.42 ± 0.10"}},
    )
    assert table.splitlines() == [
        "| learner | AUC-PR, ours | AUC-PR, published |",
        "|---|---:|---:|",
        "| BT | 0.600 ± 0.141 | 0.94 ± 0.06 |",
        "| LHL | – | 0.42 ± 0.10 |",
    ]


def test_ragged_tables_are_refused():
    with pytest.raises(ValueError, match="a row of 1 cells under 2 headers"):
        markdown_table(["a", "b"], [["x"]])


def test_progress_goes_to_the_terminal(capsys):
    show_progress("UW-CSE")(2, 5)
    assert capsys.readouterr().err == "UW-CSE: 2 of 5\n"


@dataclass(frozen=True)
class Square:
    number: int
    log: str


def square(task):
    with Path(task.log).open("a") as log:
        log.write(f"{task.number}\n")
    if task.number < 0:
        raise KeyboardInterrupt
    return {"square": task.number**2}


@pytest.mark.parametrize("jobs", [1, 2])
def test_an_interrupted_study_goes_on_from_its_cache(tmp_path, jobs):
    log = tmp_path / "log"
    options = Options(seeds=1, jobs=jobs, cache=tmp_path / "cache")
    first = [Square(number, str(log)) for number in (2, 3)]
    assert run_tasks(square, first, options, "squares") == [{"square": 4}, {"square": 9}]
    again = run_tasks(square, [*first, Square(5, str(log))], options, "squares")
    assert again == [{"square": 4}, {"square": 9}, {"square": 25}]
    assert sorted(log.read_text().split()) == ["2", "3", "5"]


def test_what_other_code_left_is_done_again_unless_it_is_trusted(tmp_path, monkeypatch, capsys):
    log = tmp_path / "log"
    tasks, options = [Square(2, str(log))], Options(seeds=1, cache=tmp_path / "cache")
    run_tasks(square, tasks, options, "squares")
    monkeypatch.setattr("studies.common.code_digest", lambda _: "changed")
    run_tasks(square, tasks, replace(options, trust=True), "squares")
    assert log.read_text().split() == ["2"]
    assert "1 tasks done before by another version of the code" in page(
        STUDY, options, [], (0, 0), "0123"
    )
    assert "another version" not in capsys.readouterr().err
    run_tasks(square, tasks, options, "squares")
    assert "squares: 1 results are of another version of the code" in capsys.readouterr().err
    run_tasks(square, tasks, options, "squares")
    assert log.read_text().split() == ["2", "2"]


@dataclass(frozen=True)
class CodedSquare(Square):
    code: str


def test_a_task_may_say_itself_which_code_it_rests_on(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("studies.common._HOW", [])
    log, options = tmp_path / "log", Options(seeds=1, cache=tmp_path / "cache")
    run_tasks(square, [CodedSquare(2, str(log), "own")], options, "squares")
    monkeypatch.setattr("studies.common.code_digest", lambda _: "changed")
    run_tasks(square, [CodedSquare(2, str(log), "own")], options, "squares")
    assert log.read_text().split() == ["2"]
    assert "1 tasks done before," in page(STUDY, options, [], (0, 0), "0123")
    run_tasks(square, [CodedSquare(2, str(log), "other")], options, "squares")
    assert log.read_text().split() == ["2", "2"]
    assert "another version" not in capsys.readouterr().err


def test_a_page_from_a_cache_has_the_time_that_its_tasks_took(tmp_path, monkeypatch):
    monkeypatch.setattr("studies.common._HOW", [])
    options = Options(seeds=1, cache=tmp_path / "cache")
    tasks = [Square(2, str(tmp_path / "log")), Square(3, str(tmp_path / "log"))]
    run_tasks(square, tasks, options, "squares")
    for path in options.cache.iterdir():
        kept = json.loads(path.read_text()) | {"seconds": 600.0}
        path.write_text(json.dumps(kept))
    monkeypatch.setattr("studies.common._HOW", [])
    run_tasks(square, tasks, options, "squares")
    text = page(STUDY, options, [], (0, 0), "0123")
    assert "2 tasks done before, 1,200 CPU s for 2 of these tasks when they were done" in text


def test_the_spread_is_no_part_of_the_figure_that_is_bold():
    rows = bold_best([["ours", "0.50 ± 0.9"], ["published", "0.61±0.01"]], [1], lambda label: "")
    assert [row[1] for row in rows] == ["0.50 ± 0.9", "**0.61±0.01**"]


def test_what_reads_the_pages_of_others_comes_last():
    kinds = {"c": Study("c", "", "", minutes=0.1, of_papers=True, is_last=True)}
    kinds |= {name: Study(name, "", "", minutes=9.0, of_papers=name != "b") for name in "abd"}
    assert of_papers(kinds) == ["a", "d", "c"]


def test_without_a_cache_everything_is_done_again(tmp_path):
    log = tmp_path / "log"
    for _ in range(2):
        run_tasks(square, [Square(2, str(log))], Options(seeds=1), "squares")
    assert log.read_text().split() == ["2", "2"]


def test_an_interrupt_ends_with_its_own_code_and_no_page(tmp_path, capsys):
    def sections(options):
        tasks = [Square(2, str(tmp_path / "log")), Square(-1, str(tmp_path / "log"))]
        run_tasks(square, tasks, options, "squares")
        yield "never"

    arguments = ["--out", str(tmp_path / "out"), "--cache", str(tmp_path / "cache")]
    with pytest.raises(SystemExit, match="130"):
        run(STUDY, sections, arguments)
    assert f"finished tasks: kept in {tmp_path / 'cache'}" in capsys.readouterr().err
    assert len(list((tmp_path / "cache").iterdir())) == 1
    assert not (tmp_path / "out").exists()


def test_shifted_scores_are_those_of_a_world_with_two_negatives_to_a_positive():
    rng = np.random.default_rng(0)
    labels = np.arange(1000) < 10
    log_odds = rng.normal(np.where(labels, -2.0, -6.0))
    shift = np.log(990 / 20)
    found = scores_of(labels, log_odds, shift, [1, 2])
    odds = np.exp(log_odds) * 990 / 20
    chances = odds / (1 + odds)
    weights = np.where(labels, 1.0, 20 / 990)
    expected = scores(labels, chances, weights, metrics=["cll"])["cll"]
    assert found["2x shifted"]["cll"] == pytest.approx(expected, abs=0.05)
    assert found["2x"]["cll"] < found["2x shifted"]["cll"]
    assert found["2x"]["auc_pr"] == found["2x shifted"]["auc_pr"]


def test_studies_are_found_and_those_of_the_papers_told_from_others():
    found = all_studies()
    assert all(study.name == name for name, study in found.items())
    assert {*pages_read(), "papers"} <= set(of_papers(found))
    assert of_papers(found)[-1] == "papers"
    toys = {
        name: Study(name, name, "", minutes=minutes, of_papers=name != "who knows")
        for name, minutes in (("short", 5.0), ("middle", 30.0), ("who knows", inf))
    }
    lines = listing(toys).splitlines()
    assert [line.split()[0] for line in lines if " by name " in line] == ["who"]
    assert lines[-1] == "2 of 3 are behind the papers' tables: 35 min."


def test_a_page_of_other_code_is_told_from_one_of_this_code(tmp_path):
    lines = [
        "- Time: 120 s, of which 60 s processor time in the main process; 3 tasks done now",
        "- Machine: 2 cores; Python 3.11.7, mlnlearn 0.2.0, numpy 2.4.6; 2026-11-18",
    ]
    this = code_digest(HOMES["studies"] / "baselines.py")
    (tmp_path / "baselines.md").write_text("\n".join([*lines, f"- Code: {this}"]))
    (tmp_path / "gslp_tables.md").write_text("\n".join([*lines, "- Code: 0123"]))
    lines[0] = lines[0].replace("done now", "done before by another version of the code")
    (tmp_path / "lsl_tables.md").write_text("\n".join(lines))
    text = made_table(tmp_path)
    assert "took 3 CPU minutes, and 6 by the clock" in text
    assert "be it a word of theirs: gslp_tables, lsl_tables. With" in text
    assert "from a cache of another version: lsl_tables." in text
    assert "| [baselines](baselines.md) | 60 | 120 | this version | 0 |" in text
    assert "| [lsl_tables](lsl_tables.md) | 60 | 120 | another version | 3 |" in text
    for name in ("gslp_tables", "lsl_tables"):
        (tmp_path / f"{name}.md").unlink()
    assert "all by one version of the code." in made_table(tmp_path)


@pytest.fixture
def toy_studies(tmp_path, monkeypatch):
    """Three studies that write what they were told; the second fails at first."""
    package = tmp_path / "studies"
    package.mkdir()
    (package / "__init__.py").touch()
    for name in ("one", "two", "three"):
        (package / f"{name}.py").write_text(
            "import pathlib, sys\n"
            "out, cache = sys.argv[4], sys.argv[6]\n"
            f"mark = pathlib.Path(out) / '{name}.txt'\n"
            "mark.write_text(mark.read_text() + 'x' if mark.exists() else 'x')\n"
            f"sys.exit({name == 'two'} and mark.read_text() == 'x')\n"
        )
    monkeypatch.setattr("studies.__main__.HERE", package)
    (tmp_path / "out").mkdir()
    return tmp_path


def test_a_failure_stops_no_other_study_and_a_second_run_goes_on(toy_studies):
    names, out, cache = ["one", "two", "three"], toy_studies / "out", toy_studies / "cache"
    assert run_studies(names, 1, out, cache) == ["two"]
    assert run_studies(names, 1, out, cache) == []
    runs = {name: (out / f"{name}.txt").read_text() for name in names}
    assert runs == {"one": "x", "two": "xx", "three": "x"}


def test_a_picture_makes_its_folder(tmp_path):
    path = tmp_path / "new" / "curve.svg"
    draw_curves(path, "Toy", "steps", "CLL", {"ours": [-2.0, -1.0, -0.5]})
    assert path.read_text().startswith("<svg")


def test_results_rest_on_what_is_imported_and_on_nothing_else():
    names = {str(path) for path in sources_of(HOMES["studies"] / "lsl_data.py")}
    assert any(name.endswith("structure/lifted_search/splits.py") for name in names)
    assert any(name.endswith("studies/published.py") for name in names)
    assert not any("relational_boosting" in name or "/cli/" in name for name in names)
    names = {str(path) for path in sources_of(HOMES["studies"] / "uwcse_all_learners.py")}
    assert any("/cli/" in name for name in names)  # it starts the command line


def test_a_changed_import_changes_the_digest(monkeypatch, tmp_path):
    (tmp_path / "one.py").write_text("def f():\n    from studies.two import g\n    return g()\n")
    (tmp_path / "two.py").write_text("def g():\n    return 1\n")
    monkeypatch.setitem(HOMES, "studies", tmp_path)
    before = code_digest.__wrapped__(tmp_path / "one.py")
    (tmp_path / "three.py").write_text("unrelated = 1\n")
    assert code_digest.__wrapped__(tmp_path / "one.py") == before
    (tmp_path / "two.py").write_text("def g():\n    return 2\n")
    assert code_digest.__wrapped__(tmp_path / "one.py") != before


def test_the_best_of_a_row_is_bold_whoever_has_it():
    rows = [
        ["fold 1", -306, "-282.1", "–"],
        ["fold 2", -309, "-315.3", "-400"],
        ["3", "–", "1", ""],
    ]
    assert bold_beside(rows, [(1, 2, 3)]) == [
        ["fold 1", -306, "**-282.1**", "–"],
        ["fold 2", "**-309**", "-315.3", "-400"],
        ["3", "–", "1", ""],
    ]
