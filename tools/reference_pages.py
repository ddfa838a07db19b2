"""The reference of the site, made from the command line, the manual pages and the JSON schemas: a text for each page.

Nothing is written. `tools/site_hooks.py` hands the pages to MkDocs when it builds the site.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import typer
from roff_to_markdown import entries, markdown, sections

from contextasm.cli.command_line import GROUPS
from contextasm.cli.typer_commands import group, load_help

ROOT = Path(__file__).resolve().parent.parent
SCHEMAS = ROOT / "contextasm" / "rendering" / "schemas"
FINDINGS = ROOT / "docs" / "reference" / "findings"

COMMAND_PAGES = {
    "RECORDS": "records.md",
    "METRICS": "metrics.md",
    "ENVIRONMENT": "environment.md",
    "FILES": "files.md",
    "EXIT STATUS": "exit-codes.md",
}
"""The page of each section of `man/ctxasm.1` that has one."""

SETTING_PAGES = {
    "WORKSPACE": "settings/workspace.md",
    "SETTINGS": "settings/ctxasm-yaml.md",
    "PROFILES": "settings/profiles.md",
    "RULES": "settings/rules.md",
    "MEANING": "settings/meaning.md",
    "SHARED STORE": "settings/shared-store.md",
    "MEMORIES": "settings/memories.md",
    "AUDIENCES": "settings/audiences.md",
}
"""The page of each section of `man/ctxasm.yaml.5`."""

KEYED = {"SETTINGS", "PROFILES", "RULES"}
"""Sections whose tags are keys. Each key is a heading there, so that a link can lead to it."""

TITLES = {"EXIT STATUS": "Exit codes", "SETTINGS": "ctxasm.yaml", "MEANING": "Search by meaning"}
"""Titles of pages that are not the heading of their section."""


def reference_pages() -> dict[str, str]:
    """The text of each page by its path below `docs/reference/`; also the JSON schemas, as they are."""
    return dict([*_command_pages(), *_setting_pages(), *_schema_pages(), *_finding_list()])


@cache
def _manual(name: str) -> Mapping[str, Sequence[str]]:
    """The lines of each section of a manual page."""
    return sections((ROOT / "man" / name).read_text(encoding="utf-8"))


def _title(section: str) -> str:
    return TITLES.get(section, section.capitalize())


# --- Commands --------------------------------------------------------------------------------------------------------


class _Tables:
    """A formatter of help that writes the options of a command as tables of Markdown."""

    current_indent = 0

    def __init__(self) -> None:
        self.text = ""

    @contextmanager
    def section(self, title: str) -> Iterator[None]:
        """Begin a part of the page."""
        self.text += f"\n## {title}\n\n"
        yield

    def write_dl(self, rows: Sequence[tuple[str, str]]) -> None:
        """Write names with their meanings."""
        self.text += _table(("name", "meaning"), [(f"`{_cell(name)}`", _cell(about)) for name, about in rows])

    def write(self, line: str) -> None:
        """Write an example."""
        self.text += f"    {line}"


def _command_pages() -> Iterator[tuple[str, str]]:
    manual = _manual("ctxasm.1")
    about = entries(manual["COMMANDS"])
    whole = group()
    summaries = load_help("lines")
    for name, summary in summaries.items():
        yield f"commands/{name}.md", _command_page(whole.get_command(None, name), name, summary, about[name])
    for section, path in COMMAND_PAGES.items():
        yield path, f"# {_title(section)}\n\n{markdown(manual[section])}"
    rows = {
        title: [(f"[`{name}`]({name}.md)", summaries[name]) for name in names.split()]
        for title, names in GROUPS.items()
    }
    lists = [f"## {title}\n\n{_table(('command', 'what it does'), each)}" for title, each in rows.items()]
    yield "commands/index.md", "\n".join(["# Commands\n", markdown(manual["DESCRIPTION"]), *lists])


def _command_page(command: Any, name: str, summary: str, about: Sequence[str]) -> str:
    context = typer.Context(command, info_name=f"ctxasm {name}")
    usage = " ".join(["ctxasm", name, *command.collect_usage_pieces(context)])
    tables = _Tables()
    command.format_options(context, tables)
    return f"# ctxasm {name}\n\n{summary}\n\n    {usage}\n\n{markdown(about)}{tables.text}"


# --- Settings --------------------------------------------------------------------------------------------------------


def _setting_pages() -> Iterator[tuple[str, str]]:
    manual = _manual("ctxasm.yaml.5")
    rows = []
    for section, path in SETTING_PAGES.items():
        text = markdown(manual[section], heading="###" if section in KEYED else "")
        first = re.split(r"(?<=[.:])\s", text)[0].rstrip(":.")
        rows.append((f"[{_title(section)}]({path.partition('/')[2]})", _cell(first)))
        yield path, f"# {_title(section)}\n\n{text}"
    about, examples = markdown(manual["DESCRIPTION"]), markdown(manual["EXAMPLES"])
    table = _table(("page", "it begins"), rows)
    yield "settings/index.md", f"# Files and settings\n\n{about}\n{table}\n## Examples\n\n{examples}"


# --- JSON ------------------------------------------------------------------------------------------------------------


def _schema_pages() -> Iterator[tuple[str, str]]:
    rows = []
    for file in sorted(SCHEMAS.glob("*.json")):
        text = file.read_text(encoding="utf-8")
        schema = json.loads(text)
        rows.append((f"[`{schema['title']}`]({file.stem}.md)", _cell(schema["description"])))
        yield f"json/{file.name}", text
        yield f"json/{file.stem}.md", _schema_page(schema, file.name)
    lines = _manual("ctxasm.1")["JSON"]
    about = markdown(lines[: lines.index(".TP")])
    yield "json/index.md", f"# JSON\n\n{about}\n{_table(('document', 'content'), rows)}"


def _schema_page(schema: Mapping[str, Any], file: str) -> str:
    head = f"# {schema['title']}\n\n{schema['description']}\n\nIts JSON Schema is [{file}]({file}).\n"
    parts = [f"## {name}\n\n{part.get('description', '')}\n\n{_fields(part)}" for name, part in _parts(schema).items()]
    return "\n".join([head, _fields(schema), *parts])


def _parts(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    return dict(schema.get("$defs", {}))


def _fields(schema: Mapping[str, Any]) -> str:
    """A table of the fields of an object, or its forms if it has several."""
    if "oneOf" in schema:
        return f"It is {' or '.join(map(_type, schema['oneOf']))}.\n"
    rows = [
        (
            f"`{name}`",
            _cell(_type(field)),
            _cell(field.get("description", "")),
            "" if name in schema["required"] else "no",
        )
        for name, field in schema["properties"].items()
    ]
    is_whole = all(row[3] == "" for row in rows)
    head = ("field", "type", "meaning", "always there")
    return _table(head[:3] if is_whole else head, [row[:3] if is_whole else row for row in rows])


def _type(field: Mapping[str, Any]) -> str:
    """The type of a field in words, with links to the parts of the page."""
    match field:
        case {"$ref": reference}:
            name = reference.rpartition("/")[2]
            words = f"[{name}](#{name.lower()})"
        case {"anyOf": types}:
            words = " or ".join(map(_type, types))
        case {"const": value}:
            words = f"`{json.dumps(value)}`"
        case {"enum": values}:
            words = ", ".join(f"`{json.dumps(value)}`" for value in values)
        case {"type": "array"}:
            items = field.get("prefixItems", [field.get("items", {})])
            words = f"list of {', '.join(map(_type, items))}"
        case {"type": "object", "additionalProperties": dict() as values}:
            words = f"object of {_type(values)}"
        case {"type": list() as types}:
            words = " or ".join(types)
        case _:
            words = field.get("type", "any")
    return words


# --- Findings --------------------------------------------------------------------------------------------------------


def _finding_list() -> Iterator[tuple[str, str]]:
    """The list of the pages of findings, which are files of their own."""
    lines = _manual("ctxasm.1")["CHECKS"]
    rows: dict[bool, list[tuple[str, str]]] = {False: [], True: []}
    for path in sorted(FINDINGS.glob("*.md")):
        about = path.read_text(encoding="utf-8").split("\n\n")[1]
        rows[path.stem.startswith("host-")].append((f"[`{path.stem}`]({path.name})", _cell(about)))
    head = ("finding", "what is wrong, and how severe it is")
    about = markdown(lines[: lines.index(".TP")])
    of_workspaces, of_hosts = _table(head, rows[False]), _table(head, rows[True])
    text = f"# Findings\n\n{about}\n{of_workspaces}\n## Of a host\n\n`ctxasm check --host` reports these:\n\n{of_hosts}"
    yield "findings/index.md", text


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _cell(text: str) -> str:
    """A text for a cell of a table."""
    return " ".join(text.split()).replace("|", "\\|")
