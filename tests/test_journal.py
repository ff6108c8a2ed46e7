"""A journal gives back what was written, or a beginning of it; else it is refused with a reason."""

import errno
import os

import pytest

from mlnlearn import journal as module
from mlnlearn.data.database import Database
from mlnlearn.data.identity import fingerprint
from mlnlearn.errors import InputError
from mlnlearn.journal import Identity, Journal
from mlnlearn.logic.schema import Schema

ME = Identity("Learner", {"steps": "3", "prior": "x" * 99}, {"atoms of p": "a1", "examples": "b2"})
RESULTS = [("one", [0.1 + 0.2, -1e-300, None]), ("zwei é", {"a": [1, "\n"]}), ("three", None)]


@pytest.fixture
def path(tmp_path):
    found = tmp_path / "run.jsonl"
    one = Journal(found, ME)
    one.record(*RESULTS[0])
    one.record_all(RESULTS[1:])
    return found


def read(path, identity=ME):
    journal = Journal(path, identity)
    return [
        (key, journal.read(key, object)) for key in ("one", "zwei é", "three") if key in journal
    ]


def test_results_come_back_exactly_and_the_same_bytes_are_written(path, tmp_path):
    assert read(path) == RESULTS
    other = tmp_path / "other.jsonl"
    Journal(other, ME).record_all(RESULTS)
    assert other.read_bytes() == path.read_bytes()


def test_every_cut_is_a_beginning_that_can_be_continued(path):
    whole = path.read_bytes()
    header = whole.index(b"\n") + 1
    for end in range(header, len(whole)):
        path.write_bytes(whole[:end])
        found = read(path)
        assert found == RESULTS[: len(found)]
        Journal(path, ME).record_all(RESULTS[len(found) :])
        assert path.read_bytes() == whole
    for end in range(1, header):
        path.write_bytes(whole[:end])
        with pytest.raises(InputError):
            Journal(path, ME)
    path.write_bytes(b"")
    assert read(path) == []


def test_every_changed_byte_is_refused_or_harmless(path):
    whole = path.read_bytes()
    harmless, refused = 0, []
    for place, byte in enumerate(whole):
        for new in {byte ^ 1, byte ^ 128, 10, ord("0")} - {byte}:
            path.write_bytes(whole[:place] + bytes([new]) + whole[place + 1 :])
            try:
                found = read(path)
            except InputError as error:
                refused.append(str(error))
            else:
                assert found == RESULTS[: len(found)]
                harmless += 1
    assert all("run.jsonl:" in text and "name another file" in text for text in refused)
    assert harmless == 3  # without its last line's end, a journal has an unfinished line


def test_missing_repeated_and_exchanged_lines_are_refused(path):
    lines = path.read_bytes().splitlines(keepends=True)
    for order in ([0, 2, 3], [0, 1, 3], [0, 1, 1, 2], [0, 2, 1, 3], [0, 1, 3, 2], [1, 2], [0, 0]):
        path.write_bytes(b"".join(lines[number] for number in order))
        with pytest.raises(InputError, match=r"run\.jsonl:\d+: this"):
            Journal(path, ME)


@pytest.mark.parametrize(
    ("other", "reason"),
    [
        (Identity("You", ME.settings, ME.data), "of a run of Learner, not of You"),
        (Identity("Learner", {**ME.settings, "steps": "4"}, ME.data), "steps was 3, is 4"),
        (Identity("Learner", {"steps": "3"}, ME.data), "other settings: prior differ"),
        (Identity("Learner", ME.settings, {"examples": "b2"}), "other data: atoms of p differ"),
        (Identity("Learner", ME.settings, {**ME.data, "q": "c"}), "other data: q differ"),
    ],
)
def test_another_run_is_refused_with_what_differs(path, other, reason):
    with pytest.raises(InputError) as caught:
        Journal(path, other)
    assert reason.replace("of a run", "") in str(caught.value).replace("to a run", "")


def test_another_version_or_format_is_refused(path, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(module, "_version", lambda: "9.9")
        with pytest.raises(InputError, match=r"written by version .*, this is 9\.9"):
            Journal(path, ME)
    monkeypatch.setattr(module, "FORMAT", "mlnlearn journal 2")
    with pytest.raises(InputError, match="has the format 'mlnlearn journal 1', not"):
        Journal(path, ME)


@pytest.mark.parametrize("text", ["no json\n", "{}\n", "\n", "[1, 2]\n", "\0" * 99 + "\n"])
def test_another_file_is_refused_and_left_alone(tmp_path, text):
    path = tmp_path / "notes.txt"
    path.write_text(text)
    with pytest.raises(InputError, match="no checkpoint of a run"):
        Journal(path, ME)
    assert path.read_text() == text


def forged(*contents):
    """Lines with the right checksums, whatever they hold."""
    total, lines = b"", b""
    for body in contents:
        total = module._checksum(total, body)
        lines += total + b" " + body + b"\n"
    return lines


@pytest.mark.parametrize("body", [b"[1]", b"{}", b"[1,2]", b"[" * 100_000, b"\xff", b""])
def test_lines_of_something_else_are_refused(path, body):
    header = path.read_bytes().split(b"\n")[0].split(b" ", 1)[1]
    path.write_bytes(forged(header, b'["one", 1]', body))
    with pytest.raises(InputError, match=r"run\.jsonl:3: this checkpoint is damaged"):
        Journal(path, ME)
    path.write_bytes(forged(b'{"format": "mlnlearn journal 1"}'))
    with pytest.raises(InputError, match="first line that is not whole"):
        Journal(path, ME)


def test_two_writers_at_one_file(path):
    first, second = Journal(path, ME), Journal(path, ME)
    first.record("four", 4)
    with pytest.raises(InputError, match="another program has changed"):
        second.record("five", 5)
    assert Journal(path, ME).read("four", int) == 4


def test_a_full_disk_leaves_no_half_line(path, monkeypatch):
    whole = path.read_bytes()
    journal = Journal(path, ME)
    opened = type(path).open

    class Full:
        def __init__(self, stream):
            self.stream, self.left = stream, 7

        def __enter__(self):
            return self

        def __exit__(self, *_):
            self.stream.close()

        def __getattr__(self, name):
            return getattr(self.stream, name)

        def write(self, content):
            if not self.left:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            written, self.left = self.stream.write(content[: self.left]), 0
            return written

    with monkeypatch.context() as patch:
        patch.setattr(type(path), "open", lambda *a, **b: Full(opened(*a, **b)))
        with pytest.raises(InputError, match="cannot write this checkpoint: No space left"):
            journal.record("four", 4)
    assert path.read_bytes() == whole


def test_a_missing_folder_is_an_error_with_its_place(tmp_path):
    with pytest.raises(InputError, match=r"nowhere.*cannot write the file: there is no folder"):
        Journal(tmp_path / "nowhere" / "run.jsonl", ME)


def test_the_fingerprint_covers_all_of_the_data():
    schema = Schema.of("p(t)", "q(t)", "rain()")

    def made(facts=None, schema=schema, **more):
        return Database.from_facts(schema, {"p": [("A",), ("B",)]} | (facts or {}), **more)

    worlds = [
        made(),
        made({"p": [("A",), ("C",)]}),  # other names, the same codes
        made({"p": [("A",)]}, domains={"t": ["A", "B"]}),
        made(domains={"t": ["A", "B", "C"]}),
        made(domains={"t": ["B", "A"]}),
        made({"q": [("A",)]}),
        made(false={"q": [("A",)]}),
        made(unknown={"q": [("A",)]}),
        made({"rain": [()]}),
        made(unknown={"rain": [()]}),
        made(open=["q"]),
        made(schema=Schema.of("p(t!)", "q(t)", "rain()")),
    ]
    found = [fingerprint([world]) for world in worlds]
    assert all(one != other for k, one in enumerate(found) for other in found[:k])
    assert fingerprint([made()]) == found[0]
    assert fingerprint(worlds[:2]) != fingerprint(worlds[1::-1])
