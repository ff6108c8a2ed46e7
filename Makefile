# Every target sets up its own virtual environment where there is none.
PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready

.PHONY: demo test lint docs bench deep torture studies clean

demo: $(READY)
	$(BIN)/mlnlearn demo --report demo.html

test: $(READY)
	$(BIN)/python -m pytest -n auto

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(MAKE) docs

# The site, offline; a warning, such as a link that leads nowhere, is an error.
docs: $(READY)
	$(BIN)/python -m sphinx -q -W --keep-going docs build/site

bench: $(READY)
	$(BIN)/python -m bench

# 10,000 random models: every path against the reference, minutes on two cores; writes its figures.
DEEP ?= --models 10000 --jobs 2 --out docs/results/agreement.md
deep: $(READY)
	PYTHONPATH=tests $(BIN)/python -m agreement $(DEEP)

# A million fuzzed inputs, 100 kills of each learner, signals, memory, load: an hour of work or two. It can be
# stopped, and goes on where it was; TORTURE="--minutes 5" stops it, "--inputs 20000 --kills 5" is a share of it.
TORTURE ?= --page docs/results/torture.md
torture: $(READY)
	PYTHONPATH=tests $(BIN)/python -m torture $(TORTURE)

# Those behind the papers' tables, or those named: make studies STUDIES="planted_causes relbench_f1".
# Needs the benchmark data (MLNLEARN_DATA); goes on where it was stopped.
studies: $(READY)
	$(BIN)/python -m studies run $(STUDIES)

$(READY): pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --editable ".[test,dev,docs]"
	touch $(READY)

clean:
	rm -rf .venv build dist src/*.egg-info
