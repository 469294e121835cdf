# `make demo` and `make test` need nothing but Python 3.11 or newer, and make .venv themselves.
# PYTHON: what the environment is made with; the first that fits on the PATH, unless given. VENV: where it goes.
# ARGS: more for pytest. WORKERS: its processes, as many as there are cores unless given.
PYTHON ?=
VENV ?= .venv
WORKERS ?= auto
ARGS ?=
# Hundreds of tests start Python anew: where it may keep no bytecode it would compile the package in each of them.
export PYTHONDONTWRITEBYTECODE :=

python = $(VENV)/bin/python
pytest = $(python) -m pytest -n $(WORKERS) --dist worksteal
# What pip says is enough where it fails, but for where to turn.
install = sh .ci/make-venv $(VENV) $(PYTHON) && $(python) -m pip install --quiet --disable-pip-version-check
failed = { echo 'make: pip could not install what is needed; where there is a proxy or a mirror, pip reads HTTPS_PROXY and PIP_INDEX_URL' >&2; exit 1; }

.PHONY: help demo test test-fast test-workloads lint guard guard-record bench bench-check fuzz

help: ## this list
	@sed -n 's/^\([a-z-]*\):.* ## /\1\t/p' Makefile | expand -t 18

demo: $(VENV)/.package ## the report of a real trace: two GPUs train, and this is the first
	@$(VENV)/bin/nsys-digest summarize fixtures/traces/rank_0.sqlite --steps train_step --format text
	@printf '\nYour own: %s summarize TRACE.sqlite; docs/reading-a-digest.md says how to read it.\n' $(VENV)/bin/nsys-digest

test: $(VENV)/.dev ## the tests
	$(pytest) $(ARGS)

test-fast: $(VENV)/.dev ## all but the slow ones: more than 0.3 s, or 2 s with all their parameters
	$(pytest) -m 'not slow and not workloads' $(ARGS)

test-workloads: $(VENV)/.workloads ## the tests that need PyTorch
	$(pytest) -m workloads $(ARGS)

lint: $(VENV)/.dev ## ruff, its formatter as a check, mypy
	$(python) -m ruff check .
	$(python) -m ruff format --check .
	$(python) -m mypy

guard: $(VENV)/.dev ## the instructions that hot functions take, against those on record
	$(python) -m tests.guard.run

guard-record: $(VENV)/.dev ## the same, and writes the record
	$(python) -m tests.guard.run --record

bench: $(VENV)/.dev ## the benchmark, some minutes; BENCH='--sizes S,M' passes options on
	$(python) -m tests.bench.run $(BENCH)

bench-check: $(VENV)/.dev ## every way to the numbers once, only to see that they are the same
	$(python) -m tests.bench.run --check-only

fuzz: $(VENV)/.dev ## damaged input at random, until something breaks or Ctrl-C; SEED=1 begins there
	@seed=$${SEED:-$$(date +%s)}; \
	while echo "seed $$seed" && $(python) -m tests.fuzz all --seconds 60 --seed $$seed; do seed=$$((seed + 1)); done; exit 1

# Each is done anew when the packages that it needs may have changed.
$(VENV)/.package: pyproject.toml | $(python)
	@echo 'Installing nsys-digest and what it needs into $(VENV)'
	@$(install) -e . || $(failed)
	@touch $@

$(VENV)/.dev: pyproject.toml | $(python)
	@echo 'Installing nsys-digest and the tools of its tests into $(VENV)'
	@$(install) -e '.[dev]' || $(failed)
	@touch $@ $(VENV)/.package

$(VENV)/.workloads: pyproject.toml | $(python)
	@echo 'Installing nsys-digest, the tools of its tests, PyTorch and Transformers into $(VENV)'
	@$(install) -e '.[dev,workloads]' || $(failed)
	@touch $@ $(VENV)/.dev $(VENV)/.package

$(python):
	@sh .ci/make-venv $(VENV) $(PYTHON)
