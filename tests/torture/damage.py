"""Damage to JSON files: to their structure, to their numbers, to their bytes."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from typing import Any

from mlnlearn.documents import signed

ODD = (
    None, True, False, 0, 1, -1, 2, 7, 10**9, 2**31, 2**63, 10**400, -0.0, 0.5, 1e308, -1e308,
    "", "x", "=", "N/A", "F", "no such name", "a\u0000b", "\u2028", "v" * 5000, [], [[]], {},
    {"a": 1},
    [0], [0, 0], ["="], [None], {"if": [], "then": 0, "else": 0},
)  # fmt: skip
"""What may stand where something else should."""
WORDS = (
    b"NaN",
    b"Infinity",
    b"-Infinity",
    b"1e999",
    b"9" * 5000,
    b"0x1",
    b"tru",
    b"\xff",
    b"\\ud800",
)


def damaged(plain: dict[str, Any], rng: random.Random) -> bytes:
    """Return the file of a document with some damage; a checksum is mended half of the time."""
    content = json.loads(json.dumps(plain))
    for _ in range(rng.choice((1, 1, 1, 2, 4))):
        content = changed(content, rng)
    if isinstance(content, dict) and rng.random() < 0.5:
        content.pop("checksum", None)
        if "format" in content and rng.random() < 0.8:
            content = signed(content)
    data = json.dumps(content).encode()
    return _spoiled(data, rng) if rng.random() < 0.3 else data


def _places(content: Any) -> list[tuple[Any, Any]]:
    """Return all containers with a key or index in them."""
    found, waiting = [], [content]
    while waiting:
        part = waiting.pop()
        keys = list(part) if isinstance(part, dict) else range(len(part))
        for key in keys:
            found.append((part, key))
            if isinstance(part[key], dict | list):
                waiting.append(part[key])
    return found


def changed(content: Any, rng: random.Random) -> Any:
    """Change plain content in one place."""
    places = _places(content) if isinstance(content, dict | list) else []
    if not places:
        return rng.choice(ODD)
    part, key = rng.choice(places)
    rng.choice(_CHANGES)(part, key, places, rng)
    return content


def _drop(part: Any, key: Any, _: Any, __: random.Random) -> None:
    del part[key]


def _replace(part: Any, key: Any, _: Any, rng: random.Random) -> None:
    part[key] = json.loads(json.dumps(rng.choice(ODD)))


def _from_elsewhere(part: Any, key: Any, places: Any, rng: random.Random) -> None:
    other, name = rng.choice(places)
    part[key] = json.loads(json.dumps(other[name]))


def _twice(part: Any, key: Any, _: Any, rng: random.Random) -> None:
    if isinstance(part, list):
        part.insert(rng.randint(0, len(part)), json.loads(json.dumps(part[key])))
    else:
        part[f"{key}2"] = part[key]


def _number(part: Any, key: Any, _: Any, rng: random.Random) -> None:
    if isinstance(part[key], int | float):
        part[key] = part[key] + rng.choice((-1, 1, 0.5, 100))
    elif isinstance(part[key], str):
        part[key] = part[key][::-1]


def _deeper(part: Any, key: Any, _: Any, rng: random.Random) -> None:
    for _ in range(rng.choice((1, 30, 205))):
        part[key] = [part[key]] if rng.random() < 0.5 else {"if": [], "then": part[key], "else": 0}


_CHANGES: tuple[Callable[..., None], ...] = (
    _drop, _replace, _replace, _from_elsewhere, _twice, _number, _number, _deeper,
)  # fmt: skip


def _spoiled(data: bytes, rng: random.Random) -> bytes:
    place = rng.randrange(len(data))
    kind = rng.randrange(5)
    if kind == 0:
        return data[:place]
    if kind == 1:
        return data[:place] + bytes([data[place] ^ (1 << rng.randrange(8))]) + data[place + 1 :]
    if kind == 2:
        return data[:place] + rng.choice(WORDS) + data[place + 1 :]
    if kind == 3:
        return data[:place] + rng.choice((b"[", b'{"a":')) * 100_000 + data[place:]
    end = rng.randrange(place, min(len(data), place + 200))
    return data[:end] + data[place:]
