"""The machinery of the studies: options in, a page out."""

import pytest

from mlnlearn.evaluate.results import FoldResult, Results
from studies.common import Study, comparison_table, machine, markdown_table, run, show_progress

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
