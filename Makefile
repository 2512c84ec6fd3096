# Every command a contributor needs; CI runs `make test` and nothing else.
.DEFAULT_GOAL := test
.PHONY: setup run test check javascript programs fmt docs schema dist search sim torture fuzz update answers conformance bench soak clean

PYTHON ?= python3
BIN := .venv/bin
STAMP := .venv/.installed
# A worker that has nothing left to do takes over tests of another, since some take a thousand times as long as others.
PYTEST := $(BIN)/python -m pytest -q -n 2 --dist worksteal
# Compiled once, whatever the shell says: tests start many processes, and each would compile all that it imports.
export PYTHONDONTWRITEBYTECODE :=

# Installed again only when the lock, the project's metadata or what is compiled change. The lock names everything: pip is
# not asked to resolve, which it would do anew, with the newest release, for a package that another wants with extras.
$(STAMP): requirements.lock pyproject.toml src/bayplan/core/columns/_loops.c
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --require-hashes --no-deps -r requirements.lock
	$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation -e .
	touch $@

setup: $(STAMP)

run: $(STAMP)
	$(BIN)/bayplan demo

# Some of the slow ones mostly wait, so that one more of them can run than there are cores.
test: check programs
	$(PYTEST) -m "not slow"
	$(PYTEST) -n 3 -m slow $$(grep -rl mark.slow tests --include=test_*.py)

# For the tests with the real kubectl and in a browser: Debian's, where they are missing and can be had; else those tests
# are skipped.
INSTALL = command -v $(1) >/dev/null || ! command -v apt-get >/dev/null || [ "$$(id -u)" != 0 ] \
	  || (timeout 120 apt-get -qq update && DEBIAN_FRONTEND=noninteractive timeout 300 \
	      apt-get -qq install --no-install-recommends $(2)) >/dev/null 2>&1 </dev/null || true
programs:
	@$(call INSTALL,kubectl,kubernetes-client)
	@$(call INSTALL,chromium,chromium)

check: $(STAMP) javascript
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo

# The scripts and styles of pages: linted, type-checked and unit-tested, where npm is or can be had.
JAVASCRIPT := tests/javascript
PACKAGES := $(JAVASCRIPT)/node_modules/.package-lock.json
BIOME = cd $(JAVASCRIPT) && node_modules/.bin/biome check --log-level=warn . ../../src/bayplan/web/static
javascript:
	@$(call INSTALL,npm,npm)
	@if ! command -v npm >/dev/null; then echo "npm is missing: the scripts of pages are not checked"; exit; fi; \
	  $(MAKE) --no-print-directory $(PACKAGES) && ($(BIOME)) && $(JAVASCRIPT)/node_modules/.bin/tsc -p $(JAVASCRIPT) \
	  && node --test --test-reporter=dot $(JAVASCRIPT)/*.test.js

# Not `npm ci`: the lock has no packages for platforms that nobody here has.
$(PACKAGES): $(JAVASCRIPT)/package.json $(JAVASCRIPT)/package-lock.json
	cd $(JAVASCRIPT) && npm install --no-save --silent
	touch $@

fmt: $(STAMP)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .
	[ ! -e $(PACKAGES) ] || ($(BIOME) --write)

# The documentation as a site, in build/site.
docs: $(STAMP)
	$(BIN)/python -m website.build build/site

# The recorded decisions of the real scheduler, family by family, and how many are made here.
conformance: $(STAMP)
	$(BIN)/python -m tests.parity.table

# What the API server knows of the built-in types, from a checkout of Kubernetes: make schema KUBERNETES=~/kubernetes; of a
# later version than the first: make schema KUBERNETES=~/kubernetes LATER=v1.37.
LATER ?=
SCHEMA := src/bayplan/apiserver/schema/data
schema: $(STAMP)
	$(BIN)/python -m generators.schema_data $(KUBERNETES) $(SCHEMA)$(if $(LATER),/$(LATER) $(SCHEMA) $(filter-out %/$(LATER),$(wildcard $(SCHEMA)/v*)))

# A release in dist/: sources, a wheel, the kubectl plugin: make dist URL=where-they-will-be.
URL ?=
dist: $(STAMP)
	rm -rf dist
	$(BIN)/python deploy/distributions.py dist $(URL)

# What scenarios lead to now, written into them for a reader to judge.
update: $(STAMP)
	BAYPLAN_UPDATE=1 $(PYTEST) tests/scenarios

# Every answer in the table carried out with kubectl; writes docs/answers-checked.md.
answers: $(STAMP)
	PYTHONPATH=. $(BIN)/python tests/answers/write_page.py

# Property tests with examples that no run has tried before: make search [TIMES=20], that many times as many.
TIMES ?= 1
search: $(STAMP)
	HYPOTHESIS_PROFILE=new TIMES=$(TIMES) $(PYTEST) -m hypothesis

# Random worlds with faults: make sim SEEDS=1000 [FIRST=200]; the seeds that fail are printed.
SEEDS ?= 200
FIRST ?= 0
sim: $(STAMP)
	SEEDS=$(SEEDS) FIRST=$(FIRST) $(PYTEST) -m slow tests/simulation

# The live scheduler behind a proxy that lets requests go wrong, and killed: make torture SEEDS=100 [FIRST=200]. The worlds
# run in real time and mostly wait, so several run at once.
torture: SEEDS = 100
torture: $(STAMP)
	SEEDS=$(SEEDS) FIRST=$(FIRST) $(PYTEST) -n 4 -m slow tests/live

# Mutated input through the command line: make fuzz FUZZ=20000 [FUZZ_FIRST=5000]; the inputs that fail are printed. Also requests to a server.
fuzz: $(STAMP)
	$(PYTEST) tests/fuzz

# Half an hour: 200,000 pods and 20,000 nodes come and go through one scheduler, which must not slow down, nor grow.
soak: $(STAMP)
	PYTHONPATH=. $(BIN)/python benchmarks/soak.py

# Some minutes; writes benchmarks/results.json and the table in docs/benchmarks.md.
bench: $(STAMP)
	$(BIN)/python benchmarks/run.py

clean:
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis .coverage htmlcov build dist $(JAVASCRIPT)/node_modules
