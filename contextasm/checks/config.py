"""Checks of what the workspace is made of: settings, YAML, front matter, files that are missing or can't be read."""

from __future__ import annotations

import re
from collections.abc import Iterator

from contextasm.checks.inspection import HOME, Scene, error, warning, whole_text
from contextasm.checks.report import Finding
from contextasm.config import values
from contextasm.config.outputs import outputs
from contextasm.config.settings import FILE, FILE_KEYS, SETTINGS
from contextasm.config.yaml_loader import Table, load, load_table
from contextasm.model import ContextasmError, Document
from contextasm.text.front_matter import front_matter
from contextasm.text.templates import fill


def config(scene: Scene) -> Iterator[Finding]:
    """Every setting, profile and YAML file that is not understood."""
    errors = [*_yaml(scene), *_settings(scene)]
    # A file that is missing or unreadable has a check of its own.
    if scene.error and not scene.error.where.endswith(".md"):
        errors.append(scene.error)
    yield from dict.fromkeys(as_finding(each, scene.workspace.folder.root) for each in errors)


def as_finding(wrong: ContextasmError, root: str) -> Finding:
    """An error as a finding, its place taken apart."""
    found = re.fullmatch(r"(.+?\.(?:ya?ml|md))(?::(\d+))?(?:: (.+))?", wrong.where.removeprefix(f"{root}/"))
    if not found:
        return error("", 0, f"{wrong.where}: {wrong.what}", wrong.todo)
    key = f"{found[3]}: " if found[3] else ""
    return error(found[1], int(found[2] or 0), key + wrong.what, wrong.todo)


def _yaml(scene: Scene) -> Iterator[ContextasmError]:
    """Those of files that are no YAML at all."""
    for path, document in scene.documents.items():
        if path.endswith((".yaml", ".yml")):
            try:
                load(document.data, path)
            except ContextasmError as wrong:
                yield wrong


def _settings(scene: Scene) -> Iterator[ContextasmError]:
    """Those of each key of `ctxasm.yaml`; a build would stop at the first."""
    document = scene.documents.get(FILE)
    if not document:
        return
    try:
        table = load_table(document.data, FILE)
    except ContextasmError as wrong:
        yield wrong
        return
    for key in table:
        try:
            _setting(table, key, scene)
        except ContextasmError as wrong:
            yield wrong


def _setting(table: Table, key: str, scene: Scene) -> None:
    """Raise for a key that is not known or holds what it can't hold."""
    where = f"{table.where(key)}: {key}"
    if key == "outputs":
        outputs(table)
    elif key in SETTINGS and table[key] is not None:
        value = SETTINGS[key](table[key], where)
        known = {"agent": scene.agents, "team": scene.teams}.get(key)
        if known is not None and value:
            values.choice(str(value), known, where, key)
    elif key not in FILE_KEYS:
        alone = Table(table.path, table.lines[key])
        alone[key] = None
        alone.refuse_unknown(FILE_KEYS)


def front(scene: Scene) -> Iterator[Finding]:
    """Lines of front matter that are not understood, and front matter that never ends."""
    for path, document in scene.documents.items():
        text = whole_text(document)
        if not path.endswith(".md") or not text.startswith("---"):
            continue
        lines = text.split("\n")
        found = front_matter(lines)
        for number in found.unread:
            todo = "write `key: value`, or a list as `key: [a, b]`"
            yield warning(
                path, number, "this line of the front matter is not understood, so it counts for nothing", todo
            )
        closed = any(line.rstrip() in {"---", "..."} for line in lines[1:])
        if not closed and len(lines) > 1 and re.match(r"[A-Za-z_][\w-]*:(\s|$)", lines[1]):
            todo = "close it with a line `---`, or take the first line away"
            yield warning(path, 1, "the front matter never ends, so all of it is shown as text", todo)


TODO = {
    "unreadable": "give whoever runs this the right to read it",
    "not-text": "save it as UTF-8",
    "not-a-file": "put a file in its place, or take it away",
    "outside-workspace": "put a copy of the file into the workspace in place of the link",
}
"""What to do about a file that can't be read, by the problem's code."""


def unreadable(scene: Scene) -> Iterator[Finding]:
    """Files that can't be read: an error for links that lead out and for files of required layers."""
    required = _required(scene)
    for problem in scene.problems:
        grave = problem.code == "outside-workspace" or problem.path in required
        tell = error if grave else warning
        yield tell(problem.path, 0, problem.message, TODO.get(problem.code, "put a file in its place that can be read"))
    for path, wrong in scene.workspace.unlisted.items():
        yield error(path, 0, wrong.what, wrong.todo)


def _required(scene: Scene) -> set[str]:
    """The paths of the files that are always shown whole."""
    layers = [layer for layer in scene.job.profile.layers if layer.required] if scene.job else []
    templates = [path for layer in layers for path in layer.path] or HOME
    return {fill(path, {"agent": agent}) for path in templates for agent in (*scene.agents, "")}


def required_file(scene: Scene) -> Iterator[Finding]:
    """Agents without an IDENTITY.md or an INSTRUCTIONS.md, and such files with nothing in them."""
    for agent in scene.agents:
        for path in (fill(each, {"agent": agent}) for each in HOME):
            read = scene.workspace.read(path)
            if read is None:
                todo = f"write it, or run `ctxasm init --agent {agent}`, which leaves what is there alone"
                yield error(path, 0, "is missing, so this agent can't be built", todo)
            elif isinstance(read, Document) and not read.text.strip():
                yield error(path, 0, "is empty, and always shown", "write into it who the agent is, or how it works")


TOLD = {
    *TODO,
    *("bad-log-name", "bad-memory", "no-memory", "duplicate-id", "starved", "no-room", "over-budget"),
}
"""The problems of builds that other checks tell of, with more to say."""


def build(scene: Scene) -> Iterator[Finding]:
    """Every other problem that a build warns of: nothing that it would say is kept back."""
    home = {fill(path, {"agent": agent}) for path in HOME for agent in scene.agents}
    told: dict[Finding, None] = {}
    for context in scene.contexts:
        for problem in context.problems:
            if problem.code not in TOLD and not (problem.code == "required-empty" and problem.path in home):
                is_file = problem.path in scene.documents
                path, subject = (problem.path, "") if is_file else ("", f"{problem.path} ")
                todo = "put it right; `ctxasm explain` tells what became of everything"
                told[warning(path, problem.line, f"{subject}{problem.message} ({problem.code})", todo)] = None
    yield from told
