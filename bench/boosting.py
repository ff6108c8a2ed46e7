"""Time boosting on the benchmark data, beside BoostSRL, and on generated data of growing size.

Run as ``python bench/boosting.py [uwcse] [cora] [scale]``; by default all. The data folder comes
from ``MLNLEARN_DATA``. Where ``MLNLEARN_BOOSTSRL_JAR`` names BoostSRL's jar (and there is ``java``)
it is run on the same data in the same way; otherwise its figures are left out. Times are CPU
seconds of training; our kernels are compiled (and cached on disk) before.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from mlnlearn.data.catalog import benchmark
from mlnlearn.data.database import Database
from mlnlearn.data.examples import Examples, positives_and_negatives
from mlnlearn.data.synthetic import university
from mlnlearn.structure.boosting import BoostedMLN, BoostedRDN

JAR = "MLNLEARN_BOOSTSRL_JAR"
Learner = BoostedMLN | BoostedRDN

MODES: dict[str, tuple[str, ...]] = {
    "rdn-b": (),
    "mln-bt": ("-mln",),
    "mln-bc": ("-mln", "-mlnClause"),
}


def learner(mode: str, target: str | tuple[str, ...], **settings: object) -> Learner:
    """Return the learner of a mode."""
    if mode == "rdn-b":
        return BoostedRDN(target=target, **settings)  # type: ignore[arg-type]
    representation = "trees" if mode == "mln-bt" else "clauses"
    return BoostedMLN(target=target, representation=representation, **settings)  # type: ignore[arg-type]


def seconds(
    chosen: Learner, databases: Sequence[Database], examples: Examples | None = None
) -> float:
    """Return the CPU seconds of a fit."""
    start = time.process_time()
    chosen.fit(databases, examples)
    return time.process_time() - start


def compare(name: str, databases: Sequence[Database], target: str, modes: Sequence[str]) -> None:
    """Time our learners, with both ways of sampling, and BoostSRL."""
    for mode in modes:
        learner(mode, target, steps=2).fit(databases[:1])
        ours = {
            negatives: seconds(learner(mode, target, negatives=negatives), databases)
            for negatives in ("calibrated", "paper")
        }
        theirs = boostsrl(databases, target, MODES[mode])
        line = f"{name:18} {mode:7}"
        line += "".join(f"  {negatives} {taken:6.2f} s" for negatives, taken in ours.items())
        if theirs is not None:
            line += f"  BoostSRL {theirs:7.2f} s ({theirs / max(ours.values()):.0f} times ours)"
        print(line, flush=True)


def boostsrl(databases: Sequence[Database], target: str, options: Sequence[str]) -> float | None:
    """Return the CPU seconds that BoostSRL trains 20 trees, or None where it is not there."""
    jar = os.environ.get(JAR, "")
    if not jar:
        return None
    with tempfile.TemporaryDirectory() as folder:
        write_prolog(Path(folder), databases, target)
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(
            ["java", "-jar", jar, "-l", "-train", folder, "-target", target.lower(),
             "-trees", "20", *options],
            check=True,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )  # fmt: skip
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def write_prolog(folder: Path, databases: Sequence[Database], target: str) -> None:
    """Write the databases as BoostSRL reads them: facts, examples and modes in lower case."""
    name = folder.name

    def line(predicate: str, row: Sequence[str]) -> str:
        return f"{predicate.lower()}({','.join(_lower(item) for item in row)}).\n"

    schema = databases[0].schema
    others = [predicate for predicate in schema.predicates if predicate.name != target]
    facts = [line(p.name, row) for d in databases for p in others for row in d.rows(p.name)]
    (folder / f"{name}_facts.txt").write_text("".join(facts))
    examples = positives_and_negatives(databases, target)
    for kind, wanted in (("pos", True), ("neg", False)):
        part = examples.take(examples.labels == wanted)
        rows = [line(target, row) for row in part.rows(databases)]
        (folder / f"{name}_{kind}.txt").write_text("".join(rows))
    modes = []
    for predicate in schema.predicates:
        for bound in range(predicate.arity):
            signs = ("+" if place == bound else "-" for place in range(predicate.arity))
            places = (s + kind for s, kind in zip(signs, predicate.types, strict=True))
            modes.append(f"mode: {predicate.name.lower()}({','.join(places)}).\n")
    (folder / f"{name}_bk.txt").write_text(
        "setParam: maxTreeDepth=3.\nsetParam: nodeSize=2.\nsetParam: numOfClauses=8.\n"
        + "usePrologVariables: true.\n"
        + "".join(modes)
    )


def _lower(constant: str) -> str:
    plain = "".join(character if character.isalnum() else "_" for character in constant.lower())
    return plain if plain[:1].isalpha() else f"c{plain}"


def joint_cora(databases: Sequence[Database]) -> None:
    """Time joint models of the four equivalences."""
    targets = ("sameBib", "sameVenue", "sameTitle", "sameAuthor")
    for mode in ("mln-bt", "mln-bc"):
        taken = seconds(learner(mode, targets, fraction=0.25), databases)
        print(f"{'cora, joint':18} {mode:7} calibrated {taken:6.2f} s", flush=True)


def scale() -> None:
    """Time ten steps on universities with 10^4, 10^5 and 10^6 facts."""
    for students in (1_100, 11_000, 110_000):
        databases = university(students, areas=1, rng=0).databases
        for mode in MODES:
            taken = seconds(learner(mode, "advisedBy", steps=10), databases)
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
            print(
                f"university {databases[0].true_atoms:>9,} facts  {mode:7} {taken:7.2f} s"
                f"  {taken / 10:6.2f} s a step  peak {peak:5,.0f} MB",
                flush=True,
            )


def main() -> None:
    """Run the parts named on the command line, or all."""
    parts = sys.argv[1:] or ["uwcse", "cora", "scale"]
    if "uwcse" in parts:
        folds = benchmark("uwcse", schema="schema_khot.mln")
        compare("uwcse advisedBy", folds[1:], "advisedBy", list(MODES))
    if "cora" in parts:
        folds = benchmark("cora")
        compare("cora sameTitle", folds[1:], "sameTitle", ["rdn-b"])
        joint_cora(folds[1:])
    if "scale" in parts:
        scale()


if __name__ == "__main__":
    main()
