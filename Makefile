# make train [ENV=Pendulum-v1] [ARGS="--seed 3"]    train an agent
# make test                                          the test suite, with a sixteenth of the exhaustive tests
# make test-all                                      the test suite, with all of them
# make bench [ARGS=--write-docs]                     the benchmark suite, in minutes; make bench-full takes an hour
# make notebooks                                     run every notebook, in a few minutes
# make lint
# make docs                                          the documentation, into site/, with the notebooks run, in five minutes;
#                                                    FUNCENV_DOCS_NOTEBOOKS=source make docs runs none of them, in half a minute

ENV ?= CartPole-v1
ARGS ?=
# Each file goes to one worker, so that its tests share what they compile. Folders come in the order of the tree.
WORKERS ?= -n 2 --dist loadfile --no-loadscope-reorder
VENV ?= .venv
# The first Python on the path that is new enough.
PYTHON ?= $(shell for p in python3 python3.13 python3.12 python3.11; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)

.PHONY: train test test-all notebooks lint bench bench-full docs clean

train: $(VENV)/installed-train
	$(VENV)/bin/funcenv train $(ENV) $(ARGS)

test: $(VENV)/installed-dev
	$(VENV)/bin/python -m pytest $(WORKERS) $(ARGS)

test-all: $(VENV)/installed-dev
	$(VENV)/bin/python -m pytest $(WORKERS) --exhaustive=all $(ARGS)

# The outputs are kept in .cache/ for the site, and `make docs` does this, too. ARGS=--write stores small outputs in the notebooks.
notebooks: $(VENV)/installed-dev
	$(VENV)/bin/python docs/render_notebooks.py $(ARGS)

lint: $(VENV)/installed-dev
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/ruff check .
	$(VENV)/bin/mypy

bench: $(VENV)/installed-dev
	$(VENV)/bin/python benchmarks/run.py $(ARGS)

bench-full: $(VENV)/installed-dev
	$(VENV)/bin/python benchmarks/run.py --full --write-docs $(ARGS)
	$(VENV)/bin/python benchmarks/run.py presets import --update

docs: $(VENV)/installed-dev
	NO_MKDOCS_2_WARNING=1 $(VENV)/bin/mkdocs build --strict $(ARGS)

clean:
	rm -rf $(VENV) build dist site .cache *.egg-info

$(VENV)/bin/python:
	@test -n "$(PYTHON)" || { echo "funcenv needs Python 3.11 or newer on the path; or say make PYTHON=..." >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)

# The compiler for TPUs lies beside the packages: among them, JAX would look for a TPU whenever it starts.
$(VENV)/installed-accelerators: pyproject.toml | $(VENV)/bin/python
	$(VENV)/bin/python -m pip install --quiet --no-deps --upgrade --target $(VENV)/accelerators libtpu
	@touch $@

# The mode compat lets type checkers and editors see the package.
$(VENV)/installed-%: pyproject.toml | $(VENV)/bin/python
	@echo "installing funcenv with the packages of [$*] into $(VENV), which takes a minute or two the first time"
	$(VENV)/bin/python -m pip install --quiet --progress-bar on \
		--config-settings editable_mode=compat --editable '.[$*]'
	@if [ $* = dev ]; then $(MAKE) --no-print-directory VENV=$(VENV) $(VENV)/installed-accelerators; fi
	@touch $@
