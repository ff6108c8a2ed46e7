"""Places in TOML, against a search for the shortest beginning of the text that has them."""

import tomllib

import pytest

from mlnlearn.errors import InputError
from mlnlearn.toml import Toml, _paths

TEXTS = [
    "a = 1\nb = 2",
    "# remark\n\n[a]\nb = 1\n[a.c]\nd = [\n 1,\n 2]\n",
    'a.b.c = 1\na.b.d = """x\n[y]\n"""\n[e."f g"]\nh = { i = 1, j.k = 2 }\n',
    "[[a]]\nb = 1\n[[a]]\nc = 2\n[a.d]\ne = 3\n",
    '"a.b" = 1\r\n[c]\r\n"d" = "=["\r\n',
]


def first_line(text, path):
    """The last line of the shortest beginning that parses and has the path."""
    lines = text.split("\n")
    for number in range(1, len(lines) + 1):
        try:
            found = tomllib.loads("\n".join(lines[:number]))
        except tomllib.TOMLDecodeError:
            continue
        if path in set(_paths(found)):
            return number
    raise AssertionError(path)


@pytest.mark.parametrize("text", TEXTS)
def test_places(text):
    found = Toml.of(text, "a.toml")
    paths = set(_paths(found.values))
    assert len(paths) > 1
    for path in paths:
        line = found.place(*path).line
        last = first_line(text, path)
        assert line <= last
        # what lies between is one value that goes over several lines
        part = "\n".join(text.split("\n")[line - 1 : last])
        assert line == last or not _parses(part.rsplit("\n", 1)[0])
        assert found.place(*path, "no such").line == line
    assert found.place("no such").line == 0


def _parses(text):
    try:
        tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return False
    return True


@pytest.mark.parametrize(
    ("text", "line"), [("a = 1\nb =", 2), ("a = " + "[" * 100_000, 0), ("a = " + "9" * 5000, 0)]
)
def test_what_is_no_toml(text, line):
    with pytest.raises(InputError, match="not TOML") as caught:
        Toml.of(text, "a.toml")
    assert (caught.value.location.file, caught.value.location.line) == ("a.toml", line)


def test_a_value_of_many_lines_costs_little():
    text = "x = 1\na = [\n" + "1,\n" * 20_000 + "]\n[b]\nc = 1\n"
    found = Toml.of(text, "a.toml")
    assert found.place("x").line == 1
    assert found.place("b", "c").line == 0
