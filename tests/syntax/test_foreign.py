"""Files as other systems write them, made up after their manuals: what reads, and what is refused.

A heading says how many rules or true atoms a file holds, or words of the complaint. Constructs
that have no like here stand in a file each, so that the shares below are no shares of real files.
"""

import re
import warnings
from collections import Counter
from pathlib import Path

import pytest

from mlnlearn.data.load.alchemy import read_db, read_evidence
from mlnlearn.errors import DataWarning, InputErrors
from mlnlearn.syntax import parse_mln, write_mln

FOLDER = Path(__file__).parent / "foreign"
HEADING = re.compile(r"^===== (\S+): (reads|refused) (.*)$", re.MULTILINE)
PEOPLE = parse_mln("""
likes(person,person)
tall(person)
job(person,trade)
aged(person,years)
at(person,place)
person bossOf(person)
""").schema


def files(system):
    text = (FOLDER / f"{system}.txt").read_text()
    _, *parts = HEADING.split(text)
    for name, verdict, words, body in zip(*(parts[i::4] for i in range(4)), strict=True):
        yield pytest.param(verdict, words, body.lstrip("\n"), id=f"{system}/{name}")


SYSTEMS = ("alchemy", "tuffy", "rockit", "lomrf", "pracmln", "probcog")
NETWORKS = [each for system in SYSTEMS for each in files(system)]
DATABASES = list(files("databases"))


@pytest.mark.parametrize(("verdict", "words", "text"), NETWORKS)
def test_networks(verdict, words, text):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        if verdict == "refused":
            with pytest.raises(InputErrors) as caught:
                parse_mln(text)
            assert words in str(caught.value)
            assert "hint: " in str(caught.value)
            return
        found = parse_mln(text)
        assert len(found.rules) == int(words)
        assert parse_mln(write_mln(found)) == found


@pytest.mark.parametrize(("verdict", "words", "text"), DATABASES)
def test_databases(verdict, words, text, tmp_path):
    path = tmp_path / "their.db"
    path.write_text(text)
    if verdict == "refused":
        with pytest.raises(InputErrors, match=re.escape(words)):
            read_evidence(path, PEOPLE)
        return
    true, soft = (int(number) for number in [*re.findall(r"\d+", words), "0"][:2])
    found = read_evidence(path, PEOPLE)
    assert (found.database.true_atoms, len(found.rules)) == (true, soft)
    if not soft:
        assert read_db(path, schema=PEOPLE).true_atoms == true


def test_the_collection_covers_every_system():
    told = Counter(each.id.split("/")[0] for each in NETWORKS)
    assert set(told) == set(SYSTEMS)
    assert min(told.values()) >= 7
    assert len(NETWORKS) + len(DATABASES) >= 60
