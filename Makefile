# Every target works from a fresh clone: each sets up .venv itself.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready

.PHONY: setup demo test test-real serve lint bench lock

setup: $(READY)

$(READY): pyproject.toml requirements.lock
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Transom needs Python 3.11 or newer")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --require-hashes --requirement requirements.lock
	$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation --editable .
	touch $@

# What decides is covered whole, by its own tests.
COVER := --cov=policies --cov-branch --cov-fail-under=100 --cov-report=term-missing:skip-covered

demo: setup
	$(BIN)/transom demo

test: setup
	$(BIN)/python -m pytest -n auto --ignore=tests/policies
	$(BIN)/python -m pytest -n auto tests/policies $(COVER)

# Against a local server of your own: TRANSOM_TEST_LOCAL=http://127.0.0.1:11434 make test-real
test-real: setup
	$(BIN)/python -m pytest -rs tests/real

serve: setup
	$(BIN)/transom serve

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: setup
	$(BIN)/python -m bench
	$(BIN)/python -m bench.reminder

# Pins every package, for every platform and Python from 3.11 on, with hashes and no addresses:
# all of them for a checkout, and for the image what serves and what builds the wheel.
COMPILE := $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes \
	--no-emit-index-url --no-annotate --no-header
lock: setup
	$(COMPILE) --group test --group lint --group lock --group build \
	  --output-file requirements.lock pyproject.toml
	$(COMPILE) --override deploy/without-sdks.txt --constraint requirements.lock \
	  --output-file deploy/serve.lock pyproject.toml
	$(COMPILE) --group build --constraint requirements.lock --output-file deploy/build.lock
