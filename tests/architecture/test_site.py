"""What the site is made of: the reference has all that the program takes, and the page of laws names real tests.

MkDocs itself builds the site in `.ci/run`, and follows its links.
"""

from __future__ import annotations

import ast
import json
import re
import sys
from collections.abc import Mapping
from importlib import import_module
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import pytest

from contextasm.cli.command_line import COMMANDS, load_command
from contextasm.config.input.settings import FILE_KEYS
from contextasm.config.profiles.layers import LAYER_KEYS
from contextasm.config.profiles.loader import KEYS
from contextasm.rules.evaluate import EFFECTS
from tests.command import ROOT

LAWS = (ROOT / "docs/why/laws.md").read_text(encoding="utf-8")


def tool(name: str) -> Any:
    """A module of tools/."""
    with patch.object(sys, "path", [str(ROOT / "tools"), *sys.path]):
        return import_module(name)


@pytest.fixture(scope="module")
def pages() -> Mapping[str, str]:
    """The pages of the reference that are made from the code."""
    return dict(tool("reference_pages").reference_pages())


def test_every_command_has_a_page_with_its_flags(pages: Mapping[str, str]) -> None:
    for name in COMMANDS:
        page = pages[f"commands/{name}.md"]
        flags = [flag for each in load_command(name).parameters for flag in each.names]
        assert [flag for flag in flags if not re.search(rf"(?<![\w-]){flag}(?![\w-])", page)] == [], name
        assert f"[`{name}`]({name}.md)" in pages["commands/index.md"]


def test_every_key_has_a_heading(pages: Mapping[str, str]) -> None:
    for path, keys in (
        ("ctxasm-yaml", FILE_KEYS),
        ("profiles", (*KEYS, *LAYER_KEYS)),
        ("rules", ("name", "priority", "enabled", "when", "then")),
    ):
        headings = " ".join(re.findall(r"^#+ (.*)$", pages[f"settings/{path}.md"], re.MULTILINE))
        assert {*keys} - {*re.findall(r"`([\w-]+)`", headings)} == set(), path
    assert [effect for effect in EFFECTS if f"`{effect}`\n:   " not in pages["settings/rules.md"]] == []


def test_every_schema_has_a_page_with_its_fields(pages: Mapping[str, str]) -> None:
    for file in (ROOT / "contextasm/rendering/schemas").glob("*.json"):
        schema = json.loads(file.read_text(encoding="utf-8"))
        page = pages[f"json/{file.stem}.md"]
        fields = [
            *schema["properties"],
            *(name for part in schema.get("$defs", {}).values() for name in part["properties"]),
        ]
        assert [name for name in fields if f"`{name}`" not in page] == [], file.stem


def test_the_pages_say_what_the_manual_says(pages: Mapping[str, str]) -> None:
    """No macro of the manual is left over, and no code is left open."""
    for path, text in pages.items():
        if path.endswith(".md"):
            assert re.findall(r"^\.[A-Z]{1,2}\b.*|\\f[BIR]|\\[(-]", text, re.MULTILINE) == [], path
            assert text.count("```") % 2 == 0, path


def test_commands_manual_pages_and_files_become_links_but_not_in_code() -> None:
    text = "# `ctxasm tidy`\n\n`ctxasm tidy --undo`, `man ctxasm.yaml`, [it](../../LICENSE), [that](a.md#b)\n"
    code = "```sh\nctxasm tidy `ctxasm tidy`\n```\n"
    page = SimpleNamespace(url="how-to/x/", file=SimpleNamespace(src_uri="how-to/x.md"))
    assert tool("site_hooks").on_page_markdown(text + code, page).replace(code, "") == (
        "# `ctxasm tidy`\n\n[`ctxasm tidy --undo`](../reference/commands/tidy.md), "
        "[`man ctxasm.yaml`](../reference/settings/index.md), "
        "[it](https://github.com/OWNER/ctxasm/blob/main/LICENSE), [that](a.md#b)\n"
    )


@pytest.mark.parametrize(
    ("tag", "is_loaded"),
    [
        ('<script src="https://a.example/x.js"></script>', True),
        ('<link rel="stylesheet" href="//a.example/x.css">', True),
        ('<img alt="x" src="http://a.example/x.png">', True),
        ('<a href="https://a.example/">x</a>', False),
        ('<script src="../assets/x.js"></script>', False),
    ],
)
def test_what_a_page_loads_from_elsewhere_is_found(tag: str, is_loaded: bool) -> None:
    hooks = tool("site_hooks")
    assert bool(hooks.LOADED.findall(f"<head>{tag}</head>")) == is_loaded
    assert "default-src 'self'" in hooks.on_post_page(f"<head>{tag}</head>")


def test_every_law_is_held_by_tests_that_are_there() -> None:
    named = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", LAWS)
    functions = {
        path: {node.name for node in ast.parse((ROOT / path).read_bytes()).body if isinstance(node, ast.FunctionDef)}
        for path in {path for path, _ in named}
    }
    assert [(path, name) for path, name in named if name not in functions[path]] == []
    own = (ROOT / "docs/architecture.md").read_text(encoding="utf-8").partition("\n## Laws\n")[2].partition("\n## ")[0]
    assert re.findall(r"^\| (\d+) \|", LAWS, re.MULTILINE) == re.findall(r"^(\d+)\. ", own, re.MULTILINE)
    assert [
        row for row in re.findall(r"^\| .*$", LAWS, re.MULTILINE) if row.startswith("| No ") and "::" not in row
    ] == []
