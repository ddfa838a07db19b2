"""Checks of settings, YAML files, front matter, missing and unreadable files, and the problems of builds."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping

from contextasm.checks.finding import Finding, error_finding, note_finding, warning_finding
from contextasm.checks.inspection import Inspection, layer_patterns
from contextasm.config.input import values
from contextasm.config.input.settings import FILE, FILE_KEYS, SETTINGS
from contextasm.config.input.yaml_loader import YamlMapping, load_config, load_mapping, load_yaml
from contextasm.config.keys.hook import parse_agents
from contextasm.config.keys.outputs import parse_outputs
from contextasm.config.keys.upkeep import parse_upkeep
from contextasm.model import ContextasmError, Document, Problem, grouped
from contextasm.text.markdown.front_matter import front_matter
from contextasm.text.markdown.imports import SCOPES
from contextasm.text.memories.parser import FIELDS
from contextasm.text.names.places import AGENT_FILES
from contextasm.text.names.templates import fill_template


def check_settings(inspection: Inspection) -> Iterator[Finding]:
    """Report errors of the settings, of the profile and of YAML files."""
    errors = [*_yaml_errors(inspection), *_settings_errors(inspection)]
    # A file that is missing or unreadable has a check of its own.
    if inspection.error and not inspection.error.where.endswith(".md"):
        errors.append(inspection.error)
    yield from dict.fromkeys(as_finding(error, inspection.folder.root) for error in errors)


def as_finding(error: ContextasmError, root: str) -> Finding:
    """The finding for an error: file, line and key are taken from its place; `root` is the workspace's folder."""
    place = re.fullmatch(r"(.+?\.(?:ya?ml|md|lock))(?::(\d+))?(?:: (.+))?", error.where.removeprefix(f"{root}/"))
    if not place:
        return error_finding("", 0, f"{error.where}: {error.what}", error.hint)
    key = f"{place[3]}: " if place[3] else ""
    return error_finding(place[1], int(place[2] or 0), key + error.what, error.hint)


def _yaml_errors(inspection: Inspection) -> Iterator[ContextasmError]:
    for path, document in inspection.documents.items():
        if path.endswith((".yaml", ".yml")) and not document.lacks_private:  # a message may quote a key
            load = load_config if path.startswith(("rules/", "profiles/")) or path == FILE else load_yaml
            try:
                load(document.data, path)
            except ContextasmError as error:
                yield error


def _settings_errors(inspection: Inspection) -> Iterator[ContextasmError]:
    # One error for each key; a build would stop at the first.
    document = inspection.documents.get(FILE)
    if not document:
        return
    try:
        table = load_mapping(document.data, FILE)
    except ContextasmError as error:
        yield error
        return
    for key in table:
        try:
            _check_setting(table, key, inspection)
        except ContextasmError as error:
            yield error


def _check_setting(table: YamlMapping, key: str, inspection: Inspection) -> None:
    values.require_known(key, FILE_KEYS, table.where(key), "key")
    if parse_section := _SECTIONS.get(key):
        parse_section(table)
    elif key == "memories" and table[key] is not None:
        from contextasm.config.keys.store import parse_store  # here: most workspaces have no store

        parse_store(table)
    elif key in SETTINGS and table[key] is not None:
        where = f"{table.where(key)}: {key}"
        value = SETTINGS[key](table[key], where)
        names = {"agent": inspection.agents, "team": inspection.teams}.get(key)
        if names is not None and value:
            values.require_known(str(value), names, where, key)


_SECTIONS: Mapping[str, Callable[[YamlMapping], object]] = {
    "outputs": parse_outputs,
    "upkeep": parse_upkeep,
    "hook": parse_agents,
}


_READ_KEYS = {*FIELDS, *SCOPES, "key", "title", "status", "date", "updated"}
"""Keys of front matter that are read, of memories, instructions and pages; others belong to other programs."""


def check_front_matter(inspection: Inspection) -> Iterator[Finding]:
    """Report front matter that is not YAML, a value of it that is not read although its key is, and a missing end."""
    for path, document in inspection.documents.items():
        text = document.whole
        if not path.endswith(".md") or not text.startswith("---"):
            continue
        lines = text.split("\n")
        front = front_matter(lines)
        is_yaml = True
        try:
            load_yaml("\n".join(lines[1 : front.lines - 1]) if front.unread else "", path)
        except ContextasmError as error:
            is_yaml = error.__cause__ is None  # else it is YAML that only the reader of settings refuses
        if number := next((at for at, key in front.unread.items() if key in _READ_KEYS or not is_yaml), 0):
            message = "this line of the front matter is not understood, so it is ignored"
            yield warning_finding(path, number, message, "write `key: value`, or a list as `key: [a, b]`")
        if not front.lines and len(lines) > 1 and re.match(r"[A-Za-z_][\w-]*:(\s|$)", lines[1]):
            hint = "close it with a line `---`, or remove the first line"
            yield warning_finding(path, 1, "the front matter never ends, so all of it is shown as text", hint)


READ_HINTS = {
    "unreadable": "make it readable for the user who runs ctxasm",
    "not-text": "save it as UTF-8",
    "not-a-file": "replace it with a file, or remove it",
    "bad-name": "rename it",
    "not-a-folder": "replace it with a folder, or remove it",
    "too-large": "split it, or remove it",
    "outside-workspace": "replace the link with a copy of the file",
}
"""Hint for a file that can't be read, by the problem's code."""


def check_unreadable(inspection: Inspection) -> Iterator[Finding]:
    """Report files that can't be read, and folders that can't be listed.

    These, links that lead out and files of required layers are errors.
    """
    required = _required_paths(inspection)
    # Builds read more than the places that are known, such as files that instructions import.
    of_builds = (problem for problem in _build_problems(inspection) if problem.code in READ_HINTS)
    for problem in dict.fromkeys((*inspection.problems, *of_builds)):
        is_folder = problem.path.endswith("/")
        is_error = is_folder or problem.code == "outside-workspace" or problem.path in required
        make_finding = error_finding if is_error else warning_finding
        hint = READ_HINTS.get(problem.code, "replace it with a file that can be read")
        yield make_finding(problem.path, 0, problem.message, hint)


def _required_paths(inspection: Inspection) -> set[str]:
    prepared = inspection.prepared
    layers = [layer for layer in prepared.build.profile.layers if layer.limits.required] if prepared else []
    templates = [path for layer in layers for path in layer.query.paths] or AGENT_FILES
    return {fill_template(path, {"agent": agent}) for path in templates for agent in (*inspection.agents, "")}


def check_required_files(inspection: Inspection) -> Iterator[Finding]:
    """Report agents whose IDENTITY.md or INSTRUCTIONS.md is missing or empty, where a profile in use reads agents."""
    if inspection.prepared and not any("{agent}" in path for layer in inspection.layers for path in layer.query.paths):
        return
    for agent in inspection.agents:
        for path in (fill_template(template, {"agent": agent}) for template in AGENT_FILES):
            document = inspection.workspace.read(path)
            if document is None:
                hint = f"write the file, or run `ctxasm init --agent {agent}`, which overwrites nothing"
                if not values.is_name(agent):
                    hint = f"rename the folder: {values.NAME_HINT}"
                yield error_finding(path, 0, "is missing, so this agent can't be built", hint)
            elif isinstance(document, Document) and not document.text.strip():
                hint = "describe who the agent is, or how it works"
                yield error_finding(path, 0, "the file is empty, but every context shows it", hint)


BUILD_PROBLEMS = {
    *READ_HINTS,
    *("bad-log-name", "bad-memory", "bad-memory-date", "hidden-text", "no-memory", "duplicate-id"),
    *("starved", "no-room", "cut", "over-budget"),
}
"""Codes of the problems of builds that other checks report in more detail."""


def check_builds(inspection: Inspection) -> Iterator[Finding]:
    """Report the problems of builds that no other check reports."""
    agent_paths = {fill_template(path, {"agent": agent}) for path in AGENT_FILES for agent in inspection.agents}
    has_files = any(map(inspection.workspace.list, layer_patterns(inspection.layers)))
    findings: dict[Finding, None] = {}
    for problem in (*_build_problems(inspection), *_problems_without_effect(inspection)):
        if problem.path.startswith("profile ") and has_files:
            continue  # a topic shows them
        is_empty_agent_file = problem.code == "required-empty" and problem.path in agent_paths
        if problem.code not in BUILD_PROBLEMS and not is_empty_agent_file:
            is_file = problem.path in inspection.documents
            path, subject = (problem.path, "") if is_file else ("", f"{problem.path} ")
            message = f"{subject}{problem.message} ({problem.code})"
            hint = problem.hint or "run `ctxasm explain` to see every decision"
            # `@~/notes.md` is the person's own file, which hosts read and a workspace does not.
            make_finding = note_finding if problem.code == "home-import" else warning_finding
            findings[make_finding(path, problem.line, message, hint)] = None
    yield from findings


def _build_problems(inspection: Inspection) -> Iterator[Problem]:
    problems = (problem for context in inspection.contexts for problem in context.problems)
    return (problem for problem in problems if problem.code != "no-effect")


def _problems_without_effect(inspection: Inspection) -> Iterator[Problem]:
    # What matches nothing for one agent may match for another. Each build may suggest a name of its own.
    unused = (each for context in inspection.contexts for each in context.problems if each.code == "no-effect")
    by_subject = grouped(((problem.path, problem.message), problem) for problem in unused)
    for problems in by_subject.values():
        if len(problems) == len(inspection.contexts):
            yield max(problems, key=lambda problem: len(problem.hint))
