# make train [ENV=Pendulum-v1] [ARGS="--seed 3"]    train an agent
# make test                                          the whole test suite
# make lint, make bench

ENV ?= CartPole-v1
ARGS ?=
VENV ?= .venv
# The first Python on the path that is new enough.
PYTHON ?= $(shell for p in python3 python3.13 python3.12 python3.11; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)

.PHONY: train test lint bench clean

train: $(VENV)/installed-train
	$(VENV)/bin/funcenv train $(ENV) $(ARGS)

test: $(VENV)/installed-dev
	$(VENV)/bin/python -m pytest -n 2 $(ARGS)

lint: $(VENV)/installed-dev
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/ruff check .
	$(VENV)/bin/mypy

bench: $(VENV)/installed-dev
	$(VENV)/bin/python benchmarks/rollout.py $(ARGS)
	$(VENV)/bin/python benchmarks/ppo.py
	$(VENV)/bin/python benchmarks/latency.py
	$(VENV)/bin/python benchmarks/vector_latency.py
	$(VENV)/bin/python benchmarks/import_time.py

clean:
	rm -rf $(VENV) build dist .cache *.egg-info

$(VENV)/bin/python:
	@test -n "$(PYTHON)" || { echo "funcenv needs Python 3.11 or newer on the path; or say make PYTHON=..." >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/installed-%: pyproject.toml | $(VENV)/bin/python
	$(VENV)/bin/python -m pip install --quiet --editable '.[$*]'
	@touch $@
