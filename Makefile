# Two commands on a fresh machine with Python >= 3.11 and make: `make demo` and `make test`.
# Every path is relative, so a clone works in any folder, with spaces in its name too.

PYTHON ?= python3
OLDEST ?= python3.11
VENV := .venv
LOWEST := .venv-lowest
COMPILED := src/lsmdp/_core/__pycache__/.compiled
RUN := $(VENV)/bin/python
PIP := $(RUN) -m pip install --quiet --disable-pip-version-check

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.NOTPARALLEL:
.PHONY: help demo test compiled browser lint lowest wheel docs note bench bench-full rates clean

help: ## show this list
	@echo 'lsmdp: linearly solvable MDPs. Commands (PYTHON=/path/to/python3 chooses the interpreter):'
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' Makefile | awk -F '\t' '{ printf "  make %-10s %s\n", $$1, $$2 }'

demo: $(VENV)/.installed ## install into .venv, play a game in a museum and write a page about it
	@$(VENV)/bin/lsmdp demo

# A worker takes one file of tests after the other, in the order of their names, so that no fixture of a file is made
# twice: the site of the manual takes half a minute. There is a worker to a core: threads of their own would only wait
# for each other.
test: $(VENV)/.developing browser compiled ## install with the developers' tools, then run every test
	@LSMDP_COMPILED=yes OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 \
	  $(RUN) -m pytest -n auto --dist loadfile --no-loadscope-reorder --durations=25

# Two workers that compile at once would overwrite each other's index of what there is, so it is done before, and again
# when a source has changed: that all is there takes ten seconds to find out. The stamp goes with the compiled code.
compiled: $(COMPILED)

$(COMPILED): $(VENV)/.developing $(shell find src/lsmdp -name '*.py')
	@echo 'Compiling the loops, once for all tests ...'
	@$(VENV)/bin/lsmdp compile > /dev/null
	@mkdir -p $(@D) && touch $@

# The page of a run is tested in a real browser. Where there is none and we may, the system's Chromium is installed;
# elsewhere the tests that want it say so.
browser:
	@command -v chromium >/dev/null || command -v chromium-browser >/dev/null || command -v google-chrome >/dev/null || { \
	  command -v apt-get >/dev/null && [ "$$(id -u)" = 0 ] && \
	  echo 'Installing Chromium for the tests of the page ...' && \
	  apt-get update -qq >/dev/null 2>&1; apt-get install -y -qq chromium >/dev/null 2>&1; } || true

lint: $(VENV)/.developing ## style (ruff check, ruff format) and types (mypy --strict)
	@$(RUN) -m ruff check .
	@$(RUN) -m ruff format --check .
	@$(RUN) -m mypy

lowest: $(LOWEST)/.installed ## try every command with the lowest versions that pyproject.toml allows, in .venv-lowest
	@$(LOWEST)/bin/python tests/smoke.py

wheel: ## build a wheel into dist, and try every command with it alone, in build/wheel
	@rm -rf build/wheel dist
	@"$(PYTHON)" -m venv build/wheel
	@build/wheel/bin/python -m pip wheel --quiet --disable-pip-version-check --no-deps --wheel-dir dist .
	@build/wheel/bin/python -m pip install --quiet --disable-pip-version-check dist/*.whl
	@build/wheel/bin/python tests/smoke.py

docs: $(VENV)/.developing ## build the manual into build/docs, a site that works from disk
	@$(RUN) -m sphinx -q -W --keep-going -b html -d build/doctrees docs build/docs
	@echo "The manual is in build/docs/index.html"

note: $(VENV)/.developing ## compute the numbers of docs/note again, and build its PDF
	@$(RUN) docs/note/build.py

bench: $(VENV)/.developing ## time lsmdp against its peers (15 minutes) and write docs/performance.md
	@$(RUN) -m benchmarks

bench-full: $(VENV)/.developing ## the same with the cases that take long
	@$(RUN) -m benchmarks --full

rates: $(VENV)/.installed ## who is best where: 240 games in some ten minutes, the page is runs/rates/report.html
	@$(VENV)/bin/lsmdp sweep experiments/rates.toml --out runs/rates
	@$(RUN) experiments/never_far_off.py runs/rates

clean: ## remove .venv, .venv-lowest and everything else that can be made again
	@rm -rf $(VENV) $(LOWEST) build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
	@find src tests benchmarks cases -name __pycache__ -type d -prune -exec rm -rf {} +

# A stamp is written after its install has succeeded, so an interrupted one starts again, and nothing is
# installed twice until pyproject.toml changes.
$(VENV)/.created:
	@command -v "$(PYTHON)" >/dev/null || { \
	  echo 'There is no "$(PYTHON)" here. lsmdp needs Python 3.11 or newer: name one with PYTHON=/path/to/python3.' >&2; \
	  exit 1; }
	@"$(PYTHON)" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "$(PYTHON) is $$("$(PYTHON)" --version 2>&1). lsmdp needs Python 3.11 or newer:" \
	    "name one with PYTHON=/path/to/python3." >&2; \
	  exit 1; }
	@echo 'Creating $(VENV) ...'
	@"$(PYTHON)" -m venv $(VENV)
	@touch $@

$(VENV)/.installed: $(VENV)/.created pyproject.toml
	@echo 'Installing lsmdp into $(VENV) ...'
	@$(PIP) -e .
	@pwd -P > $@

$(VENV)/.developing: $(VENV)/.created pyproject.toml
	@echo "Installing lsmdp and the developers' tools into $(VENV) (a few minutes the first time) ..."
	@$(PIP) -e '.[dev]'
	@pwd -P > $(VENV)/.installed
	@touch $@

# The floors are those of the oldest Python: newer ones need newer wheels, which pip finds by itself.
$(LOWEST)/.installed: pyproject.toml tests/floors.py
	@"$(OLDEST)" -c 'import sys; sys.exit(sys.version_info[:2] != (3, 11))' || { \
	  echo 'The lowest versions are tried with Python 3.11: name one with OLDEST=/path/to/python3.11.' >&2; \
	  exit 1; }
	@echo 'Installing lsmdp with the lowest versions that pyproject.toml allows into $(LOWEST) ...'
	@"$(OLDEST)" -m venv --clear $(LOWEST)
	@$(LOWEST)/bin/python tests/floors.py > $(LOWEST)/floors.txt
	@$(LOWEST)/bin/python -m pip install --quiet --disable-pip-version-check -e '.[all]' -c $(LOWEST)/floors.txt
	@pwd -P > $@

# The stamp holds the folder it was made in. A clone that was moved or copied together with its .venv would
# run the code of the old place: install again.
ifneq ($(shell cat $(VENV)/.installed 2>/dev/null),$(shell pwd -P))
.PHONY: $(VENV)/.installed $(VENV)/.developing
endif
ifneq ($(shell cat $(LOWEST)/.installed 2>/dev/null),$(shell pwd -P))
.PHONY: $(LOWEST)/.installed
endif
