"""A journal resumes what it wrote, survives a cut line, and refuses a stranger's file."""

import pytest

from mlnlearn.data.database import Database
from mlnlearn.errors import InputError
from mlnlearn.logic.schema import Schema
from mlnlearn.structure.search.journal import Journal, identity_of


def test_results_come_back_exactly(tmp_path):
    path = tmp_path / "run.jsonl"
    values = [0.1 + 0.2, -1e-300, None]
    Journal(path, "me").record("key", values)
    assert Journal(path, "me").get("key") == values
    assert "other" not in Journal(path, "me")


def test_a_line_cut_short_is_dropped(tmp_path):
    path = tmp_path / "run.jsonl"
    journal = Journal(path, "me")
    journal.record_all([("one", 1), ("two", 2)])
    path.write_text(path.read_text()[:-4])
    again = Journal(path, "me")
    assert again.get("one") == 1
    assert "two" not in again
    again.record("two", 2)
    assert Journal(path, "me").get("two") == 2


@pytest.mark.parametrize("text", ['{"identity": "you"}\n', "no json\n", "", "[1, 2]\n"])
def test_another_file_is_refused(tmp_path, text):
    path = tmp_path / "run.jsonl"
    path.write_text(text)
    with pytest.raises(InputError, match="name another file"):
        Journal(path, "me")


def test_identity_depends_on_settings_facts_and_domains():
    schema = Schema.of("p(t)")
    one = Database.from_facts(schema, {"p": [("A",)]})
    two = Database.from_facts(schema, {"p": [("B",)]})
    wide = Database.from_facts(schema, {"p": [("A",)]}, domains={"t": ["A", "B"]})
    found = {identity_of(s, [d]) for s in ("x", "y") for d in (one, two, wide)}
    assert len(found) == 6
