"""Random tables with columns of all sorts of types, as Parquet files with their definitions."""

import duckdb
import numpy as np

SQL = {
    "whole": "INTEGER",
    "few whole": "BIGINT",
    "real": "DOUBLE",
    "few real": "DOUBLE",
    "single": "FLOAT",
    "money": "DECIMAL(10,2)",
    "few money": "DECIMAL(6,2)",
    "truth": "BOOLEAN",
    "name": "VARCHAR",
    "word": "VARCHAR",
    "day": "DATE",
    "moment": "TIMESTAMP",
    "zoned": "TIMESTAMPTZ",
    "written day": "VARCHAR",
    "written number": "VARCHAR",
    "not a number": "DOUBLE",
}


def cell(rng, kind):
    second = f"INTERVAL {rng.integers(10**6)} SECOND"
    made = {
        "whole": lambda: str(rng.integers(-50, 50)),
        "few whole": lambda: str(rng.integers(4)),
        "real": lambda: repr(float(rng.normal())),
        "few real": lambda: rng.choice(["0.5", "1.0", "2.25", "3.0"]),
        "single": lambda: repr(float(rng.normal())),
        "money": lambda: f"{100 * rng.normal():.2f}",
        "few money": lambda: rng.choice(["1.50", "2.00", "3.25"]),
        "truth": lambda: rng.choice(["TRUE", "FALSE"]),
        "name": lambda: rng.choice(["'red'", "'Blau ü'", "'gre''en'", "' '", "'x y'"]),
        "word": lambda: rng.choice(["'yes'", "'no'"]),
        "day": lambda: f"DATE '2020-01-01' + {rng.integers(900)}",
        "moment": lambda: f"TIMESTAMP '2020-01-01 00:00:00.123456' + {second}",
        "zoned": lambda: f"TIMESTAMPTZ '2020-01-01 00:00:00+02' + {second}",
        "written day": lambda: f"'2021-0{rng.integers(1, 9)}-1{rng.integers(9)}'",
        "written number": lambda: f"'{100 * rng.normal():.2f}'",
        "not a number": lambda: rng.choice(
            ["'nan'::DOUBLE", repr(float(rng.normal()))], p=[0.2, 0.8]
        ),
    }
    return str(made[kind]())


def column(rng, kind, rows):
    """The SQL type of a column, and its cells; of some columns, a fifth is empty."""
    empty = 0.2 * (rng.random() < 0.4)
    cells = ["NULL" if rng.random() < empty else cell(rng, kind) for _ in range(rows)]
    return SQL[kind], cells


def keys(rng, rows):
    """Keys that are numbers, texts, or texts that are numbers."""
    drawn = rng.permutation(3 * rows)[:rows]
    kind = rng.integers(3)
    texts = [str(k) if kind == 0 else f"'k{k}'" if kind == 1 else f"'{k}'" for k in drawn]
    return ("VARCHAR" if kind else "INTEGER"), texts


def write_typed(folder, seed):
    """Write two entities with a link, a relation and events."""
    rng = np.random.default_rng(seed)
    kinds = list(SQL)
    definitions = []

    def more(prefix, number, rows):
        return {f"{prefix}{k}": column(rng, rng.choice(kinds), rows) for k in range(number)}

    def write(name, columns, ends):
        types = {title: kind for title, (kind, _) in columns.items()}
        rows = zip(*(cells for _, cells in columns.values()), strict=True)
        values = ", ".join(f"({', '.join(row)})" for row in rows)
        cast = ", ".join(f'v{k}::{kind} AS "{t}"' for k, (t, kind) in enumerate(types.items()))
        names = ", ".join(f"v{k}" for k in range(len(types)))
        with duckdb.connect() as connection:
            connection.execute(
                f"COPY (SELECT {cast} FROM (VALUES {values}) t({names})) "
                f"TO '{folder}/{name}.parquet'"
            )
        said = [f'"{title}" {kind}' for title, kind in types.items()]
        definitions.append(f"CREATE TABLE {name} ({', '.join([*said, *ends])});")

    rows = int(rng.integers(20, 60))
    first = keys(rng, rows)
    write("alpha", {"id": first, **more("a", rng.integers(1, 5), rows)}, ["PRIMARY KEY (id)"])
    rows = int(rng.integers(20, 60))
    second = keys(rng, rows)
    link = first[0], [str(rng.choice([*first[1], "NULL"])) for _ in range(rows)]
    to_first = "REFERENCES alpha(id)"
    write(
        "beta",
        {"id": second, **more("b", rng.integers(1, 5), rows), "ref": link},
        ["PRIMARY KEY (id)", f"FOREIGN KEY (ref) {to_first}"],
    )
    pairs = sorted(set(zip(rng.choice(first[1], 60), rng.choice(second[1], 60), strict=True)))
    one, two = ([str(pair[k]) for pair in pairs] for k in (0, 1))
    write(
        "related",
        {"one": (first[0], one), "two": (second[0], two), **more("r", 2, len(pairs))},
        [
            "PRIMARY KEY (one, two)",
            f"FOREIGN KEY (one) {to_first}",
            "FOREIGN KEY (two) REFERENCES beta(id)",
        ],
    )
    who = first[0], [str(name) for name in rng.choice(first[1], 80)]
    write("log", {"who": who, **more("e", 3, 80)}, [f"FOREIGN KEY (who) {to_first}"])
    (folder / "schema.sql").write_text("\n".join(definitions))
