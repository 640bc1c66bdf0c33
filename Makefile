# Two commands do all the set-up on a machine with Python 3.11, git and make:
#   make demo    see it work
#   make test    run every check
#   make quick   run the fast tests, while you write
PYTHON ?= python3
# Tests start many programs; each would compile every module anew.
export PYTHONDONTWRITEBYTECODE :=
VENV := .venv
BIN := $(VENV)/bin
AGENTS := .agents
DESCRIPTIONS := .descriptions
PHOENIX := .phoenix

.PHONY: demo test quick lint unit agents descriptions chromium page phoenix fleet torture bench bench-peers docs lock clean

demo: $(VENV)/ready
	@$(BIN)/hookline demo

# Tests wait for processes and files now and then; lint and the network have the cores meanwhile.
test: $(VENV)/ready
	@$(MAKE) --no-print-directory -j4 lint unit

quick: $(VENV)/ready
	$(BIN)/pytest -n 2 -m "not torture" tests/unit tests/property tests/contract

lint: $(VENV)/ready
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# Each of the processes that run tests would compile all of them, if one had not done so before.
unit: $(VENV)/ready agents descriptions chromium
	@[ -d tests/unit/__pycache__ ] || $(BIN)/pytest -n 0 --collect-only -q > /dev/null
	$(BIN)/pytest

# The real coding agents that tests/agents drives; without npm it says what is left out.
agents:
	@tests/agents/npm/install $(AGENTS)

# GitHub's own description of its interface, which tests/integration holds requests against.
descriptions:
	@tests/integration/npm/install $(DESCRIPTIONS)

# A browser for tests/page, and what builds and judges the page.
chromium:
	@tests/page/install

# Tests that are marked as `embedded` have no meaning on a server. Hosts are network and process
# namespaces: they need root, and say so where they are left out.
fleet: $(VENV)/ready
	$(BIN)/pytest --postgres tests/e2e/test_on_a_server.py tests/e2e/test_cli_tasks.py \
		tests/e2e/test_cli_flows.py tests/e2e/test_session_*.py tests/e2e/test_flow_crash.py \
		tests/e2e/test_pipeline.py tests/e2e/test_run.py tests/e2e/test_lanes.py \
		tests/e2e/test_insights.py \
		tests/contract/test_pooler.py
	$(BIN)/pytest -m "not fleet" tests/e2e/test_takeover.py tests/e2e/test_store_outages.py
	$(BIN)/pytest -m fleet -n 0 -s --timeout 3600 tests/fleet

# A real Phoenix, to which the torture tests send a session; heavy, so nothing else needs it.
phoenix:
	@[ -x $(PHOENIX)/bin/phoenix ] || { $(PYTHON) -m venv $(PHOENIX) && \
		$(PHOENIX)/bin/pip install --quiet --disable-pip-version-check arize-phoenix==20.26.1; } || \
		echo "Phoenix could not be installed: its test is left out"

torture: $(VENV)/ready phoenix
	$(BIN)/pytest -m "not torture" --hypothesis-profile torture tests/property
	$(BIN)/pytest -m torture -n 0 -s --timeout 3600

bench: $(VENV)/ready
	$(BIN)/python -m benchmarks

bench-peers: $(VENV)/ready
	$(BIN)/python -m benchmarks peers

# Builds the page's files anew: needs npm.
page:
	@tests/page/install
	@cd web && npm run --silent check && npm run --silent build

docs: $(VENV)/ready
	$(BIN)/python -m docs.generate

$(VENV)/ready: requirements-dev.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Hookline needs Python 3.11 or newer; try make PYTHON=python3.11")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check --require-hashes -r requirements-dev.lock
	$(BIN)/pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $@

# For maintainers: needs uv.
lock:
	uv pip compile --quiet --universal --generate-hashes --no-header --no-annotate --no-emit-index-url \
		--python-version 3.11 --group dev pyproject.toml --output-file requirements-dev.lock
	uv pip compile --quiet --universal --generate-hashes --no-header --no-annotate --no-emit-index-url \
		--python-version 3.11 --all-extras --group build pyproject.toml \
		--output-file deploy/requirements.lock

clean:
	rm -rf $(VENV) $(AGENTS) $(DESCRIPTIONS) web/node_modules $(PHOENIX) build dist .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis
