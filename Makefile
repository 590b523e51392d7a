PYTHON ?= python3
WORKERS ?= 2
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help setup test test-long lint docs demo bench bench-age bench-planning clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-15s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: $(STAMP) ## make .venv as constraints.txt pins it, with Java if there is none, and fetch Delta's jars

# The stamp is written last, so an interrupted set-up is taken up again. setuptools comes first and builds without
# isolation, so that the pins hold for it too. After it, everything runs offline.
$(STAMP): pyproject.toml constraints.txt
	@$(BIN)/python -m pip --version >/dev/null 2>&1 || { \
	  $(PYTHON) -c 'import sys; sys.exit(None if sys.version_info >= (3, 11) else "olston needs Python 3.11 or later, but $(PYTHON) is " + sys.version.split()[0] + "; try make PYTHON=python3.11")' && \
	  echo "Making $(VENV)" && $(PYTHON) -m venv --clear $(VENV); }
	@echo "Installing what constraints.txt pins; the first time this takes minutes"
	@$(BIN)/python -m pip install --quiet --constraint constraints.txt setuptools
	@$(BIN)/python -m pip install --quiet --constraint constraints.txt --no-build-isolation --editable '.[dev]'
	@$(BIN)/python -m olston.java 2>/dev/null || { \
	  echo "No Java from 17 to 24 here: installing one as a wheel" && \
	  $(BIN)/python -m pip install --quiet --constraint constraints.txt --no-build-isolation --editable '.[java]' && \
	  $(BIN)/python -m olston.java; }
	@$(BIN)/python -m olston.jars
	@touch $@

test: $(STAMP) ## run the tests (WORKERS=0 for one process, ARGS="-k planner" for some, ARGS="-m 'not spark'")
	$(BIN)/python -m pytest -n $(WORKERS) --dist loadfile --no-loadscope-reorder -m "not long" $(ARGS)

test-long: $(STAMP) ## run the tests that take minutes each: kills at every fault point, a cluster
	$(BIN)/python -m pytest -m long $(ARGS)

lint: $(STAMP) ## ruff check, ruff format --check, mypy
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy

docs: $(STAMP) ## the documentation as a site, in site/
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

demo: $(STAMP) ## two weeks of search preprocessing on Spark and Delta, beside a batch job
	@$(BIN)/python -m olston.examples.search_preprocessing

bench: $(STAMP) ## olston beside its alternatives on Spark, an hour (ARGS="--only search --pages 500000")
	$(BIN)/python tests/benchmarks/refresh.py $(ARGS)

bench-age: $(STAMP) ## whether anything grows in 500 waves, a quarter of an hour
	$(BIN)/python tests/benchmarks/refresh.py --age $(ARGS)

bench-planning: $(STAMP) ## what planning costs, as ratios
	$(BIN)/python tests/benchmarks/planning.py

clean: ## remove caches and what builds and Spark leave behind; .venv stays
	rm -rf build dist site *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis .coverage
	rm -rf spark-warehouse metastore_db derby.log
	find . \( -name $(VENV) -o -name .git \) -prune -o -name __pycache__ -type d -prune -exec rm -rf {} +
