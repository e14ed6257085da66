# Everything a developer does here, one word each. `make` alone lists them.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.installed

# The benchmark tables, where they lie beside the checkout; tests that need them skip without.
STEPLADDER_DATA ?= $(wildcard ../shared/data)
ifneq ($(strip $(STEPLADDER_DATA)),)
export STEPLADDER_DATA := $(abspath $(STEPLADDER_DATA))
endif

.DEFAULT_GOAL := help
.PHONY: help env demo browser test freeze check format bench bench-paper bench-page bench-speed bench-kernel bench-privacy bench-rules bench-advice bench-cluster bench-gpu bench-alone bench-bulk bench-growth \
  audit-privacy mutants docs pictures dist clean clean-env

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

env: $(STAMP) ## make .venv with everything a developer needs (PYTHON=python3.12 to choose)

$(STAMP): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] < (3, 14))' 2>/dev/null || { \
	  echo "Stepladder needs Python 3.11, 3.12 or 3.13; '$(PYTHON)' is: $$($(PYTHON) --version 2>&1 || true)"; \
	  echo "Name another one: make $(or $(MAKECMDGOALS),env) PYTHON=python3.12"; exit 1; }
	@$(PYTHON) -m venv $(VENV) || { \
	  echo "Python could not make $(VENV). On Debian and Ubuntu: apt install python3-venv"; \
	  echo "If $(VENV) is left over from another Python: make clean-env, then again"; exit 1; }
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@touch $@

demo: $(STAMP) ## recourse for every rejected applicant of a real mortgage table
	@mkdir -p build/demo
	$(BIN)/stepladder demo --report build/demo/report.html

# Pages are looked at in Debian's chromium; without it their tests are skipped, and say so.
browser:
	@command -v chromium > /dev/null || { \
	  echo "Installing chromium, which tests of pages need."; \
	  [ "$$(id -u)" = 0 ] && apt-get update -qq && apt-get install -y -qq chromium > /dev/null; } || \
	  echo "It couldn't be: tests of pages will be skipped. On Debian and Ubuntu: apt install chromium"

# Two test processes share the cores; models that start threads of their own would fight over them.
# Each begins with half of the files, so that what a file's tests share is mostly made once, and takes
# over from the other when it's through.
test: $(STAMP) browser ## run all tests, doctests included
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 --dist worksteal --durations=10

freeze: $(STAMP) ## write the frozen answers as they are now; the diff says what changed
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest tests/frozen -k were_frozen --freeze

check: $(STAMP) ## lint, format, types and the import law
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(STAMP) ## rewrite the code in the house format
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

bench-speed: $(STAMP) ## time the published method against a plain loop
	$(BIN)/python benchmarks/speed.py

bench-kernel: $(STAMP) ## time equation 1 against the matrix product, torch and numba: some minutes
	$(BIN)/python benchmarks/kernel.py

bench-cluster: $(STAMP) ## two workers beside one, one killed, and a reference set larger than memory: half an hour
	OMP_NUM_THREADS=1 $(BIN)/python benchmarks/cluster.py run; missed=$$?; \
	  $(BIN)/python benchmarks/cluster.py page && exit $$missed

bench-gpu: $(STAMP) ## time equation 1 and the published method on an NVIDIA GPU, and hold them against float64
	$(BIN)/python benchmarks/gpu.py

bench-alone: $(STAMP) ## one person alone, beside the commit before and other libraries: about twenty minutes
	OMP_NUM_THREADS=1 $(BIN)/python benchmarks/alone.py run; missed=$$?; \
	  $(BIN)/python benchmarks/performance.py && exit $$missed

bench-bulk: $(STAMP) ## a thousand people at once, beside the commit before: about ten minutes
	OMP_NUM_THREADS=1 $(BIN)/python benchmarks/bulk.py run; missed=$$?; \
	  $(BIN)/python benchmarks/performance.py && exit $$missed

bench-growth: $(STAMP) ## up to a million people and reference rows, and what more would cost: an hour, resumable
	OMP_NUM_THREADS=1 $(BIN)/python benchmarks/growth.py run; missed=$$?; \
	  $(BIN)/python benchmarks/cost_model.py; \
	  $(BIN)/python benchmarks/performance.py && exit $$missed

bench: $(STAMP) ## every table of the paper in small: a few minutes, ends with the comparison
	$(BIN)/stepladder bench run small --out build/bench/small
	$(BIN)/stepladder bench compare build/bench/small

bench-privacy: $(STAMP) ## what privacy costs, both ways of paying, on six tasks: an hour or two, resumable
	$(BIN)/python benchmarks/privacy.py run
	$(BIN)/python benchmarks/privacy.py page

bench-rules: $(STAMP) ## rules on a lender's table: kept, against brute force, and what they cost: some minutes
	OMP_NUM_THREADS=1 $(BIN)/python benchmarks/rules.py run; missed=$$?; \
	  $(BIN)/python benchmarks/rules.py page && exit $$missed

bench-advice: $(STAMP) ## advice beside 0.1, peers and brute force, on 16 tasks: an hour or two, resumable
	OMP_NUM_THREADS=1 $(BIN)/python benchmarks/advice.py run; missed=$$?; \
	  $(BIN)/python benchmarks/advice.py page && exit $$missed

audit-privacy: $(STAMP) ## attack both ways of paying, and a broken mechanism: some minutes
	$(BIN)/python benchmarks/privacy_audit.py

mutants: $(STAMP) ## small faults, one by one: which do the tests miss? About an hour
	$(BIN)/python benchmarks/mutants.py

SWEEPS := goal k step alpha face cchvae

bench-paper: $(STAMP) ## every table of the paper, the fair comparison and the sweeps: hours, resumable
	$(BIN)/stepladder bench run published --out results/published
	$(BIN)/stepladder bench run fair --out results/fair
	$(BIN)/stepladder bench run remedy --out results/remedy
	for sweep in $(SWEEPS); do \
	  $(BIN)/stepladder bench run sweep-$$sweep --out results/sweep-$$sweep || exit 1; done
	$(MAKE) bench-page

bench-page: $(STAMP) ## write docs/results.md from the rows in results/
	$(BIN)/stepladder bench page \
	  $(wildcard results/published results/fair results/remedy results/sweep-*) --out docs/results.md

docs: $(STAMP) ## build the guide into build/docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build
	@echo "The guide: build/docs/index.html"

pictures: $(STAMP) ## draw the pictures of docs/pictures.md
	$(BIN)/python docs/pictures/draw.py
	COLUMNS=80 $(BIN)/python docs/pictures/terminals.py

dist: $(STAMP) ## build wheel and sdist into dist/, check them and try the wheel in an empty environment
	$(BIN)/python scripts/dist.py

clean: ## remove build outputs and caches; .venv stays
	rm -rf build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
	find src tests benchmarks scripts -type d -name __pycache__ -prune -exec rm -rf {} +

clean-env: ## remove .venv
	rm -rf $(VENV)
