"""Damaged and random texts: they read, or raise an error of this library; nothing else."""

import warnings

import numpy as np
import pytest

from mlnlearn.data.load.alchemy import parse_db
from mlnlearn.errors import MlnError
from mlnlearn.syntax import parse_mln, write_mln

MLN = """\
person = {Anna, Bob, "Carl Q"}  // people ...
num = {1,...,5}
smokes(person)
pos(person,place!)
Rain
person motherOf(person)
project(project,person)

1.5 smokes(x) => EXIST y pos(y,+p) ^ x != y v
   !Rain
-.5. [smokes(motherOf(x)) <=> motherOf(x) = Anna]
/* a block ... */ FORALL x,y project(a,x) ^ (x = y v *smokes(y)).
"""
DB = """\
smokes(Anna)
!smokes(Bob) // no
?Rain
pos(Anna,Paris)
pos("Carl Q", "New \\"York\\"")
Bob = motherOf(Anna)
/* gone
   ... */ project(P1, Bob)
project(-2.5,Anna)
"""
WORDS = """
smokes pos Rain motherOf project person num place x y Anna Bob P1 v EXIST forall "q r" " 1 -2.5 .5
1e9 ( ) { } [ ] , . ... ! != = < > <= >= => <=> ^ + * ? // /* */ #include @ \\ ' - _ é ٣
"""
TOKENS = [*WORDS.split(), "\ufeff", "\x00", "\u2028", "\t", "\r", "\n", "\n", "\n", " ", " "]
SCHEMA = parse_mln(MLN).schema
ROUNDS = 2_500


def damaged(text, rng):
    """Change a text in a few places: drop, double, swap or insert pieces."""
    for _ in range(rng.integers(1, 4)):
        start = int(rng.integers(0, len(text) + 1))
        end = min(len(text), start + int(rng.integers(0, 6)))
        piece = TOKENS[rng.integers(len(TOKENS))]
        change = rng.integers(4)
        if change == 0:
            text = text[:start] + text[end:]
        elif change == 1:
            text = text[:start] + piece + text[end:]
        elif change == 2:
            text = text[:start] + text[start:end] * 2 + text[end:]
        else:
            other = int(rng.integers(0, len(text) + 1))
            text = text[:start] + text[other : other + 8] + text[start:]
    return text


def soup(rng):
    """Return random tokens, some of them stuck together."""
    chosen = rng.integers(len(TOKENS), size=rng.integers(1, 25))
    glue = " " if rng.random() < 0.7 else ""
    return glue.join(TOKENS[i] for i in chosen)


def inputs(text, seed):
    rng = np.random.default_rng(seed)
    lines = text.splitlines(keepends=True)
    for number in range(ROUNDS):
        first = int(rng.integers(len(lines)))
        part = text if number % 4 == 0 else "".join(lines[first : first + 3])
        yield damaged(part, rng)
        yield soup(rng)


@pytest.mark.parametrize("seed", [1, 2])
def test_damaged_mln(seed):
    read, said = 0, set()
    for text in inputs(MLN, seed):
        schema = SCHEMA if len(text) < len(MLN) / 2 else None
        try:
            file = parse_mln(text, "no/such/folder/fuzz.mln", schema=schema)
        except MlnError as error:
            said.add(str(error))
            continue
        assert parse_mln(write_mln(file)) == file
        read += 1
    assert read > 100
    assert "" not in said


@pytest.mark.parametrize("seed", [3, 4])
def test_damaged_db(seed):
    read, said = 0, set()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for text in inputs(DB, seed):
            try:
                read += parse_db(text, SCHEMA).true_atoms > 0
            except MlnError as error:
                said.add(str(error))
    assert read > 100
    assert "" not in said
