"""Ctrl-C, SIGTERM and SIGKILL: exit codes, what is said, and that nobody is left behind."""

import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from scipy.sparse import csr_array

from mlnlearn.data.synthetic import university
from mlnlearn.data.write import write_db
from mlnlearn.infer.network import Network
from mlnlearn.infer.sampling.chains import run_chains
from mlnlearn.infer.sampling.maxwalksat import maxwalksat
from mlnlearn.model.mln import MLN

PROGRAM = (sys.executable, "-c", "from mlnlearn.cli.main import run; run()")
LONG = (
    "--learner",
    "rdn-b",
    "--schema",
    "schema.mln",
    "--set",
    "steps=2000",
    "--db",
    "0.db",
    "1.db",
)
PATIENCE = 60.0


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    folder = tmp_path_factory.mktemp("signals")
    made = university(40, areas=2, rng=0)
    for number, database in enumerate(made.databases):
        write_db(database, folder / f"{number}.db")
    MLN(made.schema).save(folder / "schema.mln")
    return folder


def start(folder, *arguments):
    return subprocess.Popen(
        [*PROGRAM, *arguments],
        cwd=folder,
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        text=True,
    )


def wait_until(holds):
    end = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.05)


def workers_of(process):
    """The workers of a process, by /proc: `ps` may cut what it prints to a terminal's width."""
    return [
        worker
        for worker in map(int, filter(str.isdigit, os.listdir("/proc")))
        if _started(process, worker)
    ]


def _started(process, worker):
    try:
        with open(f"/proc/{worker}/stat") as file:
            parent = int(file.read().rsplit(")", 1)[1].split()[1])
        with open(f"/proc/{worker}/cmdline") as file:
            return parent == process and "popen_loky" in file.read()
    except OSError:  # it has ended
        return False


def is_alive(process):
    try:
        with open(f"/proc/{process}/stat") as file:
            return file.read().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_stopped_run_says_how_to_go_on(data, tmp_path, number, code):
    kept = tmp_path / "run.json"
    process = start(
        data,
        "learn",
        *LONG,
        "--target",
        "advisedBy",
        "--checkpoint",
        kept,
        "--out",
        tmp_path / "m.mln",
    )
    wait_until(kept.exists)
    process.send_signal(number)
    _, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == code, err
    assert f"run the same command again to go on from {kept}" in err
    assert "Traceback" not in err
    assert os.listdir(tmp_path) == ["run.json"]


@pytest.mark.skipif(not os.path.exists("/proc/self/stat"), reason="looks for processes in /proc")
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_workers_end_with_their_parent(data, number):
    process = start(data, "evaluate", *LONG, "--query", "advisedBy", "--jobs", "2")
    wait_until(lambda: len(workers_of(process.pid)) == 2)
    workers = workers_of(process.pid)
    time.sleep(2.0)  # while they start, or work
    process.send_signal(number)
    process.communicate(timeout=PATIENCE)
    assert process.returncode in (-number, 128 + number)
    wait_until(lambda: not any(map(is_alive, workers)))


def chain(size):
    """Atoms in a row, each like the next."""
    left = np.arange(size - 1, dtype=np.int32)
    variables = np.stack([left, left + 1] * 2, axis=1).reshape(-1)
    signs = np.tile(np.array([True, False, False, True]), size - 1)
    clauses = 2 * (size - 1)
    return Network(
        cardinalities=np.full(size, 2, np.int32),
        unary_starts=np.arange(0, 2 * size + 2, 2),
        unary_counts=csr_array((2 * size, 1)),
        forbidden=np.zeros(2 * size, bool),
        clause_starts=np.arange(0, 2 * clauses + 2, 2),
        literal_variable=variables,
        literal_value=np.ones(2 * clauses, np.int32),
        literal_positive=signs,
        clause_rule=np.zeros(clauses, np.int32),
        multiplicity=np.ones(clauses),
        constants=np.zeros(1),
        weights=np.array([1.0]),
    )


@pytest.mark.parametrize(
    "work",
    [
        lambda: run_chains(chain(50), "gibbs", samples=10**12),
        lambda: run_chains(chain(50), "mcsat", samples=10**12),
        lambda: run_chains(chain(50), "gibbs", samples=10**12, workers=2),
        lambda: maxwalksat(_contradictory(), seed=0, flips=10**12),
    ],
)
def test_samplers_can_be_interrupted(work):
    run_chains(chain(3), "gibbs", samples=8)  # compiled beforehand
    run_chains(chain(3), "mcsat", samples=8)
    maxwalksat(_contradictory(), seed=0, flips=30_000, tries=1)
    started = time.monotonic()
    main = threading.main_thread().ident
    # a shell starts background jobs with Ctrl-C ignored, and so does a test that was interrupted
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    threading.Timer(0.5, lambda: signal.pthread_kill(main, signal.SIGINT)).start()
    try:
        with pytest.raises(KeyboardInterrupt):
            work()
    finally:
        signal.signal(signal.SIGINT, before)
    assert time.monotonic() - started < PATIENCE  # it would take days


def test_samplers_obey_a_time_limit():
    found = run_chains(chain(50), "gibbs", samples=10**12, max_seconds=0.2)
    assert found.stopped_by == "time"
    best = maxwalksat(_contradictory(), seed=0, flips=10**12, max_seconds=0.2)
    assert best.tries < 10


def _contradictory():
    """A row of atoms that want to differ from their neighbours and to be alike."""
    network = chain(20)
    differ = np.tile(np.array([True, True, False, False]), len(network.multiplicity) // 2)
    both = np.concatenate([network.literal_positive, differ])
    clauses = 2 * len(network.multiplicity)
    return Network(
        cardinalities=network.cardinalities,
        unary_starts=network.unary_starts,
        unary_counts=network.unary_counts,
        forbidden=network.forbidden,
        clause_starts=np.arange(0, 2 * clauses + 2, 2),
        literal_variable=np.tile(network.literal_variable, 2),
        literal_value=np.ones(2 * clauses, np.int32),
        literal_positive=both,
        clause_rule=np.zeros(clauses, np.int32),
        multiplicity=np.ones(clauses),
        constants=np.zeros(1),
        weights=np.array([1.0]),
    )
