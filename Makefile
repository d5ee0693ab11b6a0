# Everything sets itself up: nothing but Python >= 3.11 and make is needed.
PYTHON ?= python3
BIN := .venv/bin

.DEFAULT_GOAL := help
.PHONY: help demo up down test check bench lock generate venv clean

help: ## Show what there is to do
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-8s %s\n", $$1, $$2 }' Makefile

demo: venv ## Start everything, run each kind of job once, show them, stop
	@$(BIN)/python -m services.host.demo

up: venv ## Start everything and keep it running; prints URL, key and a first request
	@$(BIN)/python -m assay up -d

down: venv ## Stop what `make up` started
	@$(BIN)/python -m assay down

test: venv ## Run all tests, one worker a core; ARGS='-m "not slow"' for the quick ones
	@$(BIN)/python -m pytest -n auto --dist loadscope $(ARGS)

check: venv ## Style, types, imports, schema, manifests
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m scripts.generate_sync --check
	$(BIN)/python -m scripts.check_schema
	$(BIN)/check-jsonschema --builtin-schema vendor.compose-spec docker-compose.yml
	$(BIN)/hadolint deploy/*/Dockerfile
	$(BIN)/kubernetes-validate --quiet --strict $(filter-out %/kustomization.yaml,$(wildcard deploy/kubernetes/*.yaml))

bench: venv ## Measure, as ratios in one run
	@$(BIN)/python -m benchmarks $(ARGS)

lock: venv ## Pin all dependencies anew (pip finds the newest that fit)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check uv
	$(BIN)/uv pip compile pyproject.toml --extra dev --universal --python-version 3.11 --generate-hashes \
		--no-emit-index-url --no-header --quiet -o requirements.lock
	$(BIN)/python -m scripts.lock_images

generate: venv ## Write the generated files anew: the synchronous client, the table of settings
	@$(BIN)/python -m scripts.generate_sync
	@$(BIN)/python -m scripts.settings_table

clean: ## Remove the environment and the local installation's data
	rm -rf .venv .venv.lock .assay

venv:
	@$(PYTHON) scripts/environment.py
