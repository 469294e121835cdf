# Names for what a change must hold; every one is a plain command. PYTHON is the Python of the development install.
PYTHON ?= python

.PHONY: test lint guard guard-record bench bench-check

test:
	$(PYTHON) -m pytest

lint:
	$(PYTHON) -m ruff check .
	$(PYTHON) -m ruff format --check .
	$(PYTHON) -m mypy

guard:
	$(PYTHON) -m tests.guard.run

guard-record:
	$(PYTHON) -m tests.guard.run --record

bench:
	$(PYTHON) -m tests.bench.run $(BENCH)

bench-check:
	$(PYTHON) -m tests.bench.run --check-only
