# make demo, make test, make lint: each brings what it needs into .venv. Another Python: make PYTHON=… demo

PYTHON ?= python3.11
VENV := .venv
BIN := $(VENV)/bin
PIP_INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt
REQUIREMENTS := pyproject.toml constraints.txt

# Two torch threads in one process, and two processes with one each, would spin against each other.
export OMP_NUM_THREADS := 1

.DEFAULT_GOAL := help
.PHONY: help demo test lint readme clean

help: ## say what there is
	@grep -hE '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):.*## /  make \1\t/'

demo: $(VENV)/.base ## one offline AO2 run of the scripted scientist, and its scores (no torch)
	$(BIN)/inspect eval hepbench/ao2 --model hepbench/scientist --log-dir ./logs --display plain
	@echo
	$(BIN)/hepbench scores ./logs

test: $(VENV)/.all ## every test, live relaxations by CHGNet and MACE included (PYTEST_ARGS="-k …" for some)
	$(BIN)/python -m pytest $(PYTEST_ARGS)

lint: $(VENV)/.dev ## ruff, mypy strict, and the one-way imports
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy -p hepbench
	$(BIN)/lint-imports

readme: $(VENV)/.base ## refresh the README's table of truth from the reference set
	$(BIN)/hepbench reference show ao2 --markdown > .truth.md
	sed -i -e '/<!-- truth -->/,/<!-- \/truth -->/{//!d}' -e '/<!-- truth -->/r .truth.md' README.md
	rm .truth.md

clean: ## remove .venv and caches; logs stay
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache build dist

# An empty file per set of extras says that it is installed; a changed requirement makes it old.
$(VENV)/.base: $(REQUIREMENTS) | $(BIN)/python
	@echo 'Installing hepbench into $(VENV), once: a minute or two'
	$(PIP_INSTALL) -e .
	@touch $@

$(VENV)/.dev: $(REQUIREMENTS) | $(BIN)/python
	@echo 'Installing hepbench and its tools into $(VENV), once'
	$(PIP_INSTALL) -e '.[dev]'
	@touch $@ $(VENV)/.base

$(VENV)/.all: $(REQUIREMENTS) | $(BIN)/python
	@echo 'Installing hepbench, its tools, CHGNet, MACE and torch into $(VENV), once: a few minutes'
	$(PIP_INSTALL) -e '.[chgnet,mace,dev]'
	@touch $@ $(VENV)/.base $(VENV)/.dev

$(BIN)/python:
	@command -v $(PYTHON) >/dev/null || \
	  { echo "make: no $(PYTHON) here. Name a Python 3.11 or later: make PYTHON=/path/to/python3 …" >&2; exit 1; }
	@$(PYTHON) -m venv $(VENV) || \
	  { rm -rf $(VENV); echo "make: $(PYTHON) makes no venv (Debian: apt install python3.11-venv)" >&2; exit 1; }
