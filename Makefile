# One environment in .venv, installed from requirements.lock whenever that or pyproject.toml changes.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
PY := $(BIN)/python
SYNCED := $(VENV)/.synced

TOOLS := PYTHONPATH=$(CURDIR)/tests/support
SERVERS := $(shell expr $$(getconf _NPROCESSORS_ONLN) + 1)

.DEFAULT_GOAL := help
.PHONY: help sync lock demo test test-unit lint fmt bench oracle answers run control-plane clean

help: ## list what can be made
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-15s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

sync: $(SYNCED) ## install .venv from the lock file

$(SYNCED): requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed; name one by PYTHON=...")'
	@echo "environment: installing $(VENV) from requirements.lock (a minute or two the first time)"
	@$(PY) -c "" 2>/dev/null || $(PYTHON) -m venv --clear $(VENV)
	@$(PY) -m pip --version >/dev/null 2>&1 || $(PY) -m ensurepip
	@rm -f $@
	@{ $(PY) -m pip install --disable-pip-version-check --require-hashes -r requirements.lock && \
		$(PY) -m pip install --disable-pip-version-check --quiet --no-deps --no-build-isolation --editable . && \
		touch $@; } | sed -e '/^Requirement already satisfied/d' -e '/^Ignoring /d'
	@test -e $@

lock: $(SYNCED) ## pin the newest versions that pyproject.toml allows (needs uv)
	uv pip compile pyproject.toml --group dev --universal --python-version 3.11 --upgrade --quiet \
		--generate-hashes --no-emit-index-url --no-emit-find-links --no-header --no-annotate -o requirements.lock

demo: control-plane ## show every kind of pod, and a node made for one, on a real API server (KEEP=1 leaves it running)
	@$(TOOLS) KEEP=$(KEEP) $(PY) -m dra_demo

# Built beforehand, because it may take longer than a test may. What needs no server runs on all cores; then the rest, file
# by file, on SERVERS control planes: one more than there are cores, because such tests mostly wait. pytest ends with 5
# where it has no tests to run, as one half has when PYTEST_ARGS names a folder of the other.
test: control-plane ## run all tests
	@$(TOOLS) $(PY) -m dra_oracle.build >/dev/null || echo "oracle: not built, the tests that need it are skipped"
	@unit=0; server=0; \
	$(BIN)/pytest -n auto -m "not controlplane" $(PYTEST_ARGS) || unit=$$?; \
	$(BIN)/pytest -n $(SERVERS) --dist loadfile -m controlplane $(PYTEST_ARGS) || server=$$?; \
	test $$unit.$$server != 5.5 && { test $$unit = 0 || test $$unit = 5; } && { test $$server = 0 || test $$server = 5; }

test-unit: sync ## run the tests that need no API server, on all cores (2 minutes)
	@$(BIN)/pytest -n auto -m "not controlplane" $(PYTEST_ARGS)

lint: sync ## check format, rules, types and import contracts
	$(BIN)/ruff format --check
	$(BIN)/ruff check
	$(BIN)/mypy
	$(BIN)/lint-imports

fmt: sync ## rewrite what ruff can mend
	$(BIN)/ruff format
	$(BIN)/ruff check --fix

bench: control-plane ## measure speed and memory beside kube-scheduler (ONLY=decisions,binds,start-up,allocator,candidates,planning,disruption,gate)
	@$(TOOLS) $(PY) -m dra_bench $(if $(ONLY),--only $(ONLY)) $(BENCH)

oracle: sync ## compare the allocator with Kubernetes' own on WORLDS=10000 random worlds (SEED=0)
	@$(TOOLS) $(PY) -m dra_oracle --worlds $(or $(WORLDS),10000) --seed $(or $(SEED),0)

answers: sync ## compare what dra simulate and check answer with another commit (AGAINST=HEAD; FOLDERS of more manifests)
	@$(TOOLS) $(PY) -m dra_oracle.answers $(or $(AGAINST),HEAD) $(FOLDERS) --worlds $(or $(WORLDS),500)

run: sync ## run the operator against the current kubeconfig
	$(BIN)/kopf run -m dra_operator --all-namespaces --standalone

control-plane: sync ## build etcd and Kubernetes for tests, demo and benchmark (6 minutes, once; DRA_KUBERNETES=1.36)
	@$(TOOLS) $(PY) -m dra_controlplane.build

clean: ## remove .venv and caches of this folder (the built control plane stays)
	rm -rf $(VENV) .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis build dist
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
