"""What all checks look at: every file of the workspace, read once, and a build of every agent with every team.

It reads and builds, and judges nothing. A file that can't be read is kept as a problem, an error as a value.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from typing import NamedTuple

from contextasm.checks.finding import Finding
from contextasm.config.build import PreparedBuild
from contextasm.config.options import Options, ProcessEnvironment
from contextasm.config.resolve import open_workspace, prepare_build
from contextasm.model import Context, ContextasmError, Document, Layer, Memory, Problem, Profile, Workspace
from contextasm.text.memory_parser import parse_memories
from contextasm.text.templates import fill_template, placeholders
from contextasm.workspace.folder import Folder
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
"""The files of a workspace (docs/DESIGN.md section 2); those that the profile names come on top."""

AGENT_FILES = ("agents/{agent}/IDENTITY.md", "agents/{agent}/INSTRUCTIONS.md")
"""What makes an agent."""


class Inspection(NamedTuple):
    """What lies before the checks."""

    workspace: InspectedWorkspace
    documents: Mapping[str, Document]
    """Every file that could be read, by its path."""
    problems: tuple[Problem, ...]
    """Those that could not."""
    memories: Mapping[str, tuple[tuple[Memory, ...], tuple[Problem, ...]]]
    """What stands in each file of memories, and what is wrong with it."""
    logs: tuple[str, ...]
    """The files that stand where logs do."""
    agents: tuple[str, ...]
    """The folders of `agents/`."""
    teams: tuple[str, ...]
    job: PreparedBuild | None
    """What every build has in common; None where nothing can be built."""
    error: ContextasmError | None
    """Why not."""
    contexts: tuple[Context, ...]
    """One for each agent with each team."""
    flags: Options
    around: ProcessEnvironment

    @property
    def day(self) -> date:
        """The one that counts as today."""
        return self.job.build.request.date if self.job else date.fromtimestamp(self.around.now())  # noqa: DTZ012 - local


def inspect(flags: Options, around: ProcessEnvironment, named: Iterable[str] = ()) -> Inspection:
    """Read and build everything; `named` are paths to be read wherever they are in the workspace.

    Raises `ContextasmError` where there is no workspace, or what was typed can't be done.
    """
    workspace = InspectedWorkspace(open_workspace(flags, around))
    agents, teams = _folders(workspace, "agents"), _folders(workspace, "teams")
    wanted = (flags.agent,) if flags.agent else agents
    sound = [
        agent for agent in wanted if all(workspace.read(fill_template(path, {"agent": agent})) for path in AGENT_FILES)
    ]
    job, error = _job(flags, around, workspace.folder, sound[0] if sound else "")
    layers = job.build.profile.layers if job else ()
    patterns = [*WORKSPACE_PATTERNS, *(_anyone(path) for layer in layers for path in layer.query.paths)]
    paths = sorted({*named, *(path for pattern in patterns for path in workspace.list(pattern))})
    read = {path: workspace.read(path) for path in paths}
    documents = {path: each for path, each in read.items() if isinstance(each, Document)}
    kept = _placed(workspace, layers, "memories", {"recent", "search", "memories"})
    contexts = _contexts(workspace, job, sound, teams if flags.team is None else (flags.team,)) if job else ()
    return Inspection(
        workspace=workspace,
        documents=documents,
        problems=tuple(each for each in read.values() if isinstance(each, Problem)),
        memories={path: parse_memories(each) for path, each in documents.items() if path in kept},
        logs=tuple(sorted(_placed(workspace, layers, "daily", {"daily"}))),
        agents=agents,
        teams=teams,
        job=job,
        error=error,
        contexts=tuple(contexts),
        flags=flags,
        around=around,
    )


def _folders(workspace: Workspace, above: str) -> tuple[str, ...]:
    """The names of the folders that hold anything."""
    return tuple(sorted({path.split("/")[1] for path in workspace.list(f"{above}/**/*") if path.count("/") > 1}))


def _anyone(template: str) -> str:
    """A layer's path with every agent and team in it."""
    return fill_template(template, {"agent": "*", "team": "*"})


def _placed(workspace: Workspace, layers: Iterable[Layer], folder: str, sources: set[str]) -> set[str]:
    """The files in the folders of one name, and those that layers of these sources read."""
    patterns = [f"agents/*/{folder}/*.md", f"teams/*/{folder}/*.md"]
    patterns += [_anyone(path) for layer in layers if sources & {*layer.query.sources} for path in layer.query.paths]
    return {path for pattern in patterns for path in workspace.list(pattern)}


def _job(
    flags: Options, around: ProcessEnvironment, folder: Folder, agent: str
) -> tuple[PreparedBuild | None, ContextasmError | None]:
    """What every build has in common, or why there is none. Raises what is wrong with the command line itself."""
    # Named in the environment and not as flags: a profile that reads no agent refuses to be typed one.
    environment = {**around.environment, "CTXASM_TEAM": "", **({"CTXASM_AGENT": agent} if agent else {})}
    try:
        return prepare_build(flags, around._replace(environment=environment)), None
    except ContextasmError as error:
        if error.where.startswith(("--", "CTXASM_", "SOURCE_DATE_EPOCH", "tokenizer")) or not _is_ours(error, folder):
            raise
        return None, error


def _is_ours(error: ContextasmError, folder: Folder) -> bool:
    """Whether an error lies in the workspace, and not in a file that was named from elsewhere."""
    return not os.path.isabs(error.where) or error.where.startswith(folder.root.rstrip("/") + "/")


def _contexts(
    workspace: Workspace, job: PreparedBuild, agents: Sequence[str], teams: Sequence[str]
) -> Iterable[Context]:
    """The build of each agent with each team, as far as the profile tells them apart."""
    agents = agents if agent_placeholder_used(job.build.profile, "agent") else ("",)
    teams = (teams or ("",)) if agent_placeholder_used(job.build.profile, "team") else ("",)
    for request in (job.build.request._replace(agent=agent, team=team) for agent in agents for team in teams):
        try:
            yield job.run(job.in_full._replace(request=request, workspace=workspace))
        except ContextasmError:
            # A required file that can't be read: it is among the problems.
            continue
    if job.counts:
        job.counts.save()


def agent_placeholder_used(profile: Profile, name: str) -> bool:
    """Whether a path of the profile names the agent, or the team."""
    return any(name in placeholders(path) for layer in profile.layers for path in layer.query.paths)


def whole_text(document: Document) -> str:
    """All of a file, its front matter included; line 1 is the file's first."""
    if document.line == 1:
        return document.text
    encoding = "utf-16" if document.data[:2] in {b"\xff\xfe", b"\xfe\xff"} else "utf-8-sig"
    return document.data.decode(encoding).replace("\r\n", "\n")


# The engine puts in the id, so that it is always the name under which a check stands in the table.


def error_finding(path: str, line: int, message: str, hint: str) -> Finding:
    """A finding that fails."""
    return Finding("", "error", path, line, message, hint)


def warning_finding(path: str, line: int, message: str, hint: str) -> Finding:
    """A finding that fails where `--strict` is asked for."""
    return Finding("", "warning", path, line, message, hint)


def note_finding(path: str, line: int, message: str, hint: str) -> Finding:
    """A finding that never fails."""
    return Finding("", "note", path, line, message, hint)
