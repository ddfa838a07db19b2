"""Source `manifests`: facts of a project that its package files say, such as `pyproject.toml` and `package.json`.

The name and the description are left out if a layer that this one starts from shows anything.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from contextasm.model import Data, Document, Fragment, Location, Problem, Reason, RetrievalResult, SourceQuery
from contextasm.retrieval.reading.files import layer_display, query_paths, read_files
from contextasm.text.cleaning.clean import parse_data, with_private_parts
from contextasm.text.graphemes import beginning
from contextasm.text.json_reader import load_toml
from contextasm.text.names.templates import fill_item

LINE = "- {name}: {text}"
"""Template of a fact where the layer has no `item`."""

LARGEST = 256 * 1024
"""Bytes of the largest file that is parsed."""

LONGEST = 300
"""Most characters of a fact."""

MOST = 12
"""Number of dependencies and of commands of a file, unless the layer has `max_candidates`."""

ONCE = ("Name", "Description")
"""Facts of which only the first is shown, and none if an earlier layer says it."""

COMMAND = "Command"

FACTS: Mapping[str, Sequence[tuple[str, str]]] = {
    "pyproject.toml": (
        *(("Name", "project.name"), ("Name", "tool.poetry.name")),
        *(("Description", "project.description"), ("Description", "tool.poetry.description")),
        *(("Python", "project.requires-python"), ("Python", "tool.poetry.dependencies.python")),
        *(("Python packages", "project.dependencies"), ("Python packages", "tool.poetry.dependencies")),
        *((COMMAND, "project.scripts"), (COMMAND, "tool.poetry.scripts"), (COMMAND, "tool.pdm.scripts")),
        (COMMAND, "tool.poe.tasks"),
    ),
    "package.json": (
        *(("Name", "name"), ("Description", "description"), ("Node.js", "engines.node")),
        *(("TypeScript", "dependencies.typescript"), ("TypeScript", "devDependencies.typescript")),
        *(("Package manager", "packageManager"), ("npm packages", "dependencies"), (COMMAND, "scripts")),
    ),
    "Cargo.toml": (
        *(("Name", "package.name"), ("Description", "package.description"), ("Rust", "package.rust-version")),
        *(("Rust", "workspace.package.rust-version"), ("Rust edition", "package.edition")),
        *(("Crates", "dependencies"), ("Crates", "workspace.dependencies")),
    ),
    "go.mod": (("Name", "module"), ("Go", "go"), ("Go modules", "require")),
}
"""The facts of each file, by its name: the word for each and the path of its value, of which the first counts."""


def manifests(query: SourceQuery) -> RetrievalResult:
    """Facts of the layer's files as fragments, in the order of the files.

    A file that can't be parsed is a problem; a value of another type than a fact needs is not a fact.
    """
    problems: list[Problem] = []
    documents = read_files(query.build.workspace, query_paths(query), problems)
    others = (fragment for result in query.found.values() for fragment in result.fragments)
    said = {*ONCE} if any(fragment.verdict.excluded is None for fragment in others) else set[str]()
    fragments: list[Fragment] = []
    for number, document in enumerate(documents):
        name = document.path.rpartition("/")[2]
        if name not in FACTS:
            problems.append(Problem("bad-data", document.path, 0, f"is not one of {', '.join(FACTS)}"))
        elif document.size > LARGEST:
            what = f"has {document.size:,} bytes, more than the limit of {LARGEST:,}"
            problems.append(Problem("too-large", document.path, 0, what))
        elif isinstance(data := parse_data(document, _go_mod if name == "go.mod" else load_toml), Problem):
            problems.append(data)
        else:
            documents[number] = data.document
            fragments += _facts(data, FACTS[name], said, query)
    return RetrievalResult(tuple(fragments), tuple(documents), tuple(problems))


def _facts(data: Data, facts: Sequence[tuple[str, str]], said: set[str], query: SourceQuery) -> Iterator[Fragment]:
    most, own, document = query.layer.query.max_candidates or MOST, {*said}, data.document
    commands = 0
    for name, path in facts:
        value = None if name in own else _value_at(data.value, path)
        listed = value if isinstance(value, list | Mapping) and name != COMMAND else ()
        names = [*filter(None, map(_package_name, listed))]
        if name == COMMAND and isinstance(value, Mapping):
            texts = [(f"{path}.{key}", f"{key}: {text}", [text]) for key, text in value.items() if _is_text(text)]
        elif names:
            more = f" and {len(names) - most} more" * (len(names) > most)
            texts = [(path, ", ".join(names[:most]) + more, names[:most])]
        else:
            texts = [(path, value, [value])] if isinstance(value, str) and _is_text(value) else []
        own |= {name} - {COMMAND} if texts else set()
        for key, text, words in texts:
            line = {"name": name, "text": beginning(text, LONGEST)}
            item = fill_item(query.layer.display.item_template or LINE, line)
            commands += name == COMMAND
            is_over = commands > most and name == COMMAND
            location = Location(document.path, 1) if is_over else _location(document, key + "." * bool(names), words)
            fragment = Fragment(f"{document.path}#{key}", location, item, layer_display(query.layer))
            yield fragment.exclude(Reason.of("not-in-pool", pool=most)) if is_over else fragment
    said |= own & {*ONCE}


def _is_text(value: object) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _value_at(value: object, path: str) -> object:
    for key in path.split("."):
        value = value.get(key) if isinstance(value, Mapping) else None
    return value


def _package_name(requirement: object) -> str:
    found = re.match(r"[@\w][^\s\[;<>=!~(,]*", requirement) if isinstance(requirement, str) else None
    return found[0] if found and found[0] != "python" else ""


def _location(document: Document, path: str, texts: Sequence[str]) -> Location:
    """The lines of the texts that a key holds: it begins a line after the first one that names its table.

    A path that ends in a dot is a table of which the texts are keys or items.
    """
    lines = with_private_parts(document).text.replace('\\"', '"').split("\n")
    table, _, key = path.rpartition(".")
    named = re.compile(rf"(?<![\w-]){re.escape(table.rpartition('.')[2])}(?![\w-])")
    start = next((number for number, line in enumerate(lines) if named.search(line)), 0)
    begins = [line.lstrip(" \t\"'").startswith(key) for line in lines]
    words = [text.strip().partition("\n")[0] for text in texts]
    ranks = ([(word in line, at >= start, begins[at], -at) for at, line in enumerate(lines)] for word in words)
    found = [-max(rank)[3] for rank in ranks]
    return Location(document.path, document.line + min(found), rows=max(found) - min(found) + 1)


def _go_mod(text: str, _where: str) -> object:
    require: list[str] = []
    values: dict[str, object] = {"require": require}
    for directive, block, rest in re.findall(r"(?m)^(\w+)[ \t]*(?:\(([^()]*)\)|[ \t](.*))$", text):
        if directive == "require":
            require += re.findall(r"(?m)^[ \t]*(\S+)[ \t]+v\S+[ \t]*(?://(?! indirect).*)?$", block or rest)
        else:
            values.setdefault(directive, rest.partition("//")[0].strip().strip('"'))
    return values
