"""What a command that was stopped says, whatever the interrupt comes out as."""

import signal

import pytest

import mlnlearn as ml
from mlnlearn.cli import main
from mlnlearn.cli.progress import resumable


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemError])
def test_a_stopped_run_says_how_to_go_on_whatever_the_interrupt_became(
    error, tmp_path, capsys, monkeypatch
):
    checkpoint = tmp_path / "run.jsonl"
    checkpoint.write_text("{}\n")
    monkeypatch.setattr(main._signals, "received", signal.SIGTERM)
    with pytest.raises(error), resumable(ml.Run(checkpoint=checkpoint)):
        raise error
    assert "to go on from" in capsys.readouterr().err


def test_an_error_of_a_run_that_nobody_stopped_is_no_stop(tmp_path, capsys):
    with pytest.raises(ValueError, match="wrong"), resumable(ml.Run()):
        raise ValueError("wrong")
    assert not capsys.readouterr().err
