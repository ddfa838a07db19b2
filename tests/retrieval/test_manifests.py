"""Source `manifests`: facts of a project from its package files, each with the line that says it."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextasm.config.profiles.loader import load_profile
from contextasm.model import Context
from contextasm.retrieval.sources.manifests import FACTS, LARGEST
from tests.command import fill, inside
from tests.laws.test_profiles import build
from tests.workspaces import Content

BRAIN = load_profile("brain", "tests", Path())

PYPROJECT = """\
[project]
name = "beacon"
description = "A status page"
requires-python = ">=3.11"
dependencies = [
  "fastapi>=0.110",
  "sqlalchemy[asyncio]~=2.0 ; python_version > '3'",
]

[project.scripts]
beacon = "beacon.cli:main"

[tool.pdm.scripts]
test = "pytest -q"
lint = {cmd = "ruff check"}
"""

GO_MOD = """\
module example.com/beacon

go 1.22

require github.com/a/one v1.0.0
require (
\tgithub.com/b/two v0.3.1
\tgithub.com/c/three v1.0.0 // indirect
)
exclude (
\tgithub.com/d/four v1.0.0
)
"""

PACKAGE = {
    "name": "site",
    "description": "The site",
    "engines": {"node": ">=20"},
    "packageManager": "pnpm@9.1.0",
    "scripts": {"test": "vitest run", "say": 'echo "hi"'},
    "dependencies": {"react": "^18.0.0", "@scope/ui": "1.0.0"},
    "devDependencies": {"typescript": "^5.4.0"},
}

CARGO = """\
[package]
name = "tokio-serde-light"
edition = "2021"
rust-version = "1.74"

[dependencies]
serde = { version = "1", features = ["derive"] }
tokio = "1"
"""


def facts(files: dict[str, Content]) -> list[tuple[str, str, str]]:
    """The shown lines of facts with the file, and its lines that each is said to come from."""
    return _facts(build(files, BRAIN, 6_000, ""), files)


def _facts(context: Context, files: dict[str, Content]) -> list[tuple[str, str, str]]:
    text = "".join(section.text for section in context.sections if section.layer == "facts")
    own = [each for each in context.decisions if each.layer == "facts" and each.outcome == "included"]
    rows = []
    for line, decision in zip(filter(None, text.split("\n")), own, strict=True):
        lines = str(files[decision.path]).split("\n")[decision.lines[0] - 1 : decision.lines[1]]
        rows.append((line, decision.path, "\n".join(lines)))
    return rows


def test_row_layer_0_of_source_004_facts_of_each_kind_of_file_with_their_lines() -> None:
    files: dict[str, Content] = {"pyproject.toml": PYPROJECT, "package.json": json.dumps(PACKAGE, indent=2)}
    files |= {"Cargo.toml": CARGO, "go.mod": GO_MOD}
    shown = facts(files)
    assert [line for line, _, _ in shown] == [
        "- Name: beacon",
        "- Description: A status page",
        "- Python: >=3.11",
        "- Python packages: fastapi, sqlalchemy",
        "- Command: beacon: beacon.cli:main",
        "- Command: test: pytest -q",
        "- Node.js: >=20",
        "- TypeScript: ^5.4.0",
        "- Package manager: pnpm@9.1.0",
        "- npm packages: react, @scope/ui",
        "- Command: test: vitest run",
        '- Command: say: echo "hi"',
        "- Rust: 1.74",
        "- Rust edition: 2021",
        "- Crates: serde, tokio",
        "- Go: 1.22",
        "- Go modules: github.com/a/one, github.com/b/two",
    ]
    for line, _, origin in shown:
        assert re.split(r": |, ", line)[-1] in origin.replace('\\"', '"')
        assert origin.count("\n") <= (3 if "one" in line else 1)


def test_what_project_md_says_leaves_out_name_and_description_only() -> None:
    files: dict[str, Content] = {"pyproject.toml": PYPROJECT, "PROJECT.md": "# Lamp\n"}
    lines = [line for line, _, _ in facts(files)]
    assert lines[0] == "- Python: >=3.11"
    assert facts({**files, "PROJECT.md": "\n"})[0][0] == "- Name: beacon"


def test_secret_of_a_script_is_masked_and_many_commands_and_packages_are_bounded() -> None:
    token = "ghp_" + "a8Kd03jfLq" * 3 + "Zx91Qp"
    scripts = {"deploy": f"TOKEN={token} ./go"} | {f"s{n}": f"run {n}" for n in range(20)}
    text = json.dumps({"scripts": scripts, "dependencies": {f"p{n}": "1" for n in range(15)}}, indent=1)
    context = build({"package.json": text}, BRAIN, 6_000, "")
    assert token not in context.text
    assert context.text.count("- Command: ") == 12
    assert "p11 and 3 more\n" in context.text
    assert [each.reason.code for each in context.decisions].count("not-in-pool") == 9


def test_a_shared_context_lacks_the_facts_that_end_in_the_mark_and_no_others() -> None:
    scripts = {"test": "vitest run", "deploy": "./deploy forge {private=true}"}
    package = json.dumps({"name": "site", "private": True, "scripts": scripts}, indent=1)
    project = PYPROJECT.replace("A status page", "A plan {private=true}")
    crates = CARGO + '[dependencies.vault]\nversion = "1 {private=true}"\nfeatures = ["std"]\n'
    files: dict[str, Content] = {"package.json": package, "pyproject.toml": project, "Cargo.toml": crates}
    context = build(files, BRAIN, 6_000, "", audience="shared")
    assert not [word for word in ("forge", "plan", "vault") if word in context.text]
    assert "- Name: beacon\n- Python: >=3.11\n" in context.text
    assert "- Command: test: vitest run\n" in context.text
    assert {each.path for each in context.decisions if each.reason.code == "private"} == {*files}
    assert "plan" in build(files, BRAIN, 6_000, "").text


COMMENTED = {
    "pyproject.toml": PYPROJECT.replace('"fastapi>=0.110",', '"fastapi>=0.110",  # {private=true}'),
    "Cargo.toml": CARGO.replace("[dependencies]", "[dependencies] # {private=true}"),
    "go.mod": GO_MOD.replace("v1.0.0\n", "v1.0.0 // {private=true}\n", 1),
}


@pytest.mark.parametrize("path", COMMENTED)
def test_a_shared_context_lacks_a_file_with_the_mark_in_a_comment(path: str) -> None:
    files: dict[str, Content] = {path: COMMENTED[path], "package.json": json.dumps(PACKAGE, indent=2)}
    context = build(files, BRAIN, 6_000, "", audience="shared")
    own = [(each.reason.code, each.lines) for each in context.decisions if each.path == path]
    assert own == [("private", (1, COMMENTED[path].count("\n")))]
    assert "- npm packages: react, @scope/ui\n" in context.text
    assert len(facts(files)) > context.text.count("\n- ")


def test_facts_of_a_shared_context_have_the_lines_of_a_personal_one() -> None:
    files: dict[str, Content] = {"pyproject.toml": PYPROJECT.replace("A status page", "A plan {private=true}")}
    public = [each for each in facts(files) if "plan" not in each[0]]
    assert _facts(build(files, BRAIN, 6_000, "", audience="shared"), files) == public


def test_facts_are_switched_off_and_shown_by_another_profile(tmp_path: Path) -> None:
    own = "extends: default\nlayers:\n  - {id: facts, heading: Facts, source: manifests, path: pyproject.toml}\n"
    off = "layers: [{id: facts, enabled: false}]\n"
    folder = fill(tmp_path, {"pyproject.toml": PYPROJECT, "own.yaml": own, "agents/a/IDENTITY.md": "A\n"})
    fill(tmp_path, {"agents/a/INSTRUCTIONS.md": "B\n"})
    assert "## Facts\n- Name: beacon\n" in inside("build", "-q", "-p", folder / "own.yaml", "-a", "a", "-w", folder).out
    explained = json.loads(inside("explain", "-p", "brain", "-w", folder, "--json").out)
    fact = next(each for each in explained["decisions"] if each["fragment"] == "pyproject.toml#tool.pdm.scripts.test")
    assert (fact["path"], fact["line"], fact["last_line"]) == ("pyproject.toml", 14, 14)
    fill(tmp_path, {"ctxasm.yaml": off})
    assert "Project Facts" not in inside("build", "-q", "-p", "brain", "-w", folder).out


@pytest.mark.parametrize(
    ("path", "text", "code"),
    [
        ("pyproject.toml", "[project\nname", "bad-data"),
        ("pyproject.toml", f"x = {'[' * 3000}{']' * 3000}", "bad-data"),
        ("pyproject.toml", f"{'a.' * 99}a = 1", "bad-data"),
        ("pyproject.toml", f"{'a.' * 9_999}a = 1", "bad-data"),
        ("package.json", "{", "bad-data"),
        ("package.json", '{"a":' * 99 + "1" + "}" * 99, "bad-data"),
        ("package.json", " " * LARGEST + "{}", "too-large"),
        ("go.mod", b"\xff\xfe\xff", "not-text"),
    ],
)
def test_a_broken_or_huge_file_is_a_problem_and_the_build_goes_on(path: str, text: Content, code: str) -> None:
    context = build({path: text, "PROJECT.md": "Lamp\n"}, BRAIN, 6_000, "")
    assert (context.text, [each.code for each in context.problems if each.code != "no-effect"]) == (
        "# Project Memory\n\n## Project\nLamp\n",
        [code],
    )


words = st.text(alphabet="abcxyz-", min_size=1, max_size=8)
values: st.SearchStrategy[Any] = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), words, st.text(max_size=9)),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=3),
    max_leaves=8,
)


@given(data=st.data(), name=st.sampled_from(sorted(FACTS)))
def test_any_file_gives_facts_or_a_problem(data: st.DataObject, name: str) -> None:
    """Each shown line has an origin in the file, and no value of a wrong type stops the build."""
    drawn: dict[str, Any] = {}
    for _, path in FACTS[name]:
        *tables, key = path.split(".")
        value, table = data.draw(values), drawn
        for each in tables:
            table = table.setdefault(each, {}) if isinstance(table.setdefault(each, {}), dict) else {}
        table[key] = value
    text = json.dumps(drawn, indent=2)
    if name != "package.json":
        rows = [f"{path} = {json.dumps(data.draw(values))}" for _, path in FACTS[name]]
        text = data.draw(st.sampled_from(("\n".join(rows), text, "\n".join(rows[:1]), f"{GO_MOD}{rows}")))
    files: dict[str, Content] = {name: text}
    context = build(files, BRAIN, 6_000, "")
    for line, path, origin in _facts(context, files):
        assert path == name
        assert origin
        value = re.split(r"^- [^:]*: ", line)[-1]
        if re.fullmatch(r"[abcxyz-]+", value):
            assert value in origin
