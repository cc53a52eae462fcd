# What a learner or a maintainer types. `make` alone lists it; nothing is needed but Python 3.11+ (and, on
# Windows, a shell as Git brings it along).
PYTHON ?= python3
VENV   := .venv
PY     := $(VENV)/$(if $(filter Windows_NT,$(OS)),Scripts/python.exe,bin/python)
STAMP  := $(VENV)/.made
# The torch that constraints.txt holds. Another one rounds differently, so that stored outputs, measured seconds
# and the seeds of studies change: raise it on purpose, as docs/releases.md says.
TORCH  := 2.13.0

# Jupyter's and IPython's state stays inside .venv: nothing in a home folder can change a run,
# and a run leaves nothing behind there.
export JUPYTER_CONFIG_DIR  := $(CURDIR)/$(VENV)/jupyter/config
export JUPYTER_DATA_DIR    := $(CURDIR)/$(VENV)/jupyter/data
export JUPYTER_RUNTIME_DIR := $(CURDIR)/$(VENV)/jupyter/runtime
export IPYTHONDIR          := $(CURDIR)/$(VENV)/jupyter/ipython
unexport JUPYTER_PATH JUPYTER_CONFIG_PATH JUPYTERLAB_DIR
unexport JUPYTERLAB_SETTINGS_DIR JUPYTERLAB_WORKSPACES_DIR

# What `make check` leaves out, in tests/.
SLOW   := browser benchmarks cli course/claims course/notes course/studies faults live training test_wheel.py

.DEFAULT_GOAL := help
.PHONY: help env lab test check lint format notebooks book engine handout figures bench gpu anywhere portable \
  constraints clean

help:  ## list what there is to make
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' Makefile

env: $(STAMP)  ## make .venv, or bring it up to date

$(STAMP): pyproject.toml constraints.txt
	@"$(PYTHON)" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "babygpt needs Python 3.11 or newer, and '$(PYTHON)' is `"$(PYTHON)" --version 2>&1`."; \
	  echo "If another one is installed, name it: make $(or $(MAKECMDGOALS),env) PYTHON=python3.12"; \
	  exit 1; }
	@echo "Setting up .venv: some minutes the first time, nothing afterwards."
	"$(PYTHON)" -m venv $(VENV)
	@# The name that the course had before, and that another project has on the package index.
	@$(PY) -m pip uninstall -qq --yes --disable-pip-version-check babygpt
	$(PY) -m pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[lab,test,book,sweep,dev]"
	@# No question about Jupyter news over the first page of the course.
	@$(PY) -m jupyter labextension disable "@jupyterlab/apputils-extension:announcements" \
	  >/dev/null 2>&1 || true
	@mkdir -p "$(IPYTHONDIR)"
	@$(PY) -m babygpt_course.real.file || true
	@touch $(STAMP)

lab: env  ## open the course in JupyterLab (ARGS="--no-browser" and the like go to it)
	$(PY) -m jupyterlab --ServerApp.root_dir=. notebooks/00_start_here.ipynb $(ARGS)

# One process per core, one thread each: two workers with two threads each fight over two cores.
# All cells of a notebook need one kernel, so a file stays with one worker; conftest.py puts the
# longest files first.
test: env  ## run every test and every notebook (ARGS="-k rope" for some)
	OMP_NUM_THREADS=1 $(PY) -m pytest -n 2 --dist=loadfile --no-loadscope-reorder -m "not slow" \
	  --nbval --nbval-cell-timeout=180 $(ARGS)

# A processor without vector instructions rounds differently. Training takes half as long again on it, so that a
# cell may wait longer.
portable: env  ## run every notebook once more as on an older processor, and compare its outputs
	ATEN_CPU_CAPABILITY=default OMP_NUM_THREADS=1 $(PY) -m pytest -n 2 --dist=loadfile --no-loadscope-reorder \
	  --nbval --nbval-cell-timeout=400 notebooks $(ARGS)

# What takes long is left to `make test`: notebooks, the browser, trainings in processes of their own.
check: lint  ## check style and types, and run the unit tests: two minutes, before every commit
	OMP_NUM_THREADS=1 $(PY) -m pytest -q -n 2 --dist=loadfile -m "not slow" $(addprefix --ignore=tests/,$(SLOW)) tests $(ARGS)

lint: env  ## check style and types
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .
	$(PY) -m mypy

format: env  ## put the code in shape, notebooks too
	$(PY) tools/notebooks.py --sync-only
	$(PY) -m ruff check --fix --exit-zero --quiet .
	$(PY) -m ruff format .
	$(PY) tools/notebooks.py --sync-only

notebooks: env  ## run notebooks and store their outputs (NAMES="04a_rope" for some)
	$(PY) tools/notebooks.py $(NAMES)

book: env  ## make the course as web pages in book/_build/html (NAMES="04a_rope" runs only some)
	$(PY) -m tools.book $(NAMES)

handout: env  ## copy notebooks without outputs and solutions (FOLDER=class ARGS="--overwrite")
	$(PY) -m tools.handout "$(or $(FOLDER),--help)" $(ARGS)

engine: env  ## compile the engine that trains in the book's pages, and measure it (needs clang)
	$(PY) -m tools.book.lab

figures: env  ## measure and draw figures/ again, some hours (NAMES="ladder polar" for some)
	$(PY) -m babygpt figures $(NAMES) --results babygpt_course/studies/results

bench: env  ## measure how fast something is (NAME=recipe ARGS="--steps 260"; no NAME lists all)
	$(PY) -m benchmarks $(or $(NAME),--help) $(ARGS)

anywhere: env  ## run lessons with other seeds, processors and threads (NAMES="04a_rope" ARGS="-s avx2")
	$(PY) -m tools.anywhere $(NAMES) $(ARGS)

gpu: env  ## try and time everything on an NVIDIA GPU, and keep it in figures/gpu.json
	$(PY) -m benchmarks gpu --store --folder figures $(ARGS)

# uv resolves for every system and Python at once, which pip cannot. Held versions stay unless a
# bound in pyproject.toml says otherwise; UPGRADE=--upgrade moves them all.
constraints:  ## resolve constraints.txt again
	"$(PYTHON)" -m venv $(VENV)/uv
	$(VENV)/uv/bin/python -m pip install --quiet uv
	echo "torch==$(TORCH)" | $(VENV)/uv/bin/uv pip compile pyproject.toml --constraints - \
	  --all-extras --universal --python-version 3.11 --fork-strategy fewest --no-annotate \
	  --custom-compile-command "make constraints" --quiet -o constraints.txt $(UPGRADE)

clean:  ## remove .venv and every cache
	rm -rf $(VENV) .pytest_cache .ruff_cache .mypy_cache .hypothesis build dist book/_build *.egg-info
	find . -type d \( -name __pycache__ -o -name .ipynb_checkpoints \) -prune -exec rm -rf {} +
