# What is run every day, by short names; `just setup` comes first.

bin := ".venv/bin"

_list:
    @just --list

# Make the environment, and have git run the checks of .pre-commit-config.yaml before each commit.
setup:
    python3 -m venv .venv
    {{bin}}/pip install -q -e '.[test]'
    {{bin}}/pre-commit install

# What a change has to pass before it is sent: format, lint, types, tests.
check:
    {{bin}}/ruff format --check .
    {{bin}}/ruff check .
    {{bin}}/mypy
    {{bin}}/pytest

# The random tests with all their examples; takes some minutes.
laws *words:
    {{bin}}/pytest -m hypothesis --hypothesis-profile=full {{words}}

# Times of whole commands against the bare interpreter.
bench *words:
    {{bin}}/python benchmarks/run.py {{words}}
