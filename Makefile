# The environment lives in .venv, everything produced under outputs/. Both are made on demand and ignored by git.
PYTHON ?= python3
BIN := .venv/bin
INSTALLED := .venv/.installed
DEVELOPED := .venv/.developed
PAGES := .venv/.pages
TORCH := .venv/lib/python*/site-packages/torch

# Parts of the tests, folders of tests/ joined by +: two parts at a time, each in a process of its own. What numba has compiled is freed only by the
# end of its process, and what a part imports and collects is then paid once. Processes that need the same kernel compile it once.
PARTS := contract/envs lab/learners+lab/papers kernels/envs contract/leaderboard \
	kernels/rules+kernels/playout+kernels/bottleneck+kernels/senders lab/bench+lab/shipped+lab/studies \
	kernels/agents+kernels/predictors contract/agents+contract/repository+contract/submissions \
	configs+golden+conference kernels/worlds+kernels/traces+kernels/live+kernels/leaderboard properties+end_to_end/commands

# Byte code is kept also where the environment says no: else each of the processes of the tests translates all libraries anew.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: install develop leaderboard zoo predictor test docs campaign bench truth reproduce ui clean $(PARTS)

# What a user needs: play, train, rank; 1.2 GB.
install: $(INSTALLED)

# Everything: also the tools of the tests, live calls, submissions, sweeps and the laboratory.
develop: $(DEVELOPED)

$(INSTALLED): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "vcgym needs Python 3.11 or later, PYTHON=$(PYTHON) is " + sys.version.split()[0])'
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --no-compile --constraint constraints.txt --editable '.[user]'
	rm -rf $(TORCH)/test $(TORCH)/bin/*[Tt]est* $(TORCH)/bin/protoc* # tests in C++ and what builds torch, 130 MiB
	touch $@

$(PAGES): $(INSTALLED)
	$(BIN)/python -m pip install --no-compile --constraint constraints.txt --editable '.[ui]'
	touch $@

$(DEVELOPED): $(INSTALLED)
	$(BIN)/python -m pip install --constraint constraints.txt --editable '.[all,dev,browser,docs]'
	touch $@ $(PAGES)

# Trains a small agent when there is none, plays the suite, prints the table and where the page lies.
leaderboard: install
	$(BIN)/vcgym leaderboard

# Algorithms on environments at small budgets into outputs/zoo, about an hour of one core for each seed; a run that was ended goes on.
zoo: develop
	$(BIN)/vcgym zoo

test: develop
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo --cache-dir outputs/cache/import_linter
	$(MAKE) --no-print-directory --keep-going --jobs 2 $(if $(filter output-sync,$(.FEATURES)),--output-sync) $(PARTS)

$(PARTS):
	$(BIN)/pytest $(addprefix tests/,$(subst +, ,$@))

# The site of README and docs/, under outputs/site; a link that leads nowhere is an error.
docs: develop
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

# Kills, bad files, bad disks, lost nodes: minutes; hours with SCALE=full. One alone: ONLY=importers. Figures under outputs/campaigns.
campaign: develop
	PYTHONPATH=tests $(BIN)/python -m campaigns --scale $(or $(SCALE),small) $(ONLY)

# Plays the sessions, trains the shipped predictor anew and says whether it has the same bytes as data/predictor.
predictor: develop
	$(BIN)/vcgym predictor-data
	$(BIN)/vcgym train-predictor study=predictor-shipped folder=outputs/predictor/shipped
	cmp outputs/predictor/shipped/predictor/predictor.safetensors data/predictor/predictor.safetensors

bench: develop
	$(BIN)/python -m lab bench

# Installs the pages of MLflow first. They open on other work: the printed link leads to the training runs.
ui: $(PAGES)
	@$(BIN)/python -c 'from vcgym.agents.tracking.tracking import pages; print("Training runs:", pages("http://127.0.0.1:5000"))'
	$(BIN)/mlflow ui --workers 1 --backend-store-uri sqlite:///outputs/mlflow.db

# Writes lab/notes/truth.md: which claims of the paper hold, in which world. A few minutes on two cores; VCGYM_DATA adds the measured worlds.
truth: develop
	$(BIN)/python -m lab truth folder=lab/notes

# Every published number of the paper beside ours: verdicts and page under outputs/reproduce. FULL=true plays calls as long as the paper's.
reproduce: develop
	$(BIN)/python -m lab reproduce full=$(or $(FULL),false)
	$(BIN)/python -m lab reproduce paper=senders folder=outputs/reproduce
	$(BIN)/python -m lab reproduce paper=conferences folder=outputs/reproduce

# Leaves .venv alone: it takes minutes to download. Remove it by hand for a fresh start.
clean:
	rm -rf outputs build *.egg-info .hypothesis
	find . -path ./.venv -prune -o -type d -name __pycache__ -exec rm -rf {} +
