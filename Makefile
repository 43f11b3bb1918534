# Everything needs Python 3.11 or newer and make, nothing else.
#   make demo [PORT=8000] [RESET=1]   run the product on this machine
#   make test [ARGS="-k name"]        all tests; DATABASE_URL and REDIS_URL choose other servers than the embedded one
#   make check                        style, types, import contracts, migrations, templates
#   make setup                        only the environment in .venv
#   make clean                        remove the environment and the demo's data

.PHONY: demo test check setup setup-dev clean
.DEFAULT_GOAL := demo
MAKEFLAGS += --no-print-directory

RUN := .venv/bin/python
ARGS ?=
WORKERS ?= 2

demo: setup
	@exec $(RUN) manage.py demo $(if $(PORT),--port "$(PORT)") $(if $(filter-out 0 no false,$(RESET)),--reset)

setup:
	@sh scripts/setup.sh requirements.txt

setup-dev:
	@sh scripts/setup.sh requirements-dev.txt

test: setup-dev
	$(RUN) -m pytest $(if $(filter-out 0 1,$(WORKERS)),-n $(WORKERS) --dist worksteal) $(ARGS)

check: setup-dev
	$(RUN) -m ruff check .
	$(RUN) -m ruff format --check .
	$(RUN) -m mypy
	$(RUN) -c "from importlinter.cli import lint_imports_command as run; run()"
	DJANGO_SETTINGS_MODULE=agentops.settings.test $(RUN) manage.py makemigrations --check --dry-run
	$(RUN) -m djlint --lint --quiet templates

clean:
	@if [ -x $(RUN) ] && [ -d .demo ]; then $(RUN) manage.py demo --delete; fi
	rm -rf .venv
