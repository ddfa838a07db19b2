# Short names for what is run every day; `just setup` comes first.

bin := ".venv/bin"

_list:
    @just --list

# Make the environment, and let git run the hooks of .pre-commit-config.yaml before each commit.
setup:
    python3 -m venv .venv
    {{bin}}/pip install -q -e '.[test]'
    {{bin}}/pre-commit install

# Check format, lint, types and tests, as before every commit that is sent.
check:
    {{bin}}/ruff format --check .
    {{bin}}/ruff check .
    {{bin}}/mypy
    {{bin}}/pytest

# Run the random tests with all their examples, which takes some minutes.
laws *words:
    {{bin}}/pytest -m hypothesis --hypothesis-profile=full {{words}}

# Measure whole commands against the bare interpreter.
bench *words:
    {{bin}}/python benchmarks/run.py {{words}}
