"""Tables of a made-up campus, written straight to Parquet: no more in memory than a piece."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path

import duckdb
import numpy as np
from numpy.typing import NDArray

import mlnlearn as ml
from bench.scale_tasks import declared_campus, features_boosted

MAPPING = "mapping.toml"
_PIECE = 1 << 21


def write_campus(folder: Path, students: int, seed: int = 0) -> None:
    """Write students, professors, courses, who takes which and who works for whom.

    They are distributed as those of `bench.scale_tasks.campus`.

    Parameters
    ----------
    folder
        Where to: a file a table, and the mapping.
    students
        How many there are.
    seed
        Of the numbers that are drawn.
    """
    folder.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(seed)
    others = max(students // 10, 2)
    bright = rng.integers(3, size=students).astype(np.int8)
    easy, liked = (rng.integers(2, size=others).astype(np.int8) for _ in range(2))
    scratch = folder / "scratch.duckdb"
    with duckdb.connect(str(scratch), config={"memory_limit": "1GB"}) as connection:
        _write_entities(connection, folder, "student", "bright", bright)
        _write_entities(connection, folder, "course", "easy", easy)
        _write_entities(connection, folder, "prof", "liked", liked)
        for name, to, attribute, number in (
            ("taken", "course", "grade", 3 * students),
            ("hired", "prof", "salary", students // 2),
        ):
            connection.execute(f"CREATE TABLE {name} (a INTEGER, b INTEGER, v TINYINT)")
            for left, right in _pairs(rng, others, students, number):
                if name == "taken":
                    values = (bright[right] + easy[left] + rng.integers(2, size=len(left))) % 4
                else:
                    values = np.minimum(bright[right] + liked[left], 2)
                rows = {"a": left, "b": right, "v": values.astype(np.int8)}
                connection.register("piece", rows)
                connection.execute(f"INSERT INTO {name} SELECT * FROM piece")
                connection.unregister("piece")
            connection.execute(
                f"COPY (SELECT '{to[0]}' || a AS {to}, 's' || b AS student, "
                f"'{attribute[0]}' || v AS {attribute} FROM {name}) "
                f"TO '{folder}/{name}.parquet' (FORMAT parquet)"
            )
            connection.execute(f"DROP TABLE {name}")
    scratch.unlink()
    (folder / MAPPING).write_text(f"{declared_campus()[1]}\n", encoding="utf-8")


def _write_entities(
    connection: duckdb.DuckDBPyConnection,
    folder: Path,
    name: str,
    attribute: str,
    values: NDArray[np.int8],
) -> None:
    connection.register("piece", {"k": np.arange(len(values)), "v": values})
    connection.execute(
        f"COPY (SELECT '{name[0]}' || k AS id, '{attribute[0]}' || v AS {attribute} FROM piece) "
        f"TO '{folder}/{name}.parquet' (FORMAT parquet)"
    )
    connection.unregister("piece")


def _pairs(
    rng: np.random.Generator, left: int, right: int, number: int
) -> Iterator[tuple[NDArray[np.int32], NDArray[np.int32]]]:
    """Draw different pairs, those of some on the left at a time."""
    pieces = -(-number // _PIECE)
    bounds = np.linspace(0, left, min(pieces, left) + 1).astype(np.int64)
    for low, high in pairwise(bounds.tolist()):
        drawn = rng.integers(low * right, high * right, size=number * (high - low) // left)
        keys = np.unique(drawn)
        yield (keys // right).astype(np.int32), (keys % right).astype(np.int32)


def campus_facts(folder: Path) -> int:
    """Return how many facts the tables hold: a value of each entity, each link and its value."""
    with duckdb.connect() as connection:
        rows = {
            file.stem: connection.execute(f"SELECT count(*) FROM '{file}'").fetchall()[0][0]
            for file in folder.glob("*.parquet")
        }
    return int(sum(rows.values()) + rows["taken"] + rows["hired"])


def joined_in_place(folder: Path) -> str:
    """Learn a net and rules from tables that stay in Parquet files."""
    fitted = ml.LAJDT().fit(ml.tables_in_place(folder, folder / MAPPING))
    left = "; ".join(("", *fitted.notes.remarks))
    return f"{fitted.model.parameter_counts()['leaf_values']} rules{left}"


def boosted_in_place(folder: Path) -> str:
    """Learn by the default learner from tables that stay in Parquet files."""
    return features_boosted(ml.tables_in_place(folder, folder / MAPPING))


TABLES_IN_PLACE: dict[str, Callable[[Path], str]] = {
    "learn-and-join in place": joined_in_place,
    "boost in place": boosted_in_place,
}
"""Tasks on tables of a campus in Parquet files, by DuckDB."""
