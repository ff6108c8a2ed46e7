"""Outputs are checked before work starts, and destroy nothing."""

import errno
import os
import tempfile

import pytest

import mlnlearn as ml
from mlnlearn.data.load.save import check_new
from mlnlearn.errors import InputError, InputErrors
from mlnlearn.files import check_outputs, is_ours, write_files


def refused(*outputs, inputs=(), replace=False):
    with pytest.raises(InputErrors) as caught:
        check_outputs(outputs, inputs, replace=replace)
    return str(caught.value.problems[0])


@pytest.mark.parametrize("name", ["", "no/model.mln", "folder", "a" * 300, "nul\0", "plain/x.mln"])
def test_places_where_nothing_can_be_written(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    (tmp_path / "plain").write_text("")
    assert "cannot write the file" in refused(name)
    with pytest.raises(InputError, match="cannot write the file"):
        write_files({name: "text"})
    with pytest.raises(InputError):
        check_new(tmp_path / name if name else name)
    assert sorted(os.listdir(tmp_path)) == ["folder", "plain"]


def test_pipes_and_devices_are_never_replaced(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", "/dev/null"):
        assert "not a regular file" in refused(path, replace=True)
        with pytest.raises(InputError, match="not a regular file"):
            write_files({path: "text"})


@pytest.mark.parametrize("link", [os.symlink, os.link, None])
def test_an_output_that_is_an_input_is_refused_whatever_it_is_called(tmp_path, link):
    data = tmp_path / "data.db"
    data.write_text("")
    out = tmp_path / "out.mln"
    if link is None:
        out = tmp_path / "sub" / ".." / "data.db"
        (tmp_path / "sub").mkdir()
    else:
        link(data, out)
    assert "also an input" in refused(out, inputs=[data], replace=True)


def test_files_of_an_input_folder_are_inputs(tmp_path):
    (tmp_path / "tables").mkdir()
    (tmp_path / "tables" / "dog.csv").write_text("id\n")
    assert "also an input" in refused(
        tmp_path / "tables" / "dog.csv", inputs=[tmp_path], replace=True
    )


def test_two_outputs_of_one_name_are_refused(tmp_path):
    assert "two outputs" in refused(tmp_path / "a", tmp_path / "." / "a")


def test_what_we_did_not_write_needs_force_and_what_we_wrote_does_not(tmp_path):
    foreign = tmp_path / "data.json"
    foreign.write_text('{"mine": true}')
    assert "--force" in refused(foreign)
    check_outputs([foreign], replace=True)
    mln = ml.MLN.parse("smokes(person)\n1.5 !smokes(x)")
    mln.save(tmp_path / "model.mln")
    database = ml.parse_db("smokes(Anna)", mln.schema)
    ml.write_db(database, tmp_path / "facts.db")
    ml.query(mln, database, ["smokes"], open=["smokes"]).to_csv(tmp_path / "answers.csv")
    ours = [tmp_path / name for name in ("model.mln", "facts.db", "answers.csv")]
    assert all(map(is_ours, ours))
    check_outputs(ours)


def test_links_are_followed(tmp_path):
    target, link = tmp_path / "target.mln", tmp_path / "link.mln"
    link.symlink_to(target)
    for text in ("first", "second"):  # the target is missing, then there
        write_files({link: text})
        assert link.is_symlink()
        assert target.read_text() == text


@pytest.mark.parametrize("fails", [0, 1])
def test_a_full_disk_leaves_nothing(tmp_path, monkeypatch, fails):
    made, real = [], tempfile.mkstemp

    def mkstemp(**options):
        if len(made) == fails:
            raise OSError(errno.ENOSPC, "No space left on device")
        made.append(real(**options))
        return made[-1]

    monkeypatch.setattr(tempfile, "mkstemp", mkstemp)
    with pytest.raises(InputError, match="cannot write the file: No space left on device"):
        write_files({tmp_path / "m.json": "{}", tmp_path / "m.mln": "p(t)"})
    assert os.listdir(tmp_path) == []


def test_a_model_and_its_json_appear_together_or_not_at_all(tmp_path, monkeypatch):
    schema = ml.Schema.of("happy(person)", "rich(person)")
    database = ml.Database.from_facts(schema, {"happy": [("Anna",)], "rich": [("Bob",)]})
    model = ml.BoostedMLN(target="happy", steps=1).fit([database]).model
    (tmp_path / "m.mln").mkdir()
    with pytest.raises(InputError, match="it is a folder"):
        model.save(tmp_path / "m.mln")
    assert os.listdir(tmp_path) == ["m.mln"]
