# The few commands of this repository; `make` lists them. ARGS goes to the command, as in `make test ARGS="-k split"`.
.DEFAULT_GOAL := help
.PHONY: help env up control-plane helm test test-live check lock lock-check bench lab lab-lock
SHELL := /bin/sh

PYTHON ?= python3
ARGS ?=
BIN := .venv/bin
UV := $(BIN)/uv
STAMP := .venv/.tierdeck-env
COMPILE := $(UV) pip compile pyproject.toml --group dev --universal --python-version 3.11 \
	--generate-hashes --no-emit-index-url --no-header --quiet

COMPILE_LAB := $(UV) pip compile lab/requirements-cpu.in --config-file lab/real/lock.toml --universal \
	--python-version 3.11 --generate-hashes --no-emit-index-url --no-annotate \
	--custom-compile-command 'make lab-lock' --quiet

# $(call retry,COMMAND): three tries, for commands that need the network.
retry = for try in 1 2 3; do \
		if $(1); then break; fi; \
		if [ $$try = 3 ]; then echo "Gave up after three tries: is the package index reachable?" >&2; exit 1; fi; \
		echo "Trying again in $$((try * 5)) seconds" >&2; sleep $$((try * 5)); \
	done

help: ## list these targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

env: $(STAMP) ## make .venv as requirements.lock says; does nothing when it is up to date
	@:

up: env ## start the deck, on the demo source unless ARGS say otherwise
	@$(BIN)/tierdeck up $(ARGS)

control-plane: env ## build the Kubernetes control plane that tests run on; does nothing when it is there
	@$(BIN)/python -m tests.cluster.build

helm: env ## build the Helm that tests install the chart with; does nothing when it is there
	@$(BIN)/python -m tests.cluster.build_helm

test: env ## run the tests
	@$(BIN)/python -m pytest $(ARGS)

check: env ## lint, format, types, imports, lock, documents
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports
	@$(MAKE) --no-print-directory lock-check
	@$(BIN)/python -m pytest -q tests/docs

lock: $(UV) ## make requirements.lock from pyproject.toml; UPGRADE=1 takes the newest versions
	@$(call retry,$(COMPILE) $(if $(UPGRADE),--upgrade) -o requirements.lock)

bench: env ## measure, with each peer beside it; exit code 1 where a limit is missed
	@$(BIN)/python -m tests.bench $(ARGS)

lab: env ## run a small fleet of real engines on the CPU, with a load; the first time it builds what that needs
	@$(BIN)/python -m lab real --load $(ARGS)

test-live: env ## run the tests on that fleet
	@$(BIN)/python -m lab real --prepare
	@TIERDECK_LIVE=1 $(BIN)/python -m pytest tests/live $(ARGS)

lab-lock: $(UV) ## make lab/requirements-cpu.lock; UPGRADE=1 takes the newest versions
	@$(call retry,$(COMPILE_LAB) $(if $(UPGRADE),--upgrade) -o lab/requirements-cpu.lock)

# The cache answers in most cases, so that this is quick and needs no network; else the index is asked.
lock-check: $(UV)
	@fresh=$$(mktemp) && trap 'rm -f "$$fresh"' EXIT && cp requirements.lock "$$fresh" && \
	if ! $(COMPILE) --offline -o "$$fresh" 2>/dev/null; then $(call retry,$(COMPILE) -o "$$fresh"); fi && \
	if diff -u requirements.lock "$$fresh"; then echo "requirements.lock fits pyproject.toml"; \
	else echo "requirements.lock does not fit pyproject.toml: run make lock" >&2; exit 1; fi

$(UV):
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || \
		{ echo "Tierdeck needs Python 3.11 or newer, and $(PYTHON) is not: name one with make PYTHON=…" >&2; exit 1; }
	@$(PYTHON) -m venv .venv
	@$(call retry,$(BIN)/python -m pip install --quiet --disable-pip-version-check 'uv>=0.9')

$(STAMP): requirements.lock pyproject.toml | $(UV)
	@$(call retry,$(UV) pip sync --quiet --compile-bytecode --python $(BIN)/python --require-hashes requirements.lock)
	@$(call retry,$(UV) pip install --quiet --python $(BIN)/python --no-deps -e .)
	@touch $@
