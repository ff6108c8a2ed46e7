# Every target sets up its own virtual environment where there is none.
PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready

.PHONY: demo test lint bench deep torture studies clean

demo: $(READY)
	$(BIN)/mlnlearn demo --report demo.html

test: $(READY)
	$(BIN)/python -m pytest -n auto

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: $(READY)
	$(BIN)/python -m bench

# 10,000 random models: every path against the reference, minutes on two cores; writes its figures.
DEEP ?= --models 10000 --jobs 2 --out docs/results/agreement.md
deep: $(READY)
	PYTHONPATH=tests $(BIN)/python -m agreement $(DEEP)

# Fuzzed inputs to every reader; TORTURE="--inputs 1000000 --seed 7" for more, or others.
TORTURE ?=
torture: $(READY)
	PYTHONPATH=tests $(BIN)/python -m torture $(TORTURE)

# Those that fit into an hour together; needs the benchmark data (MLNLEARN_DATA).
studies: $(READY)
	$(BIN)/python -m studies run

$(READY): pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --editable ".[test,dev]"
	touch $(READY)

clean:
	rm -rf .venv build dist src/*.egg-info
