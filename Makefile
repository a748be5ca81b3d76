# Everything here works from a fresh checkout with Python 3.11 or newer and make.
#
#   make run         list configurations         make run RUN_ARGS='--dtype fp16 --limit 5'
#   make test        run the tests               make test TEST_ARGS='-k wheel'
#   make lint        ruff and mypy               make docs   write the pages that are generated
#   make certify     more compiler proofs        make site   docs/ as a site, in build/site
#   make toolchain   compiler and CK headers     make bench  run the benchmarks
#   make dist        sdist and wheel             make clean  remove what make made
#
# PYTHON chooses the interpreter of the virtual environment: make test PYTHON=python3.12

RUN_ARGS ?= --catalog recommended --best 20
# What is not named in RUN_ARGS, which may name kernels of any family.
RUN_WHAT = $(if $(filter --variant --variant=% --family --family=%,$(RUN_ARGS)),,--variant bwd_weight) \
  $(if $(filter --arch --arch=%,$(RUN_ARGS)),,--arch gfx1201)
TEST_ARGS ?=
# One more than two cores have: some tests wait.
TEST_JOBS ?= 3

# All paths are relative: a checkout below a folder with spaces works.
VENV := .venv
PY := $(VENV)/bin/python
PLUGINS := $(addprefix -p tests.plugins.,skips hangs progress order)
PYTEST := $(PY) -m pytest $(PLUGINS)
NEW_ENOUGH := import sys; sys.exit(sys.version_info < (3, 11))
IDENTITY := import sys; print(sys.base_prefix, sys.hexversion)

ifdef PYTHON
SAME := [ "$$("$(PYTHON)" -c '$(IDENTITY)' 2>&1)" = "$$($(PY) -c '$(IDENTITY)' 2>&1)" ]
else
SAME := :
PYTHON := $(shell for p in python3 python3.11 python3.12 python3.13 python3.14; do \
  "$$p" -c '$(NEW_ENOUGH)' 2>/dev/null && { echo "$$p"; break; }; done)
endif
# Says "anew" of an environment that cannot start, was copied from another place or belongs to
# another interpreter than the one asked for. Only looked up here: the rule of .made replaces it.
UNFIT := $(shell $(PY) -c '$(NEW_ENOUGH)' 2>/dev/null \
  && { [ ! -e $(VENV)/.made ] || [ "$$(cat $(VENV)/.made)" = "$$(pwd -P)" ]; } \
  && $(SAME) || echo anew)

.NOTPARALLEL:
.PHONY: help run test certify lint docs site dist bench toolchain clean anew

help:
	@sed -n '/^#/!q; s/^# \{0,1\}//; p' Makefile

run: $(VENV)/.run
	@$(PY) -m ckrules enumerate $(RUN_WHAT) $(RUN_ARGS)

test: $(VENV)/.test
	@$(PYTEST) -n $(TEST_JOBS) --dist loadfile $(TEST_ARGS)

certify: $(VENV)/.test
	@CKRULES_REQUIRE_TOOLCHAIN=1 $(PYTEST) -n $(TEST_JOBS) --dist loadfile --certify -m certify \
	  $(TEST_ARGS)

lint: $(VENV)/.dev
	@$(PY) -m ruff check .
	@$(PY) -m ruff format --check .
	@$(PY) -m mypy

docs: $(VENV)/.test
	@$(PY) -m ckrules docs --out docs/rules
	@$(PY) scripts/upstream_differences.py --write
	@$(PY) scripts/evidence_runs.py --write
	@$(PY) scripts/hardware_reports.py --write
	@$(PY) scripts/readings.py --write
	@$(PY) tests/docs/consoles.py README.md docs/*.md

site: $(VENV)/.docs
	@start=$$(date +%s); NO_MKDOCS_2_WARNING=1 $(PY) -m mkdocs build --quiet --strict \
	  && echo "make: the site is build/site/index.html ($$(($$(date +%s) - start)) s)"

dist: $(VENV)/.test
	@rm -rf dist
	@$(PY) -m build --outdir dist .

bench: $(VENV)/.test
	@set -e; for script in benchmarks/[a-z]*.py; do \
	  [ -e "$$script" ] || { echo "make: benchmarks/ holds no script" >&2; exit 1; }; \
	  echo "== $$script"; PYTHONPATH=. $(PY) "$$script"; done

toolchain:
	@bash scripts/toolchain.sh

clean:
	rm -rf $(VENV) build dist docs/rules ckrules.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find arch benchmarks ckrules codegen constraints tests -name __pycache__ -prune \
	  -exec rm -rf {} +

# One stamp for each set of extras, older than neither pyproject.toml nor the environment.
$(VENV)/.run: EXTRAS :=
$(VENV)/.test: EXTRAS := [test]
$(VENV)/.dev: EXTRAS := [dev]
$(VENV)/.docs: EXTRAS := [docs]
$(VENV)/.run $(VENV)/.test $(VENV)/.dev $(VENV)/.docs: pyproject.toml $(VENV)/.made
	@echo "make: installing ckrules$(EXTRAS) into $(VENV)" >&2
	@$(PY) -m pip --disable-pip-version-check install --quiet --editable ".$(EXTRAS)" || { \
	  echo "make: pip could not install ckrules$(EXTRAS) from the package index" >&2; exit 1; }
	@touch $@

# An environment that works and that make did not create is used as it is.
$(VENV)/.made: $(UNFIT)
	@if [ -z "$(UNFIT)" ] && [ -e $(PY) ]; then :; elif [ -z "$(PYTHON)" ]; then \
	  echo "make: no Python 3.11 or newer found; name one: make PYTHON=/path/to/python3" >&2; \
	  exit 1; \
	elif ! "$(PYTHON)" -c '$(NEW_ENOUGH)' 2>/dev/null; then \
	  echo "make: $(PYTHON) is not Python 3.11 or newer" >&2; exit 1; \
	elif ! "$(PYTHON)" -c 'import ensurepip, venv' 2>/dev/null; then \
	  echo "make: $(PYTHON) cannot make virtual environments; install python3-venv" >&2; exit 1; \
	else rm -rf $@ $(PY); "$(PYTHON)" -m venv --clear $(VENV); fi
	@pwd -P > $@
