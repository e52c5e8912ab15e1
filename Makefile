# Every target sets up what it needs in .venv first. `make demo` runs the whole chain, `make test` the whole suite.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready

.PHONY: demo test check docs bench lock clean setup
.DEFAULT_GOAL := help

help:
	@echo "make demo    the whole chain on bundled projects: tasks, attempts, rewards, a dataset (offline after set-up)"
	@echo "make test    the whole test suite"
	@echo "make check   linter, type checker, generated docs"
	@echo "make docs    write the generated pages under docs/"
	@echo "make bench   list the benchmarks and how to run each"

setup: $(READY)

$(READY): pyproject.toml requirements.lock scripts/setup.sh
	@PYTHON="$(PYTHON)" VENV="$(VENV)" bash scripts/setup.sh
	@touch $(READY)

demo: setup
	$(BIN)/redtogreen demo --out demo --seed 0

test: setup
	$(BIN)/python -m pytest

check: setup
	$(BIN)/ruff check src tests benchmarks
	$(BIN)/ruff format --check src tests benchmarks
	$(BIN)/mypy
	$(BIN)/python -m pytest tests/test_layers.py tests/test_public_api.py tests/test_docs.py

docs: setup
	$(BIN)/python scripts/make_docs.py

bench: setup
	@$(BIN)/python -m benchmarks

lock: setup
	$(BIN)/python scripts/make_lock.py

clean:
	rm -rf $(VENV) demo .mypy_cache .ruff_cache
