# make demo    the comparison of exact and heuristic schedules; out/demo/report.html
# make test    the tests
# Everything is installed into .venv from the constraints file of the Python at hand.

SHELL       := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

# The first of these that exists and is new enough; choose another with: make PYTHON=/path/to/python
PYTHON ?= $(shell for p in python3.11 python3.12 python3.13 python3; do \
	command -v $$p >/dev/null 2>&1 && $$p -c 'import sys, venv; sys.exit(not (3, 11) <= sys.version_info < (3, 14))' 2>/dev/null && echo $$p && break; done)

VENV     := .venv
BIN      := $(VENV)/bin
STAMP    := $(VENV)/.installed
DEVSTAMP := $(VENV)/.installed-dev
PIP      := $(BIN)/python -m pip --disable-pip-version-check
# -q hides progress, not errors
# build isolation takes its tools from the same file
INSTALL   = install -q --no-input --build-constraint $(CONSTRAINTS) --constraint $(CONSTRAINTS)


.PHONY: sweep repro repro-quick
.PHONY: help demo test test-ci slow browser lint format types imports docs bench wheel ci clean setup setup-dev

help:
	@echo "make demo     compare exact and heuristic schedules, write out/demo/report.html"
	@echo "make test     run the tests"
	@echo "make sweep SPEC=analysis/sweeps/quick.toml    many runs from one file, resumed by default; report in out/sweeps"
	@echo "make repro-quick    the claims of the papers in minutes; make repro runs them in full, overnight, resumed by default"
	@echo "make lint types imports docs bench wheel browser slow    the single checks of CI"
	@echo "make ci       everything that CI runs"
	@echo "make clean    remove what make made, the environment too"

$(BIN)/python:
	@test -n "$(PYTHON)" || { echo "No Python 3.11, 3.12 or 3.13 with venv was found; name one: make PYTHON=/path/to/python" >&2; exit 2; }
	@# Debian ships Python without ensurepip; its pip can fill an environment from outside
	$(PYTHON) -m venv $(VENV) 2>/dev/null || { \
	  $(PYTHON) -m venv --clear --without-pip $(VENV) && \
	  $(PYTHON) -m pip --disable-pip-version-check --python $(BIN)/python install -q pip; }

CONSTRAINTS = constraints/py$$($(BIN)/python -c 'import sys; print("%d%d" % sys.version_info[:2])').txt

$(STAMP): pyproject.toml $(wildcard constraints/*.txt) | $(BIN)/python
	@echo "Installing into $(VENV); the first time takes a few minutes."
	@test -f $(CONSTRAINTS) || { echo "$(CONSTRAINTS) is missing: this Python has no constraints file; use 3.11, 3.12 or 3.13" >&2; exit 2; }
	$(PIP) install -q --no-input --constraint $(CONSTRAINTS) pip
	$(PIP) $(INSTALL) --editable '.[all,test]'
	touch $@

$(DEVSTAMP): $(STAMP)
	$(PIP) $(INSTALL) --editable '.[all,test,peers]' --group lint --group docs --group bench --group browser --group build
	touch $@

setup: $(STAMP)
setup-dev: $(DEVSTAMP)

demo: $(STAMP)
	$(BIN)/python -m hetopt.analysis.demo --out out/demo

test: $(STAMP)
	$(BIN)/python -m pytest -n auto

# what takes too long for the default run: whole pages, many processes
test-ci: $(STAMP)
	$(BIN)/python -m pytest -n auto -m ci

slow: $(DEVSTAMP)
	$(BIN)/python -m pytest -m slow

browser: $(DEVSTAMP)
	$(BIN)/python -m pytest -m browser

# more options of hetopt sweep and hetopt reproduce through ARGS
sweep: $(STAMP)
	@test -n "$(SPEC)" || { echo "name a sweep: make sweep SPEC=analysis/sweeps/quick.toml" >&2; exit 2; }
	$(BIN)/hetopt sweep $(SPEC) --out out/sweeps/$(basename $(notdir $(SPEC))) \
	  --report out/sweeps/$(basename $(notdir $(SPEC))).html --csv out/sweeps/$(basename $(notdir $(SPEC))).csv $(ARGS)

repro: $(STAMP)
	$(BIN)/hetopt reproduce hare --page paper_repro $(ARGS)
	$(BIN)/hetopt reproduce fft --page paper_repro $(ARGS)

repro-quick: $(STAMP)
	$(BIN)/hetopt reproduce hare --quick $(ARGS)
	$(BIN)/hetopt reproduce fft --quick $(ARGS)

lint: $(DEVSTAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

format: $(DEVSTAMP)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

types: $(DEVSTAMP)
	$(BIN)/mypy --strict

imports: $(DEVSTAMP)
	$(BIN)/lint-imports

docs: $(DEVSTAMP)
	$(BIN)/sphinx-build -q -W --keep-going -b html docs docs/_build/html

bench: $(DEVSTAMP)
	$(BIN)/python benchmarks/smoke.py

wheel: $(DEVSTAMP)
	$(BIN)/python tests/architecture/bare_wheel.py

ci:
	bash .ci/run

clean:
	rm -rf $(VENV) out build dist docs/_build docs/jupyter_execute .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache .benchmarks
	find . -name __pycache__ -type d -not -path './.git/*' -prune -exec rm -rf {} +
