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
from roff_to_markdown import entries, inline, markdown, plain, sections

from contextasm.cli.command_line import GROUPS
from contextasm.cli.typer_commands import group

ROOT = Path(__file__).resolve().parent.parent
SCHEMAS = ROOT / "contextasm" / "rendering" / "schemas"
CASES = ROOT / "tests" / "cases" / "checks"

OF_COMMANDS = {
    "RECORDS": "records.md",
    "METRICS": "metrics.md",
    "ENVIRONMENT": "environment.md",
    "FILES": "files.md",
    "EXIT STATUS": "exit-codes.md",
}
"""The page of each section of `man/ctxasm.1` that has one."""

OF_SETTINGS = {
    "WORKSPACE": "workspace.md",
    "SETTINGS": "ctxasm-yaml.md",
    "PROFILES": "profiles.md",
    "RULES": "rules.md",
    "MEANING": "meaning.md",
    "SHARED STORE": "shared-store.md",
    "MEMORIES": "memories.md",
    "AUDIENCES": "audiences.md",
}
"""The page below `settings/` of each section of `man/ctxasm.yaml.5`."""

KEYED = {"SETTINGS", "PROFILES", "RULES"}
"""Sections whose tags are keys: each key is a heading there, so that a link can lead to it."""

MANUALS = {"ctxasm": "commands/index.md", "ctxasm.yaml": "settings/index.md"}
"""The page that stands for each manual page."""


@cache
def _manual(name: str) -> Mapping[str, Sequence[str]]:
    return sections((ROOT / "man" / name).read_text(encoding="utf-8"))


def reference_pages() -> dict[str, str]:
    """The text of each page by its path below `docs/reference/`."""
    return dict([*_command_pages(), *_setting_pages(), *_schema_pages(), *_finding_pages()])


# --- Commands --------------------------------------------------------------------------------------------------------


class _Tables:
    """A formatter of help, which has the options of a command as tables."""

    current_indent = 0

    def __init__(self) -> None:
        self.text = ""

    @contextmanager
    def section(self, title: str) -> Iterator[None]:
        self.text += f"\n## {title}\n\n"
        yield

    def write_dl(self, rows: Sequence[tuple[str, str]]) -> None:
        self.text += _table(("", "meaning"), [(f"`{name}`", _escaped(about)) for name, about in rows])

    def write(self, line: str) -> None:
        self.text += f"    {line}"


def _command_pages() -> Iterator[tuple[str, str]]:
    manual = entries(_manual("ctxasm.1")["COMMANDS"])
    whole = group()
    for names in GROUPS.values():
        for name, summary in names.items():
            yield f"commands/{name}.md", _command_page(whole, name, summary, manual[name])
    for title, path in OF_COMMANDS.items():
        text = markdown(_manual("ctxasm.1")[title])
        yield path, _linked(f"# {'Exit codes' if title == 'EXIT STATUS' else title.capitalize()}\n\n{text}", path)
    lists = "".join(
        f"\n## {title}\n\n" + _table(("command", ""), [(f"[`{name}`]({name}.md)", _escaped(line)) for name, line in names.items()])
        for title, names in GROUPS.items()
    )
    about = markdown(_manual("ctxasm.1")["DESCRIPTION"])
    options = markdown([line for line in _manual("ctxasm.1")["OPTIONS"] if line][:8])
    path = "commands/index.md"
    yield path, _linked(f"# Commands\n\n{about}\n{lists}\n", path)


def _command_page(whole: Any, name: str, summary: str, manual: Sequence[str]) -> str:
    command = whole.get_command(None, name)
    context = typer.Context(command, info_name=f"ctxasm {name}")
    usage = " ".join(["ctxasm", name, *command.collect_usage_pieces(context)])
    tables = _Tables()
    command.format_options(context, tables)
    page = f"# ctxasm {name}\n\n{summary}\n\n    {usage}\n\n{markdown(manual)}{tables.text}"
    return _linked(page, f"commands/{name}.md")


# --- Settings --------------------------------------------------------------------------------------------------------


def _setting_pages() -> Iterator[tuple[str, str]]:
    manual = _manual("ctxasm.yaml.5")
    for title, name in OF_SETTINGS.items():
        path = f"settings/{name}"
        text = markdown(manual[title], heading="###" if title in KEYED else "")
        yield path, _linked(f"# {_title(title, name)}\n\n{text}", path)
    path = "settings/index.md"
    rows = [(f"[{_title(title, name)}]({name})", _first_sentence(manual[title])) for title, name in OF_SETTINGS.items()]
    about, examples = markdown(manual["DESCRIPTION"]), markdown(manual["EXAMPLES"])
    yield path, _linked(f"# Files and settings\n\n{about}\n{_table(('page', ''), rows)}\n## Examples\n\n{examples}", path)


def _title(section: str, name: str) -> str:
    return "ctxasm.yaml" if name == "ctxasm-yaml.md" else section.capitalize()


def _first_sentence(lines: Sequence[str]) -> str:
    text = markdown(lines).partition("\n\n")[0]
    return _escaped(re.split(r"(?<=[.:])\s", text)[0].rstrip(":"))


# --- JSON ------------------------------------------------------------------------------------------------------------


def _schema_pages() -> Iterator[tuple[str, str]]:
    rows = []
    for file in sorted(SCHEMAS.glob("*.json")):
        schema = json.loads(file.read_text(encoding="utf-8"))
        rows.append((f"[`{schema['title']}`]({file.stem}.md)", _escaped(schema["description"])))
        yield f"json/{file.stem}.md", _schema_page(schema, file.stem)
        yield f"json/{file.name}", file.read_text(encoding="utf-8")
    manual = markdown([line for line in _manual("ctxasm.1")["JSON"] if not line.startswith('.\\"')][:8])
    yield "json/index.md", f"# JSON\n\n{_before_list('ctxasm.1', 'JSON')}\n{_table(('document', ''), rows)}"


def _before_list(page: str, section: str) -> str:
    lines = list(_manual(page)[section])
    return markdown(lines[: lines.index(".TP")])


def _schema_page(schema: Mapping[str, Any], stem: str) -> str:
    text = f"# {schema['title']}\n\n{schema['description']}\n\nThe JSON Schema: [{stem}.json]({stem}.json).\n\n"
    text += _fields(schema)
    for name, part in schema.get("$defs", {}).items():
        text += f"\n## {name}\n\n{part.get('description', '')}\n\n{_fields(part)}"
    return text


def _fields(schema: Mapping[str, Any]) -> str:
    required = schema.get("required", [])
    rows = [
        (f"`{name}`" + ("" if name in required or not required else " (may be missing)"), _type(field), _escaped(field.get("description", "")))
        for name, field in schema.get("properties", {}).items()
    ]
    forms = [_type(form) for form in schema.get("oneOf", ())]
    return (_table(("field", "type", "meaning"), rows) if rows else "") + (f"\nOne of {', '.join(forms)}.\n" if forms else "")


def _type(field: Mapping[str, Any]) -> str:
    """The type of a field, with a link to the part of the page that describes it."""
    if "$ref" in field:
        name = field["$ref"].rpartition("/")[2]
        return f"[{name}](#{name.lower()})"
    if "anyOf" in field:
        return " or ".join(map(_type, field["anyOf"]))
    if "const" in field:
        return f"`{json.dumps(field['const'])}`"
    if "enum" in field:
        return " or ".join(f"`{json.dumps(value)}`" for value in field["enum"])
    kind = field.get("type", "any")
    if kind == "array":
        inner = [_type(each) for each in field.get("prefixItems", [field.get("items", {})])]
        return f"list of {', '.join(inner)}"
    if kind == "object":
        return f"object of {_type(field['additionalProperties'])}" if field.get("additionalProperties") else "object"
    return kind if isinstance(kind, str) else " or ".join(kind)


# --- Findings --------------------------------------------------------------------------------------------------------


def _finding_pages() -> Iterator[tuple[str, str]]:
    pages = {path.stem: path.read_text(encoding="utf-8") for path in sorted((ROOT / "docs/reference/findings").glob("*.md"))}
    ...


# --- Texts -----------------------------------------------------------------------------------------------------------


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "".join("| " + " | ".join(line) + " |\n" for line in lines)


def _escaped(text: str) -> str:
    """A text for a cell of a table."""
    return re.sub(r"\s+", " ", text).replace("|", "\\|")


def _linked(text: str, path: str) -> str:
    """A page, with links in the places where it names a manual page, a section of one, or a command."""
