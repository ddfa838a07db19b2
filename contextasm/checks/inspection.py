"""Inspection: every file of the workspace, read once, and a build of every agent with every team, for all checks.

It reads and builds, and judges nothing. A file that can't be read becomes a problem, and an error becomes a value.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from itertools import product
from typing import NamedTuple

from contextasm.checks.finding import Finding
from contextasm.config.build import PreparedBuild
from contextasm.config.options import Options, ProcessEnvironment
from contextasm.config.resolve import open_workspace, prepare_build, uses_placeholder
from contextasm.model import Context, ContextasmError, Document, Layer, Memory, Problem, Workspace
from contextasm.text.memory_parser import parse_memories
from contextasm.text.templates import fill_template
from contextasm.workspace.folder import Folder
from contextasm.workspace.git import GitWorkspace
from contextasm.workspace.snapshot import InspectedWorkspace

WORKSPACE_PATTERNS = (
    "ctxasm.yaml",
    "AGENTS.md",
    "CLAUDE.md",
    "PROJECT.md",
    "agents/**/*.md",
    "teams/**/*.md",
    "patterns.yaml",
    "tasks.yaml",
    "graph/*.yaml",
    "knowledge/**/*.md",
    "memories/*.md",
    "profiles/*.yaml",
    "rules/*.yaml",
    "sessions/*.jsonl",
    "threads/*.md",
    "tools/*.json",
)
"""Patterns of the files of a workspace (man/ctxasm.yaml.5, WORKSPACE), without those that the profile names."""

AGENT_FILES = ("agents/{agent}/IDENTITY.md", "agents/{agent}/INSTRUCTIONS.md")
"""Files that every agent has."""


class Inspection(NamedTuple):
    """Everything that checks look at."""

    workspace: InspectedWorkspace
    documents: Mapping[str, Document]
    """Every file that could be read, by path."""
    problems: tuple[Problem, ...]
    """The problem of each file that could not be read."""
    memories: Mapping[str, tuple[tuple[Memory, ...], tuple[Problem, ...]]]
    """Memories and problems of each file of memories, by path."""
    logs: tuple[str, ...]
    """Paths of the files in the places of logs, whatever their names."""
    agents: tuple[str, ...]
    """Names of the folders of `agents/`."""
    teams: tuple[str, ...]
    """Names of the folders of `teams/`."""
    prepared: PreparedBuild | None
    """The build that the others differ from by agent and team; None where nothing can be built."""
    error: ContextasmError | None
    """The reason why nothing can be built."""
    contexts: tuple[Context, ...]
    """One for each agent with each team."""
    options: Options
    process: ProcessEnvironment

    @property
    def day(self) -> date:
        """The day that counts as today."""
        if self.prepared:
            return self.prepared.build.request.date
        return date.fromtimestamp(self.process.now())  # noqa: DTZ012 - local


def inspect(
    options: Options,
    process: ProcessEnvironment,
    extra_paths: Iterable[str] = (),
    folder: Folder | GitWorkspace | None = None,
) -> Inspection:
    """Read and build everything; `extra_paths` are read wherever they are in the workspace.

    `folder` is a workspace that is open already. Raises `ContextasmError` where there is no workspace, and for options
    that can't be used.
    """
    workspace = InspectedWorkspace(folder or open_workspace(options, process))
    agents, teams = _nonempty_folders(workspace, "agents"), _nonempty_folders(workspace, "teams")
    complete_agents = [
        agent
        for agent in ((options.agent,) if options.agent else agents)
        if all(workspace.read(fill_template(path, {"agent": agent})) for path in AGENT_FILES)
    ]
    prepared, error = _prepare(options, process, workspace.folder, complete_agents[0] if complete_agents else "")
    layers = prepared.build.profile.layers if prepared else ()
    patterns = [*WORKSPACE_PATTERNS, *(_any_owner_pattern(path) for layer in layers for path in layer.query.paths)]
    paths = sorted({*extra_paths, *(path for pattern in patterns for path in workspace.list(pattern))})
    results = {path: workspace.read(path) for path in paths}
    documents = {path: result for path, result in results.items() if isinstance(result, Document)}
    memory_paths = _paths_of_folder_or_source(workspace, layers, "memories", {"recent", "search", "memories"})
    wanted_teams = teams if options.team is None else (options.team,)
    return Inspection(
        workspace=workspace,
        documents=documents,
        problems=tuple(result for result in results.values() if isinstance(result, Problem)),
        memories={path: parse_memories(document) for path, document in documents.items() if path in memory_paths},
        logs=tuple(sorted(_paths_of_folder_or_source(workspace, layers, "daily", {"daily"}))),
        agents=agents,
        teams=teams,
        prepared=prepared,
        error=error,
        contexts=tuple(_contexts_of_all_owners(workspace, prepared, complete_agents, wanted_teams)) if prepared else (),
        options=options,
        process=process,
    )


def _nonempty_folders(workspace: Workspace, parent: str) -> tuple[str, ...]:
    return tuple(sorted({path.split("/")[1] for path in workspace.list(f"{parent}/**/*") if path.count("/") > 1}))


def _any_owner_pattern(template: str) -> str:
    return fill_template(template, {"agent": "*", "team": "*"})


def _paths_of_folder_or_source(
    workspace: Workspace, layers: Iterable[Layer], folder: str, sources: set[str]
) -> set[str]:
    patterns = [f"agents/*/{folder}/*.md", f"teams/*/{folder}/*.md"]
    for layer in layers:
        if sources & {*layer.query.sources}:
            patterns += [_any_owner_pattern(path) for path in layer.query.paths]
    return {path for pattern in patterns for path in workspace.list(pattern)}


def _prepare(
    options: Options, process: ProcessEnvironment, folder: Folder | GitWorkspace, agent: str
) -> tuple[PreparedBuild | None, ContextasmError | None]:
    """The build of one agent, or the error of the workspace that prevents it. Raises the errors of the options."""
    # Named in the environment and not as an option: a profile that reads no agent refuses the option.
    environment = {**process.environment, "CTXASM_TEAM": "", **({"CTXASM_AGENT": agent} if agent else {})}
    try:
        return prepare_build(options, process._replace(environment=environment), folder), None
    except ContextasmError as error:
        is_of_request = error.where.startswith(("--", "CTXASM_", "SOURCE_DATE_EPOCH", "tokenizer"))
        if is_of_request or not _is_in_workspace(error, folder):
            raise
        return None, error


def _is_in_workspace(error: ContextasmError, folder: Folder | GitWorkspace) -> bool:
    return not os.path.isabs(error.where) or error.where.startswith(folder.root.rstrip("/") + "/")


def _contexts_of_all_owners(
    workspace: Workspace, prepared: PreparedBuild, agents: Sequence[str], teams: Sequence[str]
) -> Iterable[Context]:
    profile, request = prepared.build.profile, prepared.build.request
    agents = agents if uses_placeholder(profile, "agent") else ("",)
    teams = (teams or ("",)) if uses_placeholder(profile, "team") else ("",)
    for agent, team in product(agents, teams):
        build = prepared.in_full._replace(request=request._replace(agent=agent, team=team), workspace=workspace)
        try:
            yield prepared.run(build)
        except ContextasmError:
            # A required file that can't be read: it is among the problems.
            continue
    if prepared.counts:
        prepared.counts.save()


def whole_text(document: Document) -> str:
    """The text of a file with its front matter: line 1 is the file's first."""
    if document.line == 1:
        return document.text
    encoding = "utf-16" if document.data[:2] in {b"\xff\xfe", b"\xfe\xff"} else "utf-8-sig"
    return document.data.decode(encoding).replace("\r\n", "\n")


# `run_checks` puts in the id, so that it is always the name of the check in the table.


def error_finding(path: str, line: int, message: str, hint: str) -> Finding:
    """A finding that makes the run fail."""
    return Finding("", "error", path, line, message, hint)


def warning_finding(path: str, line: int, message: str, hint: str) -> Finding:
    """A finding that makes the run fail under `--strict`."""
    return Finding("", "warning", path, line, message, hint)


def note_finding(path: str, line: int, message: str, hint: str) -> Finding:
    """A finding that never makes the run fail."""
    return Finding("", "note", path, line, message, hint)
