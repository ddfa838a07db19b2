# Short names for daily commands; run `just setup` first.

bin := ".venv/bin"

_list:
    @just --list

# Make the environment, and install the git hooks of .pre-commit-config.yaml.
setup:
    python3 -m venv .venv
    {{bin}}/pip install -q -e '.[test]'
    {{bin}}/pre-commit install

# Check format, lint and types, and run the tests.
check:
    {{bin}}/ruff format --check .
    {{bin}}/ruff check .
    {{bin}}/mypy
    {{bin}}/pytest

# Write the parts of the manual and the JSON schemas that are made from the code.
generate:
    {{bin}}/python tools/man_options.py
    {{bin}}/python tools/json_schemas.py

# Make the pictures of docs/pictures again; needs Debian's chromium.
pictures:
    {{bin}}/python tools/pictures.py

# Build the site into site/, and fail on a broken link; needs `pip install -e '.[docs]'`.
docs *words:
    NO_MKDOCS_2_WARNING=1 {{bin}}/mkdocs build --strict {{words}}

# Run the random tests with 2,000 examples each, which takes an hour.
laws *words:
    {{bin}}/pytest -m hypothesis --hypothesis-profile=full {{words}}

# Compare whole commands with the bare interpreter.
bench *words:
    {{bin}}/python benchmarks/run.py {{words}}

# Put the owner of the repository in the place of OWNER, in each address of each file.
owner name:
    git grep -lzE 'OWNER(/ctxasm|\.github\.io/ctxasm)' | xargs -0r sed -i -E 's#OWNER(/ctxasm|\.github\.io/ctxasm)#{{name}}\1#g'

# Run the real hosts, installed from npm and PyPI, against their data; with --write, note the versions that agree.
hosts *words:
    {{bin}}/pytest -n 0 -m hosts tests/hosts {{words}}
