# Everything sets itself up: nothing but Python >= 3.11 and make is needed.
PYTHON ?= python3
BIN := .venv/bin

# Compiled modules are kept: what starts hundreds of processes should not compile them hundreds of times.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help demo up down test fuzz check bench soak images containers real-model model-server eval dist docs audit lock generate console venv clean

help: ## Show what there is to do
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' Makefile

demo: venv console ## Start everything, run each kind of job once, show them, stop
	@$(BIN)/python -m services.host.demo

up: venv console ## Start everything and keep it running; prints URL, key and a first request
	@$(BIN)/python -m assay up -d

down: ## Stop what `make up` started
	@if [ ! -e .venv ]; then echo "Nothing to stop: there is no .venv" >&2; \
		else $(PYTHON) scripts/environment.py --usable && $(BIN)/python -m assay down; fi

test: venv ## Run all tests, in parallel; ARGS='-m "not slow"' for the quick ones
	@$(BIN)/python -m pytest -n auto --max-worker-restart 0 -p no:schemathesis $(ARGS)

fuzz: venv ## Feed every parser of untrusted bytes with bytes made to hurt it; SECONDS=60 for each, TARGETS="tar yaml"
	@$(BIN)/python -m tests.fuzz $(or $(SECONDS),60) $(TARGETS)

check: venv ## Style, types, imports, schema, secrets, words, manifests
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m scripts.generate_sync --check
	$(BIN)/python -m scripts.check_schema
	$(BIN)/python -m scripts.check_secrets
	$(BIN)/python -m scripts.check_words
	$(BIN)/check-jsonschema --builtin-schema vendor.compose-spec docker-compose.yml
	$(BIN)/hadolint deploy/*/Dockerfile
	$(BIN)/kubernetes-validate --quiet --strict $(filter-out %/kustomization.yaml,$(wildcard deploy/kubernetes/*.yaml deploy/kubernetes/*/*.yaml))

bench: venv ## Measure, as ratios in one run
	@$(BIN)/python -m benchmarks $(ARGS)

soak: venv ## An hour of mixed jobs on a fresh installation; ARGS="--minutes 5 --picture soak.svg"
	@$(BIN)/python -m benchmarks.soak $(ARGS)

images: ## Build the three images; REGISTRY=registry.example.com/team also tags and pushes them
	@$(PYTHON) -m scripts.images $(if $(REGISTRY),--registry $(REGISTRY)) $(ARGS)

containers: venv ## Build the images and run compose and Kubernetes files by podman, to checked answers; Debian, as root
	@$(BIN)/python -m benchmarks.containers $(ARGS)

real-model: venv ## Compare Assay, one call and tool calling on a real small model, fetched once; ARGS="--models 0.5b,1.5b --tasks full"
	@$(BIN)/python -m benchmarks.real_model.lab $(ARGS)

model-server: venv ## Run every kind with a real model server: llama.cpp's, built here (minutes), or LLAMA_SERVER=FILE
	@$(BIN)/python -m benchmarks.real_model

eval: venv ## Run the suite of graded tasks with scripted models; ARGS="--live --model ..." with real ones
	@$(BIN)/python -m benchmarks.evaluation $(or $(ARGS),--all)

dist: venv console ## Wheels of client and server, bills of materials, provenance, in dist/; ARGS=NAME@sha256:DIGEST names images
	@$(BIN)/python -m scripts.release $(ARGS)

docs: venv ## Build the pages of docs/ as a site, in site/
	$(BIN)/python -m mkdocs build --strict --quiet --site-dir site

audit: ## Known vulnerabilities of what is locked; needs the internet, fails without it
	@test -x .venv/audit/bin/pip-audit || { $(PYTHON) -m venv .venv/audit && .venv/audit/bin/pip install -q pip-audit; }
	@for lock in requirements.lock deploy/*/requirements.lock; do \
		.venv/audit/bin/pip-audit --strict --require-hashes --disable-pip --progress-spinner off -r $$lock || exit 1; done

lock: venv ## Pin all dependencies again (pip finds the newest that fit)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check uv
	$(BIN)/uv pip compile pyproject.toml --extra dev --universal --python-version 3.11 --generate-hashes \
		--no-emit-index-url --no-header --quiet -o requirements.lock
	$(BIN)/python -m scripts.lock_images

generate: venv ## Regenerate files: the synchronous client, the tables of settings and errors
	@$(BIN)/python -m scripts.generate_sync
	@$(BIN)/python -m scripts.settings_table
	@$(BIN)/python -m scripts.errors_table

console: venv ## Build the web console when its sources have changed (ASSAY_CONSOLE=off leaves it out)
	@$(BIN)/python console/build.py

clean: ## Remove the environment and the local installation's data
	@[ ! -e .venv ] || $(PYTHON) scripts/environment.py --unused
	rm -rf .venv .venv.lock .venv.new .venv.old .assay console/.node console/node_modules console/dist console/.browser

venv:
	@$(PYTHON) scripts/environment.py
