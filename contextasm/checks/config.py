"""Checks of what the workspace is made of: settings, YAML, front matter, files that are missing or can't be read."""

from __future__ import annotations

import re
from collections.abc import Iterator

from contextasm.checks.finding import Finding
from contextasm.checks.inspection import AGENT_FILES, Inspection, error_finding, warning_finding, whole_text
from contextasm.config import values
from contextasm.config.outputs import parse_outputs
from contextasm.config.settings import FILE, FILE_KEYS, SETTINGS
from contextasm.config.yaml_loader import YamlMapping, load_mapping, load_yaml
from contextasm.model import ContextasmError, Document
from contextasm.text.front_matter import front_matter
from contextasm.text.templates import fill_template


def check_settings(scene: Inspection) -> Iterator[Finding]:
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
        return error_finding("", 0, f"{wrong.where}: {wrong.what}", wrong.hint)
    key = f"{found[3]}: " if found[3] else ""
    return error_finding(found[1], int(found[2] or 0), key + wrong.what, wrong.hint)


def _yaml(scene: Inspection) -> Iterator[ContextasmError]:
    """Those of files that are no YAML at all."""
    for path, document in scene.documents.items():
        if path.endswith((".yaml", ".yml")):
            try:
                load_yaml(document.data, path)
            except ContextasmError as wrong:
                yield wrong


def _settings(scene: Inspection) -> Iterator[ContextasmError]:
    """Those of each key of `ctxasm.yaml`; a build would stop at the first."""
    document = scene.documents.get(FILE)
    if not document:
        return
    try:
        table = load_mapping(document.data, FILE)
    except ContextasmError as wrong:
        yield wrong
        return
    for key in table:
        try:
            _setting(table, key, scene)
        except ContextasmError as wrong:
            yield wrong


def _setting(table: YamlMapping, key: str, scene: Inspection) -> None:
    """Raise for a key that is not known or holds what it can't hold."""
    where = f"{table.where(key)}: {key}"
    if key == "outputs":
        parse_outputs(table)
    elif key in SETTINGS and table[key] is not None:
        value = SETTINGS[key](table[key], where)
        known = {"agent": scene.agents, "team": scene.teams}.get(key)
        if known is not None and value:
            values.require_known(str(value), known, where, key)
    elif key not in FILE_KEYS:
        alone = YamlMapping(table.path, table.lines[key])
        alone[key] = None
        alone.refuse_unknown(FILE_KEYS)


def check_front_matter(scene: Inspection) -> Iterator[Finding]:
    """Lines of front matter that are not understood, and front matter that never ends."""
    for path, document in scene.documents.items():
        text = whole_text(document)
        if not path.endswith(".md") or not text.startswith("---"):
            continue
        lines = text.split("\n")
        found = front_matter(lines)
        for number in found.unread:
            hint = "write `key: value`, or a list as `key: [a, b]`"
            yield warning_finding(
                path, number, "this line of the front matter is not understood, so it counts for nothing", hint
            )
        closed = any(line.rstrip() in {"---", "..."} for line in lines[1:])
        if not closed and len(lines) > 1 and re.match(r"[A-Za-z_][\w-]*:(\s|$)", lines[1]):
            hint = "close it with a line `---`, or take the first line away"
            yield warning_finding(path, 1, "the front matter never ends, so all of it is shown as text", hint)


READ_HINTS = {
    "unreadable": "give whoever runs this the right to read it",
    "not-text": "save it as UTF-8",
    "not-a-file": "put a file in its place, or take it away",
    "outside-workspace": "put a copy of the file into the workspace in place of the link",
}
"""What to do about a file that can't be read, by the problem's code."""


def check_unreadable(scene: Inspection) -> Iterator[Finding]:
    """Files that can't be read: an error for links that lead out and for files of required layers."""
    required = _required(scene)
    for problem in scene.problems:
        grave = problem.code == "outside-workspace" or problem.path in required
        tell = error_finding if grave else warning_finding
        yield tell(
            problem.path, 0, problem.message, READ_HINTS.get(problem.code, "put a file in its place that can be read")
        )
    for path, wrong in scene.workspace.unlisted.items():
        yield error_finding(path, 0, wrong.what, wrong.hint)


def _required(scene: Inspection) -> set[str]:
    """The paths of the files that are always shown whole."""
    layers = [layer for layer in scene.job.build.profile.layers if layer.limits.required] if scene.job else []
    templates = [path for layer in layers for path in layer.query.paths] or AGENT_FILES
    return {fill_template(path, {"agent": agent}) for path in templates for agent in (*scene.agents, "")}


def check_required_files(scene: Inspection) -> Iterator[Finding]:
    """Agents without an IDENTITY.md or an INSTRUCTIONS.md, and such files with nothing in them."""
    for agent in scene.agents:
        for path in (fill_template(each, {"agent": agent}) for each in AGENT_FILES):
            read = scene.workspace.read(path)
            if read is None:
                hint = f"write it, or run `ctxasm init --agent {agent}`, which leaves what is there alone"
                yield error_finding(path, 0, "is missing, so this agent can't be built", hint)
            elif isinstance(read, Document) and not read.text.strip():
                yield error_finding(
                    path, 0, "is empty, and always shown", "write into it who the agent is, or how it works"
                )


BUILD_PROBLEMS = {
    *READ_HINTS,
    *("bad-log-name", "bad-memory", "no-memory", "duplicate-id", "starved", "no-room", "over-budget"),
}
"""The problems of builds that other checks tell of, with more to say."""


def check_builds(scene: Inspection) -> Iterator[Finding]:
    """Every other problem that a build warns of: nothing that it would say is kept back."""
    home = {fill_template(path, {"agent": agent}) for path in AGENT_FILES for agent in scene.agents}
    told: dict[Finding, None] = {}
    for context in scene.contexts:
        for problem in context.problems:
            if problem.code not in BUILD_PROBLEMS and not (problem.code == "required-empty" and problem.path in home):
                is_file = problem.path in scene.documents
                path, subject = (problem.path, "") if is_file else ("", f"{problem.path} ")
                hint = "put it right; `ctxasm explain` tells what became of everything"
                told[warning_finding(path, problem.line, f"{subject}{problem.message} ({problem.code})", hint)] = None
    yield from told
