"""Where our figure stands for each published one, or why there is none."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from studies.page_tables import Place
from studies.published import PublishedTable
from studies.sample_systems import NOT_JOINT, TOO_LONG

BOOSTED = ("MLN-BT", "MLN-BC", "RDN-B")
_NEGATIVES = {"2x": "twice the negatives", "all": "all negatives"}
_CPU = "learning, CPU s"


def place_of(table: PublishedTable, row: str, column: str) -> Place | str:
    """Return the place of our figure, or the reason why there is none."""
    return _FINDERS[table.paper, table.number](row, column)


def _boosted(page: str, headings: tuple[str, ...], row: str, metric: str) -> Place:
    column = "CLL, shifted" if metric == "CLL" and "Twice" in headings[-1] else metric
    return Place(page, headings, (row,), column)


def _systems(heading: str, row: str, column: str, unit: str = "") -> Place:
    return Place("khot2011_systems", (heading,), (row,), column, unit)


def _khot_uwcse(row: str, column: str) -> Place | str:
    metric, _, negatives = column.partition(", ")
    if row in BOOSTED:
        if metric == "time":
            return Place("khot2011_uwcse", ("Training",), (row,), "CPU s", " s")
        return _boosted("khot2011_uwcse", (negatives.capitalize(),), row, metric)
    heading = "Table II: UW-CSE, advisedBy"
    if metric == "time":
        return _systems(heading, f"advisedBy, all negatives, {row}", _CPU, " s")
    return _systems(heading, f"advisedBy, {negatives}, {row}", metric)


def _khot_cora(row: str, column: str) -> Place | str:
    metric, _, target = column.partition(", ")
    if row in BOOSTED:
        heading = "Pairs listed as same or different"
        return Place("khot2011_cora", (heading,), (f"{target}, {row}",), metric)
    if row == "Alch-G":
        note = "one fold, hand-written rules in the spirit of the paper's"
        return Place("cora_resolution", ("With transitivity",), (target,), metric, note=note)
    heading = "Table III: Cora, four equivalences together"
    note = "each target given the other three, an easier question"
    return replace(_systems(heading, f"{target}, all negatives, {row}", metric), note=note)


def _khot_imdb(row: str, column: str) -> Place | str:
    metric, _, target = column.partition(", ")
    if row in BOOSTED:
        own = "femaleGender" if target == "gender" else target
        return _boosted("khot2011_imdb", (own, "All negatives"), row, metric)
    return _systems("Table IV: IMDB", f"{target}, all negatives, {row}", metric)


def _khot_webkb(row: str, column: str) -> Place | str:
    metric, test_set, target = column.split(", ")
    negatives = _NEGATIVES[test_set]
    if row in BOOSTED:
        return _boosted("khot2011_webkb", (target, negatives.capitalize()), row, metric)
    return _systems("Table V: WebKB", f"{target}, {negatives}, {row}", metric)


def _dinh_means(row: str, column: str) -> Place | str:
    metric, _, learner = column.partition(", ")
    is_folded = row in ("imdb", "uwcse", "cora")
    cells = {"hours": _CPU}.get(metric, f"{metric}, all unknown")
    unit = " s" if metric == "hours" else ""
    if learner == "GSLP" and is_folded:
        heading = "Table 3: means over predicates and folds"
        note = "Cora: two folds" if row == "cora" else ""
        return Place("gslp_tables", (heading,), (f"{row}: GSLP",), cells, unit, note)
    if is_folded:
        note = "Cora: two folds" if row == "cora" else ""
        own = f"{row}: {learner}"
        return Place("baselines", ("All predicates",), (own,), cells, unit, note)
    note = ""
    if learner == "GSLP" and row in TOO_LONG:
        learner, note = NOT_JOINT, "GSLP without its condition on atoms predicted together"
    own = f"{row}: {learner}"
    return Place("sample_systems", ("A third of the cells",), (own,), cells, unit, note)


def _dinh_single(row: str, column: str) -> Place | str:
    metric, _, learner = column.partition(", ")
    cells = f"{metric}, all unknown"
    if learner == "GSLP":
        heading = "Table 4: single predicates, learner GSLP"
        return Place("gslp_tables", (heading,), (row,), cells)
    return Place("baselines", ("Rules for one predicate",), (f"{row}: DMSP",), cells)


def _khosravi(column: str) -> Callable[[str, str], Place | str]:
    def find(row: str, learner: str) -> Place | str:
        own = {"LAJ+DT": "LAJ+DT, compact", "MBN": "MBN, best"}.get(learner)
        unit = " s" if column == "seconds" else ""
        if own is None:
            other = "parameters" if column == "leaves" else column
            return Place("laj_systems", (row.capitalize(),), (learner,), other, unit)
        wanted = column
        if column == "leaves" and learner == "MBN":
            wanted = "table_rows"
        return Place("laj_tables", (row.capitalize(),), (own,), wanted, unit)

    return find


def _disjunctive(row: str, column: str) -> Place | str:
    if row in ("SEM", "H-SEM") and column == "40%, 3 values":
        return Place(
            "structural_em_recursion",
            ("Table 1, 40%, 3 values: CLL",),
            (f"data sets of the page, {row}",),
            "chosen",
            note="40%, 3 values: recursive rules where the training set prefers them",
        )
    return Place("structural_em", ("Table 1: disjunctive data",), (row,), f"{column}: complete")


def _cancer(row: str, column: str) -> Place | str:
    metric, _, share = column.partition(", ")
    own = "complete: CLL" if metric == "CLL" else metric
    return Place("structural_em", ("Table 2: cancer data",), (share, row), own)


def _likelihoods(row: str, column: str) -> Place | str:
    data, _, fold = row.partition(" ")
    return Place("lsl_tables", (data,), (f"fold {fold}",), f"{column}, ours")


def _tallies(kind: str) -> Callable[[str, str], Place | str]:
    def find(row: str, column: str) -> Place | str:
        metric, _, against = column.partition(", against ")
        heading = "Predictions (tables 3 and 4)"
        own = f"{row}, LSL against {kind}{against}"
        return Place("lsl_tables", (heading,), (own,), f"{metric}, ours")

    return find


_FINDERS: Mapping[tuple[str, str], Callable[[str, str], Place | str]] = {
    ("khot2011", "II"): _khot_uwcse,
    ("khot2011", "III"): _khot_cora,
    ("khot2011", "IV"): _khot_imdb,
    ("khot2011", "V"): _khot_webkb,
    ("dinh2011", "3"): _dinh_means,
    ("dinh2011", "4"): _dinh_single,
    ("khosravi2012", "1"): _khosravi("leaves"),
    ("khosravi2012", "2"): _khosravi("seconds"),
    ("khosravi2012", "3"): _khosravi("accuracy"),
    ("khosravi2012", "4"): _khosravi("CLL"),
    ("khot2012", "1"): _disjunctive,
    ("khot2012", "2"): _cancer,
    ("vanhaaren2015", "1 and 2"): _likelihoods,
    ("vanhaaren2015", "3"): _tallies("tractable "),
    ("vanhaaren2015", "4"): _tallies(""),
}
