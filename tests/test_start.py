"""What a start costs, by what is loaded and compiled: nothing here is timed."""

import subprocess
import sys

import numpy as np
import pytest
from scipy.special import expit as scipy_expit

from mlnlearn.late import late
from mlnlearn.logistic import expit

HEAVY = ("sqlite3", "scipy.special", "scipy.sparse", "sklearn", "duckdb", "joblib", "narwhals")
HELP = ("numpy", "numba", *HEAVY)
COMPILER = "numba.np.arraymath"  # a part of the compiler that only compiling needs

START = f"""
import contextlib, gc, io, sys
import mlnlearn as ml
from mlnlearn.cli.app import app

with contextlib.redirect_stdout(io.StringIO()):
    app(["--help"], standalone_mode=False)
print("help:", [name for name in {HELP!r} if name in sys.modules])

schema = ml.MLN.parse("advised(person, person)\\nwrote(person, paper)").schema
pairs = [(f"S{{i}}", f"P{{i % 3}}") for i in range(9)]
wrote = [(who, f"T{{i}}") for i, pair in enumerate(pairs) for who in pair]
data = ml.Database.from_facts(schema, {{"advised": pairs, "wrote": wrote}})
for learner in (
    ml.BoostedMLN(target="advised", steps=2),
    ml.BoostedMLN(target="advised", steps=2, representation="clauses"),
    ml.BoostedRDN(target="advised", steps=2),
):
    learner.fit([data]).model.query(data, ["advised"])
compiled = {COMPILER!r} in sys.modules  # which brings a part of SciPy along
print("learn:", compiled or [name for name in {HEAVY!r} if name in sys.modules])

from numba.core.dispatcher import Dispatcher

used = [each for each in gc.get_objects() if isinstance(each, Dispatcher) and each.signatures]
print("kernels:", len(used) > 3)
print("again:", [each.py_func.__name__ for each in used if len(each.signatures) > 1])
"""

KERNEL = f"""
import sys
import numpy as np
from mlnlearn.compiled import njit

@njit(cache=True)
def halves(numbers):
    return numbers / 2

print(halves(np.arange(3.0)), sum(halves.stats.cache_hits.values()), {COMPILER!r} in sys.modules)
"""

WATCHED = """
from numba.core.runtime import nrtdynmod

_create = nrtdynmod.create_nrt_module
nrtdynmod.create_nrt_module = lambda context: print("compiled") or _create(context)
"""


def run(*arguments):
    found = subprocess.run(
        [sys.executable, *map(str, arguments)], capture_output=True, text=True, check=False
    )
    assert found.returncode == 0, found.stderr
    return found.stdout.splitlines()


def test_a_start_loads_only_what_it_uses_and_a_kernel_is_compiled_for_one_kind_of_arrays():
    run("-c", START)  # so that all is compiled
    help_, learn, kernels, again = run("-c", START)
    assert help_ == "help: []"
    assert learn == "learn: []"
    assert kernels == "kernels: True"
    assert again == "again: []"


def test_kept_machine_code_is_loaded_without_the_compiler(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(KERNEL)
    assert run(script) == ["[0.  0.5 1. ] 0 True"]
    assert run(script) == ["[0.  0.5 1. ] 1 False"]
    # nor are the helpers of arrays compiled anew, unless what was kept of them is damaged
    script.write_text(WATCHED + KERNEL)
    run(script)
    assert run(script) == ["[0.  0.5 1. ] 1 False"]
    (helpers,) = (tmp_path / "__pycache__").glob("helpers-*.bin")
    code = helpers.read_bytes()
    for damaged in (code[:-1], b"", code[:40] + bytes([code[40] ^ 1]) + code[41:]):
        helpers.write_bytes(damaged)
        assert run(script) == ["compiled", "[0.  0.5 1. ] 1 False"]
        assert helpers.read_bytes() == code


def test_a_late_module_is_imported_when_it_is_used(monkeypatch):
    module = late("wave")
    monkeypatch.delitem(sys.modules, "wave", raising=False)
    assert "wave" not in sys.modules
    assert module.Error.__module__ == "wave"
    assert "wave" in sys.modules
    with pytest.raises(AttributeError):
        _ = module.nothing_of_that_name


def test_the_logistic_function_is_that_of_scipy_to_the_bit():
    log_odds = np.random.default_rng(0).normal(scale=30, size=(300, 200))
    assert np.array_equal(expit(log_odds.T), scipy_expit(log_odds.T))
    limits = np.array([np.inf, -np.inf, 800.0, -800.0, 0.0])
    assert np.array_equal(expit(limits), scipy_expit(limits))
    assert expit(0.25).shape == ()
    assert float(expit(0.25)) == float(scipy_expit(0.25))
