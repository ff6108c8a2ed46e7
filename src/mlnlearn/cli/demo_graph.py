"""A knowledge graph of made-up families: who is whose uncle follows from who is whose parent."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from rich.console import Console

import mlnlearn as ml
from mlnlearn.cli.demo import DemoResult
from mlnlearn.files import write_files

if TYPE_CHECKING:
    from mlnlearn.model.paths.rules import PathRule

_FAMILIES, _GENERATIONS, _SEED = 12, 4, 1
_HIDDEN = 0.1
_BACK = "^-1"  # how the graph marks a link that is followed backwards
_GIVEN = ("parent of", "brother of", "married to")

Triple = tuple[str, str, str]


def graph(out: Console, kept: Path | None) -> DemoResult:
    """Make up families, hide a tenth of what follows, and rank what is hidden."""
    triples = families(np.random.default_rng(_SEED))
    split = _split(triples, np.random.default_rng(_SEED))
    if kept:
        parts = {"train": split[0], "valid": split[1], "test": split[2]}
        kept.mkdir(exist_ok=True)
        write_files({kept / f"{name}.tsv": _lines(rows) for name, rows in parts.items()})
    out.print(
        f"Made-up families: {len(triples):,} triples of {len({t[0] for t in triples}):,} persons. "
        f"Uncles and grandparents follow from parents, brothers and couples; {len(split[2]):,} "
        "of these triples are hidden."
    )
    data = ml.from_triples(*split)
    model = ml.Paths(max_length=2).fit(data).model
    ranking = model.rank(data.test, filtered=data.all)
    ranks = _popularity_ranks(split[0], split[2], set(triples))
    scores = {
        "mean reciprocal rank": _pair(ranking.mrr, float(np.mean(1 / ranks))),
        "the answer is the first": _pair(ranking.hits(1), float(np.mean(ranks <= 1))),
        "the answer is among the first ten": _pair(ranking.hits(10), float(np.mean(ranks <= 10))),
    }
    found = [
        rule
        for rule in model.rules()
        if not rule.constants and rule.support > 1 and rule.relation not in _GIVEN
    ]
    found.sort(key=lambda rule: -rule.support * rule.confidence)
    persons = len(data.train.entities)
    rules = [_shown(rule, persons) for rule in found]
    return DemoResult(
        [rule.sentence for rule in rules],
        len(rules),
        f"On {len(split[2]):,} hidden triples, each asked for its head and its tail",
        scores,
        ml.rows_report("kinship", rules[:100], None, title="Who is whose uncle?"),
    )


def families(rng: np.random.Generator) -> list[Triple]:
    """Make up couples with children who marry into other families, and what follows from that.

    Examples
    --------
    >>> made = families(np.random.default_rng(0))
    >>> sorted({relation for _, relation, _ in made})
    ['brother of', 'grandparent of', 'married to', 'parent of', 'uncle of']
    """
    triples: list[Triple] = []
    couples = [(f"m{k}", f"w{k}") for k in range(_FAMILIES)]
    born = _FAMILIES
    for _ in range(_GENERATIONS):
        sons: list[str] = []
        daughters: list[str] = []
        for couple in couples:
            triples += [(couple[0], "married to", couple[1]), (couple[1], "married to", couple[0])]
            children = []
            for _ in range(int(rng.integers(1, 5))):
                is_son = bool(rng.integers(2))
                children.append(f"{'mw'[not is_son]}{born}")
                (sons if is_son else daughters).append(children[-1])
                born += 1
            triples += [(parent, "parent of", child) for parent in couple for child in children]
            brothers = [child for child in children if child.startswith("m")]
            triples += [(b, "brother of", c) for b in brothers for c in children if b != c]
        couples = list(zip(rng.permutation(sons).tolist(), daughters, strict=False))
    joined = {"grandparent of": ("parent of", "parent of"), "uncle of": ("brother of", "parent of")}
    return triples + [
        (head, relation, tail)
        for relation, (first, second) in joined.items()
        for head, tail in sorted(_joined(triples, first, second))
    ]


def _joined(triples: list[Triple], first: str, second: str) -> set[tuple[str, str]]:
    onward: dict[str, list[str]] = {}
    for head, relation, tail in triples:
        if relation == second:
            onward.setdefault(head, []).append(tail)
    return {(h, t) for h, r, m in triples if r == first for t in onward.get(m, ()) if h != t}


def _split(
    triples: list[Triple], rng: np.random.Generator
) -> tuple[list[Triple], list[Triple], list[Triple]]:
    implied = [triple for triple in triples if triple[1] not in _GIVEN]
    hidden = rng.permutation(len(implied))[: round(_HIDDEN * len(implied))].tolist()
    test = [implied[k] for k in hidden[::2]]
    valid = [implied[k] for k in hidden[1::2]]
    out = {*test, *valid}
    return [triple for triple in triples if triple not in out], valid, test


def _popularity_ranks(
    train: list[Triple], test: list[Triple], known: set[Triple]
) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Rank candidates by how often the relation has them: what one knows who looks at no link."""
    persons = sorted({name for head, _, tail in train for name in (head, tail)})
    ranks = []
    for side in (0, 2):
        often = Counter((relation, t[side]) for t in train for relation in [t[1]])
        for triple in test:
            mine = often[triple[1], triple[side]]
            others = [
                often[triple[1], name]
                for name in persons
                if (name, *triple[1:]) not in known or side == 2
                if (*triple[:2], name) not in known or side == 0
            ]
            better = sum(other > mine for other in others)
            ranks.append(1 + better + sum(other == mine for other in others) / 2)
    return np.array(ranks)


def _pair(model: float, baseline: float) -> dict[str, str]:
    return {"rules": f"{model:.3f}", "most frequent": f"{baseline:.3f}"}


def _shown(rule: PathRule, persons: int) -> ml.ShownRule:
    base = rule.facts / persons**2
    names = ["X", *"ABCDEFG"[: len(rule.path) - 1], "Y"]
    steps = [
        f"{end} is {link.removesuffix(_BACK)} {start}"
        if link.endswith(_BACK)
        else f"{start} is {link} {end}"
        for link, (start, end) in zip(rule.path, pairwise(names), strict=True)
    ]
    text = (
        f"if {_listed(steps)}: X is {rule.relation} Y in {rule.confidence:.1%} "
        f"({base:.2%} of all; {rule.body:,} pairs)"
    )
    weight = rule.weight_tail or 0.0
    return ml.ShownRule(str(rule), text, rule.confidence, base, rule.body, weight)


def _listed(parts: list[str]) -> str:
    return " and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)


def _lines(rows: Iterable[Triple]) -> Iterable[str]:
    return ("\t".join(row) + "\n" for row in rows)
