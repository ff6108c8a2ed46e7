"""Inputs for the fuzzers: sentences of small grammars, then damaged."""

from __future__ import annotations

import gzip
import random
import sqlite3
import tempfile
from collections.abc import Callable
from dataclasses import fields
from functools import cache
from pathlib import Path

from mlnlearn.registry import LEARNERS

SECRET = "s3cr3t"

Rng = random.Random
Make = Callable[[Rng], str]

_SIGNS = r"""( ) { } [ ] , . ... ! != = < > <= >= => <=> ^ v + * ? // /* */ " ' - _ \ ; --"""
_WORDS = "#include 1e999 -0 0.5 99999999999999999999 nan inf EXIST FORALL smokes person Anna x é ٣"
_PIECES = (*_SIGNS.split(), *_WORDS.split(), "\0", "\t", "\ufeff", "\u2028")


def damaged(text: str, rng: Rng) -> str:
    """Change a text in a few places: cut, doubled, moved, or with something put in."""
    for _ in range(rng.choice((0, 1, 1, 2, 3, 8))):
        start = rng.randrange(len(text) + 1)
        end = min(len(text), start + rng.choice((1, 1, 2, 5, 40)))
        part, kind = text[start:end], rng.randrange(6)
        if kind == 0:
            text = text[:start] + text[end:]
        elif kind == 1:
            text = text[:end] + part * rng.choice((1, 2, 200)) + text[end:]
        elif kind == 2:
            place = rng.randrange(len(text) + 1)
            text = text[:place] + part + text[place:]
        elif kind == 3:
            text = text[:start] + rng.choice(_PIECES) * rng.choice((1, 1, 3, 500)) + text[start:]
        elif kind == 4:
            text = text[:start]
        else:
            text = (
                text[:start]
                + chr(rng.choice((rng.randrange(128), rng.randrange(0xD800))))
                + text[end:]
            )
    return text


def _word(rng: Rng, *words: str) -> str:
    return rng.choice(words) if rng.random() < 0.9 else rng.choice(words) + str(rng.randrange(3))


def _predicate(rng: Rng) -> str:
    return _word(rng, "smokes", "friends", "age", "Rain", "likes")


def _term(rng: Rng) -> str:
    return _word(rng, "x", "y", "Anna", "Bob", '"new york"', "3", "motherOf(x)", "+x", "-1.5")


def _atom(rng: Rng) -> str:
    if rng.random() < 0.1:
        return f"{_term(rng)} {rng.choice(('=', '!=', '<'))} {_term(rng)}"
    inner = ",".join(_term(rng) for _ in range(rng.choice((0, 1, 1, 2, 2, 3))))
    return f"{rng.choice(('', '', '!', '*'))}{_predicate(rng)}({inner})"


def _formula(rng: Rng, depth: int = 0) -> str:
    if depth > 4 or rng.random() < 0.35:
        return _atom(rng)
    left, right = _formula(rng, depth + 1), _formula(rng, depth + 1)
    return rng.choice(
        (
            f"{left} ^ {right}",
            f"{left} v {right}",
            f"{left} => {right}",
            f"({left}) <=> {right}",
            f"!({left})",
            f"EXIST {_word(rng, 'x', 'y', 'x,y')} ({left})",
            f"FORALL x {right}",
        )
    )


def _rule(rng: Rng) -> str:
    weight = rng.choice(("", "1.5 ", "-2 ", "1e308 ", "0 ", "2.0. "))
    text = _formula(rng)
    return rng.choice((f"{weight}{text}", f"{text}.", f"{weight}[{text}]"))


def _declaration(rng: Rng) -> str:
    kinds = ",".join(_word(rng, "person", "years", "city!") for _ in range(rng.randrange(4)))
    return rng.choice(
        (
            f"{_predicate(rng)}({kinds})",
            "person = {Anna, Bob}",
            "years = {1, ..., 9}",
            "person motherOf(person)",
            "// a remark",
            "/* another */",
            '#include "none.mln"',
        )
    )


def rules(rng: Rng) -> str:
    """Declarations and weighted formulas."""
    given = ["smokes(person)", "friends(person,person)", "person motherOf(person)", "Rain()"]
    lines = [
        _declaration(rng) if rng.random() < 0.3 else _rule(rng) for _ in range(rng.randrange(6))
    ]
    return damaged("\n".join([*given[: rng.randrange(5)], *lines]), rng)


def rules_bytes(rng: Rng) -> bytes:
    """Files of rules: some packed, some with bytes that are no text."""
    data = bytearray(rules(rng).encode("utf-8", "replace"))
    if rng.random() < 0.3:
        data = bytearray(gzip.compress(bytes(data)))
    for _ in range(rng.randrange(3)):
        if data:
            data[rng.randrange(len(data))] = rng.randrange(256)
    return bytes(data)


def formula(rng: Rng) -> str:
    """One formula, perhaps with a weight."""
    return damaged(_rule(rng), rng)


def facts(rng: Rng) -> str:
    """Ground atoms, some false, some unknown."""
    lines = []
    for _ in range(rng.randrange(12)):
        sign = rng.choice(("", "", "", "!", "?"))
        inner = ",".join(
            _word(rng, "Anna", "Bob", '"a,b"', "3") for _ in range(rng.randrange(1, 3))
        )
        lines.append(
            rng.choice((f"{sign}{_predicate(rng)}({inner})", "Anna = motherOf(Bob)", "// no", ""))
        )
    return damaged("\n".join(lines), rng)


def _cell(rng: Rng) -> str:
    return rng.choice(
        ("1", "2", "Anna", "", "2020-01-01", "-0.5", '"a,b"', '"a\nb"', "1e5", "true")
    )


def _csv(rng: Rng, header: str, columns: int) -> str:
    rows = [",".join(_cell(rng) for _ in range(columns)) for _ in range(rng.randrange(6))]
    return damaged("\n".join([header, *rows]) + "\n", rng)


def tables(rng: Rng) -> dict[str, str]:
    """A folder of two tables with their definitions."""
    return {
        "person.csv": _csv(rng, "id,age,boss", 3),
        "pet.csv": _csv(rng, "id,owner,kind", 3),
        "schema.sql": definitions(rng) if rng.random() < 0.5 else _DEFINITIONS,
    }


_DEFINITIONS = (
    "CREATE TABLE person (id TEXT PRIMARY KEY, age INTEGER, boss TEXT REFERENCES person);\n"
    "CREATE TABLE pet (id TEXT PRIMARY KEY, owner TEXT REFERENCES person (id), kind TEXT);\n"
)


def definitions(rng: Rng) -> str:
    """SQL definitions, with what else dumps hold."""
    more = (
        "",
        "DROP TABLE IF EXISTS person;",
        "INSERT INTO person VALUES (1, 'x;', NULL);",
        "CREATE INDEX i ON pet (owner);",
        "ALTER TABLE pet ADD COLUMN size REAL;",
        "CREATE TABLE b AS SELECT * FROM person;",
        "CREATE VIEW w AS SELECT 1;",
        "PRAGMA foreign_keys = ON;",
    )
    return damaged(_DEFINITIONS + rng.choice(more) + rng.choice(more), rng)


def triples(rng: Rng) -> str:
    """Triples of a knowledge graph, with or without a header."""
    header = rng.choice(("subject,predicate,object", "head,relation,tail", "a,b,c"))
    return _csv(rng, header, 3)


@cache
def _sqlite() -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "a.sqlite"
        connection = sqlite3.connect(file)
        connection.executescript(_DEFINITIONS + "INSERT INTO person VALUES ('a', 3, NULL)")
        connection.commit()
        connection.close()
        return file.read_bytes()


def sqlite_bytes(rng: Rng) -> bytes:
    """SQLite files with bytes changed: in the catalog, the rows, anywhere."""
    data = bytearray(_sqlite())
    for _ in range(rng.choice((0, 1, 3, 20))):
        start = data.rfind(b"CREATE") if rng.random() < 0.5 else 16
        data[min(len(data) - 1, start + rng.randrange(300 if start > 16 else len(data)))] = (
            rng.randrange(256)
        )
    return bytes(data[: rng.choice((len(data), len(data), rng.randrange(len(data))))])


def mapping(rng: Rng) -> str:
    """Changes to a mapping, as TOML."""
    lines = (
        'person.type = "human"',
        'person.kind = "relationship"',
        'person.columns.age = { as = "value", bins = 3 }',
        "person.columns.age = { cuts = [1.0, 2.0] }",
        'pet.columns.owner = { as = "link", null = "absent" }',
        'pet.kind = "skip"',
        "[pet]",
        'until = "2020-01-01"',
        'columns.kind = { as = "flag", true = "dog" }',
        f"x = {'[' * rng.choice((1, 5, 5000))}",
    )
    return damaged("\n".join(rng.choice(lines) for _ in range(rng.randrange(1, 4))), rng)


def address(rng: Rng) -> str:
    """Addresses of databases with a password in them, and settings of connections."""
    scheme = rng.choice(("postgresql", "postgres", "mysql", "POSTGRESQL"))
    secret = damaged("x", rng).replace("\n", "")[:9] + SECRET + rng.choice(("", "/", "#", "?", "@"))
    host = rng.choice(("localhost", "[::1]", "[::1", "h:5432", "h:port", "h:99999999", ""))
    rest = rng.choice(("/shop", "/shop?schema=a,b", "", f"/shop?password={SECRET}", "/a%zz#b"))
    return rng.choice(
        (
            f"{scheme}://anna:{secret}@{host}{rest}",
            f"host={host} password={SECRET} dbname=shop",
            f"host={host} password='{secret}' dbname=shop",
            f"sqlite://{host}/{rest}",
        )
    )


def moment(rng: Rng) -> str:
    """Days, moments and numbers."""
    text = rng.choice(
        ("2020-01-31", "2020-01-31 12:30:00", "17", "-3.5", "2020-13-99", "1e400", "nan")
    )
    return damaged(text, rng)


def setting(rng: Rng) -> tuple[str, str]:
    """A learner and a value for one of its settings."""
    learner = rng.choice(list(LEARNERS))
    known = [item.name for item in fields(LEARNERS[learner].load())]
    name = rng.choice((*known, "penalty", "leaves", "max_seconds"))
    value = rng.choice(
        ("1", "-1", "0.5", "nan", "inf", "none", "true", "a(+,-),b", "1e999", "", "9" * 5000)
    )
    text = f"{name}={value}"
    return learner, damaged(text, rng) if rng.random() < 0.5 else text


_LEARN = ("learn", "--out", "m.mln")
_INFER = ("infer", "--model", "schema.mln", "--db", "a.db", "--query")
_COMMANDS: tuple[tuple[str, ...], ...] = (
    ("count", "?", "a.db"),
    ("count", "smokes(x)", "?"),
    ("count", "friends(x,y)", "a.db", "--by", "?"),
    ("inspect", "?"),
    ("inspect", "a.db", "--schema", "?"),
    ("inspect", "--tables", "?"),
    ("inspect", "--tables", "t", "--until", "?"),
    ("inspect", "--tables", "t", "--mapping", "?"),
    ("infer", "--model", "?", "--db", "a.db", "--query", "smokes"),
    (*_INFER, "?"),
    (*_INFER, "smokes", "--seed", "?"),
    (*_INFER, "smokes", "--max-seconds", "?"),
    (*_INFER, "smokes", "--samples", "?", "--method", "exact"),
    (*_INFER, "smokes", "--method", "?"),
    (*_INFER, "smokes", "--out", "?"),
    ("infer", "--model", "schema.mln", "--tables", "t", "--task", "?"),
    ("infer", "--model", "?", "--triples", "kg.tsv", "--relation", "knows", "--head", "?"),
    ("weights", "--model", "schema.mln", "--db", "a.db", "--sigma", "?"),
    ("weights", "--model", "schema.mln", "--db", "a.db", "--l1", "?"),
    ("learn", "--learner", "?", "--db", "a.db", "--out", "m.mln"),
    ("learn", "--learner", "rdn-b", "--target", "?", "--db", "a.db", "--out", "a.db"),
    (*_LEARN, "--learner", "laj-dt", "--tables", "?"),
    (*_LEARN, "--learner", "boost", "--tables", "t", "--target", "?"),
    (*_LEARN, "--learner", "boost", "--tables", "t", "--task", "?"),
    (*_LEARN, "--tables", "t", "--predict", "?", "--for", "person", "--within", "30d"),
    (*_LEARN, "--tables", "t", "--predict", "person.age", "--for", "?", "--within", "30d"),
    (*_LEARN, "--tables", "t", "--predict", "person.age", "--for", "person", "--within", "?"),
    (*_LEARN, "--learner", "paths", "--triples", "?"),
    (*_LEARN, "--learner", "paths", "--triples", "kg.tsv", "--order", "?"),
    (*_LEARN, "--learner", "rdn-b", "--boostsrl", "?"),
    (*_LEARN, "--learner", "rdn-b", "--db", "a.db", "--target", "smokes", "--set", "?"),
    (*_LEARN, "--learner", "rdn-b", "--db", "a.db", "--target", "smokes", "--checkpoint", "?",
     "--set", "steps=0"),
    ("evaluate", "--learner", "rdn-b", "--query", "?", "--db", "?"),
    ("evaluate", "--learner", "paths", "--triples", "?", "--test", "?"),
    ("explain", "--model", "schema.mln", "--db", "a.db", "--atom", "?"),
    ("report", "--model", "schema.mln", "--db", "a.db", "--query", "?", "--out", "r.html"),
    ("report", "--model", "schema.mln", "--db", "a.db", "--query", "smokes", "--out", "?"),
    ("loglik", "--model", "?", "--db", "a.db"),
    ("convert", "a.db", "--out", "?"),
    ("convert", "schema.mln", "--dialect", "?", "--out", "c.mln"),
)  # fmt: skip
_VALUES = (
    "smokes(x)", "smokes(Anna)", "a.db", "-1", "nan", "x,y", "../a.db", "", "t", "kg.tsv", "1e999",
    "steps=-1", "2020-01-01", "person.age", "person", "9" * 400, "/dev/null", ".", "schema.mln",
)  # fmt: skip


def command(rng: Rng) -> tuple[str, ...]:
    """Commands that are quick, with values that need not make sense."""
    plain = rng.choice(_VALUES)
    value = damaged(plain, rng) if rng.random() < 0.6 else plain
    return tuple(value if word == "?" else word for word in rng.choice(_COMMANDS))
