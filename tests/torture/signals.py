"""Ctrl-C and SIGTERM at random moments of commands: exit codes, words, and nobody left behind."""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import time
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from mlnlearn.cli.main import run
from mlnlearn.data.synthetic import university
from mlnlearn.data.write import write_db
from mlnlearn.model.mln import MLN
from torture import scratch
from torture.kills import wait_for

_PATIENCE = 60.0
_CODES = {signal.SIGINT: 130, signal.SIGTERM: 143}
_LEARN = ("--db", "0.db", "1.db", "--schema", "schema.mln", "--checkpoint", "run.jsonl")
_OUT = ("--out", "m.mln")
_BOOSTED = ("--target", "advisedBy", "--set", "steps=6")
COMMANDS: dict[str, tuple[str, ...]] = {
    "learn, rdn-b": ("learn", "--learner", "rdn-b", *_BOOSTED, *_LEARN, *_OUT),
    "learn, msl": ("learn", "--learner", "msl", "--set", "max_literals=2", *_LEARN, *_OUT),
    "learn, boost": ("learn", "--learner", "boost", "--target", "advisedBy", *_LEARN, *_OUT),
    "learn, tables": ("learn", "--learner", "laj-dt", "--tables", "t", *_OUT),
    "learn, triples": ("learn", "--learner", "paths", "--triples", "kg.tsv", *_OUT),
    "evaluate": (
        "evaluate", "--learner", "rdn-b", "--query", "advisedBy", "--db", "0.db", "1.db",
        "--schema", "schema.mln", "--set", "steps=3", "--out", "e.json",
    ),
    "evaluate, 2 workers": (
        "evaluate", "--learner", "rdn-b", "--query", "advisedBy", "--db", "0.db", "1.db",
        "--schema", "schema.mln", "--set", "steps=3", "--jobs", "2", "--out", "e.json",
    ),
    "weights": ("weights", "--model", "rules.mln", "--db", "0.db", "--out", "w.mln"),
    "infer, sampled": (
        "infer", "--model", "rules.mln", "--db", "0.db", "--query", "advisedBy", "--open",
        "advisedBy,professor", "--method", "gibbs", "--samples", "20000", "--out", "p.csv",
    ),
    "report": ("report", "--model", "rules.mln", "--db", "0.db", "--query", "advisedBy",
               "--out", "r.html"),
    "convert": ("convert", "--tables", "t", "--out", "c.db"),
}  # fmt: skip
"""Commands that go through all phases: start, reading, learning, answering, writing."""
_RULES = (
    "1 publication(t,x) ^ publication(t,y) ^ professor(y) => advisedBy(x,y)\n-2 advisedBy(x,y)\n"
)


@dataclass(frozen=True)
class Signalled:
    """What became of a command that was sent signals.

    Attributes
    ----------
    sent
        Signals that came while it ran.
    wrong
        Other exit codes than 130 and 143, tracebacks, and files that were left half written.
    orphans
        Processes that were still there a minute later.
    """

    sent: int
    wrong: int
    orphans: int


def signalled(name: str, tries: int, seed: str) -> Signalled:
    """Send a command as many signals, each at a random moment of a new run."""
    rng = random.Random(f"signals/{name}/{seed}")
    sent = wrong = orphans = 0
    longest = 1.2 * _seconds(name)
    while sent < tries:
        number = rng.choice(list(_CODES))
        with scratch.folder() as folder:
            _fill(folder)
            child = _start(name, folder)
            if wait_for(child, rng.uniform(0.0, longest)):
                os.kill(child, number)
                sent += 1
            code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
            fault = _fault(code, number, folder)
            if fault:
                sys.stderr.write(f"{name}, {number.name}: {fault}\n")
            wrong += bool(fault)
            orphans += len(_left_behind(child))
        longest *= 0.97
    return Signalled(sent, wrong, orphans)


@cache
def _seconds(name: str) -> float:
    """Return the CPU seconds of a whole run, those of its start among them."""
    with scratch.folder() as folder:
        _fill(folder)
        child = _start(name, folder)
        pid, status, usage = os.wait4(child, 0)
        said = (folder / "said").read_text()
        assert os.waitstatus_to_exitcode(status) == 0, f"{name}: {said[-500:]}"
        assert pid == child
        return usage.ru_utime + usage.ru_stime


@cache
def _files() -> dict[str, bytes]:
    made = university(25, areas=2, rng=0)
    with scratch.folder() as folder:
        for number, database in enumerate(made.databases[:2]):
            write_db(database, folder / f"{number}.db")
        MLN(made.schema).save(folder / "schema.mln")
        found = {file.name: file.read_bytes() for file in folder.iterdir()}
    found["rules.mln"] = found["schema.mln"] + b"\n" + _RULES.encode()
    rows = [f"P{a}\tknows\tP{b}" for a in range(12) for b in range(12) if (a * b) % 5 == 1]
    rows += [f"P{b}\tlikes\tP{a}" for a in range(12) for b in range(12) if (a * b) % 5 == 1]
    found["kg.tsv"] = ("\n".join(rows) + "\n").encode()
    return found


_TABLES = {
    "person.csv": "id,age,town\n"
    + "".join(
        f"p{i},{'old' if i % 3 else 'young'},{'Ulm' if i % 2 else 'Bonn'}\n" for i in range(40)
    ),
    "friend.csv": "one,two\n" + "".join(f"p{i},p{(3 * i + 1) % 40}\n" for i in range(40)),
    "schema.sql": "CREATE TABLE person (id TEXT PRIMARY KEY, age TEXT, town TEXT);\n"
    "CREATE TABLE friend (one TEXT REFERENCES person, two TEXT REFERENCES person,"
    " PRIMARY KEY (one, two));\n",
}


def _fill(folder: Path) -> None:
    for name, content in _files().items():
        (folder / name).write_bytes(content)
    (folder / "t").mkdir()
    for name, text in _TABLES.items():
        (folder / "t" / name).write_text(text)


def _start(name: str, folder: Path) -> int:
    # a signal in a child that has not begun would send it on as a second parent
    signal.pthread_sigmask(signal.SIG_BLOCK, _CODES)
    child = os.fork()
    if child == 0:
        code = 70
        try:
            code = _program(name, folder)
        except KeyboardInterrupt:  # it came when the program had ended
            code = 0
        finally:
            os._exit(code)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _CODES)
    return child


def _program(name: str, folder: Path) -> int:
    """Run a command as a process of its own would; return its exit code."""
    os.setsid()
    os.chdir(folder)
    said = os.open("said", os.O_CREAT | os.O_WRONLY)
    os.dup2(said, 1)
    os.dup2(said, 2)
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # until the program listens
    sys.argv = ["mlnlearn", *COMMANDS[name]]
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _CODES)
    try:
        run()
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else 71
    finally:
        sys.stderr.flush()
    return 72


def _fault(code: int, number: signal.Signals, folder: Path) -> str:
    said = (folder / "said").read_text(errors="replace") if (folder / "said").exists() else ""
    if "Traceback" in said:
        return f"a traceback: {said[-300:]}"
    if code not in (0, _CODES[number], -number):
        return f"exit code {code}: {said[-300:]}"
    if code == -number and said:
        return "the program began, and did not answer the signal"
    told = "go on from" in said or "written to" in said  # nothing is left to do
    if code == _CODES[number] and (folder / "run.jsonl").exists() and not told:
        return "not a word on how to go on"
    return _half_written(folder)


def _half_written(folder: Path) -> str:
    """Models and their JSON come together; nothing else is left in the folder."""
    expected = {*_files(), "t", "said", "run.jsonl", "m.mln", "m.json", "m.html", "e.json"}
    more = sorted({file.name for file in folder.iterdir()} - expected - _OUTPUTS)
    if more:
        return f"left behind: {', '.join(more)}"
    for file in ("m.json", "e.json"):
        if (folder / file).exists():
            json.loads((folder / file).read_text())
    return ""


_OUTPUTS = {"w.mln", "p.csv", "r.html", "c.db", "c.mln", "m.toml", "m_report.html"}


def _left_behind(session: int) -> list[int]:
    """Return the processes of a session that do not end."""
    end = time.monotonic() + _PATIENCE
    while True:
        found = [int(pid) for pid in os.listdir("/proc") if pid.isdigit() and _is_in(pid, session)]
        if not found or time.monotonic() > end:
            return found
        time.sleep(0.1)


def _is_in(process: str, session: int) -> bool:
    try:
        with open(f"/proc/{process}/stat") as file:
            fields = file.read().rsplit(")", 1)[1].split()
    except OSError:  # it has ended
        return False
    return fields[0] != "Z" and int(fields[3]) == session
