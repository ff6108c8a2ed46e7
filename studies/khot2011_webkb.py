"""Table V of Khot et al. (2011): two targets on WebKB. ``python -m studies.khot2011_webkb``."""

from __future__ import annotations

from collections.abc import Iterator

from studies.common import Options, Study, run
from studies.khot2011 import SETTINGS, Question, evaluate
from studies.khot2011_pages import ABOUT, SHIFTED, published_of, question_sections

DATA = "webkb", "schema_nosame.mln"
PUBLISHED = {
    target: published_of(
        "V",
        {kind: (f"AUC-PR, {kind}, {target}", f"CLL, {kind}, {target}") for kind in ("2x", "all")},
    )
    for target in ("courseTA", "courseProf")
}
# Fold 1 alone.
BOOSTSRL = {
    "courseTA": {"MLN-BT": ("0.004 (fold 1)", "-0.23"), "RDN-B": ("0.004 (fold 1)", "-0.29")},
    "courseProf": {
        "MLN-BT": ("0.025 (fold 1)", "-0.25"),
        "MLN-BC": ("0.047 (fold 1)", "-0.24"),
        "RDN-B": ("0.048 (fold 1)", "-0.33"),
    },
}
STUDY = Study(
    name="khot2011_webkb",
    title="Boosting on WebKB: courseTA, courseProf",
    about=(
        "Table V of Khot, Natarajan, Kersting and Shavlik (2011): four universities, without "
        f"`samePerson`. {ABOUT}"
    ),
    settings=SETTINGS,
    minutes=1,
    of_papers=True,
)


NOTES = (
    "A leaf whose path holds `faculty(p) ^ courseTA(c,x) ^ project(y,p)` counts once for every "
    "assistant and project; a course of many assistants with a professor of many projects may have "
    "several times the groundings of any training pair, so that its log-odds lie far beyond "
    "theirs. That is what counting semantics says; dependency networks do not count, and have "
    "nothing of it. The CLL by fold of courseProf is where to look for it.",
    "BoostSRL's figures are those of one fold, and it is not recorded which university that was: "
    "fold 1 here is Cornell, in the numbering of the data's source it is Texas, here fold 2.",
)


def sections(options: Options) -> Iterator[str]:
    """Compute the page."""
    for target, published in PUBLISHED.items():
        yield f"## {target}"
        found = evaluate(Question(*DATA, target), options)
        yield from question_sections(found, published, BOOSTSRL[target])
    yield SHIFTED
    yield from NOTES


if __name__ == "__main__":
    run(STUDY, sections)
