"""Inspection: every file of the workspace, read once, and a build of every agent with every team, for all checks.

It reads and builds, and judges nothing. A file that can't be read becomes a problem, and an error becomes a value.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import date
from itertools import product
from pathlib import Path

from contextasm.config.build import PreparedBuild, evaluate_for_owners
from contextasm.config.input.options import Options, ProcessEnvironment
from contextasm.config.input.settings import FILE, load_settings_file
from contextasm.config.input.yaml_loader import load_yaml
from contextasm.config.inputs import build_inputs
from contextasm.config.keys.outputs import Output, parse_outputs
from contextasm.config.owners import uses_placeholder
from contextasm.config.profiles.loader import load_profile
from contextasm.config.resolve import prepare_build
from contextasm.config.workspace_folder import open_workspace
from contextasm.model import SHARED, Context, ContextasmError, Document, Layer, Memory, Problem, Rule, Workspace
from contextasm.model.named_tuple import NamedTuple
from contextasm.retrieval.reading.audience import SharedWorkspace, private_patterns
from contextasm.text.memories.parser import parse_memories
from contextasm.text.names import places
from contextasm.text.names.glob import matching_paths
from contextasm.text.names.templates import fill_template
from contextasm.workspace.folder import Folder
from contextasm.workspace.outputs import InputFiles, InputPattern
from contextasm.workspace.recording import RecordingWorkspace


class Inspection(NamedTuple):
    """Everything that checks look at."""

    folder: Folder
    """The folder of the workspace, or git's index."""
    workspace: RecordingWorkspace
    """The same, as the audience of the settings may see it; it reads each file once."""
    documents: Mapping[str, Document]
    """Every file that could be read, by path."""
    problems: tuple[Problem, ...]
    """The problem of each file that could not be read."""
    memories: Mapping[str, tuple[tuple[Memory, ...], tuple[Problem, ...]]]
    """Memories and problems of each file of memories, by path."""
    logs: Mapping[str, tuple[str, ...]]
    """Paths of the files in the places of logs, with any name, each with the forms of dates of its layer."""
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
    layers: tuple[Layer, ...]
    """Layers of the profiles in use: the profile of the settings and the profiles of `outputs`."""
    outputs: Sequence[Output]
    """The list `outputs:` of the settings; empty if it can't be used."""
    options: Options
    process: ProcessEnvironment

    @property
    def budget_location(self) -> tuple[str, int]:
        """File and line that give the budget; an empty path and 0 for a place outside the workspace."""
        setting = self.prepared.settings.get("budget") if self.prepared else None
        path, _, line = (setting.origin if setting else "").partition(":")
        return (FILE, int(line)) if path == FILE and line.isdecimal() else ("", 0)

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
    selected: Sequence[str] = (),
    folder: Folder | None = None,
) -> Inspection:
    """Read everything and build it; `extra_paths` are read wherever they are in the workspace.

    If all `selected` paths are in folders of agents, or all in folders of teams, only these are built. `folder` is a
    workspace that is open already. Raises `ContextasmError` for options that can't be used, or if no folder is found.
    """
    workspace = RecordingWorkspace(folder := folder or open_workspace(options, process))
    agents, teams = _nonempty_folders(workspace, "agents"), _nonempty_folders(workspace, "teams")
    complete_agents = _complete_agents(workspace, (options.agent,) if options.agent else agents)
    prepared, error = _prepare(options, process, folder, complete_agents)
    outputs = _usable_outputs(folder)
    layers = (*(prepared.build.profile.layers if prepared else ()), *_layers_of_outputs(folder, outputs))
    workspace = _visible(workspace, prepared, layers)
    owners = [
        _selected_owners(complete_agents, "agents", selected),
        _selected_owners(teams if options.team is None else (options.team,), "teams", selected),
    ]
    contexts = tuple(_contexts_of_owners(workspace, prepared, process, owners)) if prepared else ()
    paths = {*extra_paths, *_listed_paths(workspace, layers), *_paths_of_builds(contexts)}
    results = [workspace.read(path) for path in sorted(paths)]
    documents = {result.path: result for result in results if isinstance(result, Document)}
    return Inspection(
        folder=folder,
        workspace=workspace,
        documents=documents,
        problems=_problems(results, documents),
        memories=_memories(workspace, layers, documents),
        logs=_log_forms(workspace, layers),
        agents=agents,
        teams=teams,
        prepared=prepared,
        error=error,
        contexts=contexts,
        layers=layers,
        outputs=outputs,
        options=options,
        process=process,
    )


def _problems(results: Iterable[Document | Problem | None], found: Mapping[str, Document]) -> tuple[Problem, ...]:
    return tuple(each for each in results if isinstance(each, Problem) and not places.has_other_form(each.path, found))


def _complete_agents(workspace: Workspace, agents: Sequence[str]) -> Sequence[str]:
    """The agents that have all their files."""
    files = {agent: [fill_template(path, {"agent": agent}) for path in places.AGENT_FILES] for agent in agents}
    return [agent for agent, paths in files.items() if all(map(workspace.read, paths))]


def _usable_outputs(folder: Folder) -> Sequence[Output]:
    with suppress(ContextasmError):  # The check `config` reports it.
        return parse_outputs(load_settings_file(folder))
    return ()


def _layers_of_outputs(folder: Folder, outputs: Sequence[Output]) -> Iterator[Layer]:
    """Layers of the profiles that `outputs` names; none of a profile that can't be loaded."""
    for name in dict.fromkeys(dict(output.words).get("profile") for output in outputs):
        if name:
            with suppress(ContextasmError):
                yield from load_profile(name, FILE, folder.root, folder).layers


def layer_patterns(layers: Iterable[Layer]) -> Iterator[str]:
    """The paths of layers as patterns: for every agent and every team."""
    return (places.any_owner_pattern(path) for layer in layers for path in layer.query.paths)


def _listed_paths(workspace: Workspace, layers: Iterable[Layer]) -> Iterator[str]:
    for pattern in dict.fromkeys((*places.WORKSPACE_PATTERNS, *layer_patterns(layers))):
        yield from places.list_with_archived(workspace, pattern)


def _nonempty_folders(workspace: Workspace, parent: str) -> tuple[str, ...]:
    return tuple(sorted({path.split("/")[1] for path in workspace.list(f"{parent}/**/*") if path.count("/") > 1}))


def _paths_of_builds(contexts: Iterable[Context]) -> set[str]:
    """The files that builds show, and files that they read from any place, such as imported instructions.

    A rule may include a file that no layer reads, and instructions import files of any name.
    """
    shown = {decision.path for context in contexts for decision in context.decisions if decision.kept}
    return shown | {document.path for context in contexts for document in context.documents}


def _memories(
    workspace: Workspace, layers: Iterable[Layer], documents: Mapping[str, Document]
) -> Mapping[str, tuple[tuple[Memory, ...], tuple[Problem, ...]]]:
    holding = [layer for layer in layers if any(source.holds_memories for source in layer.query.traits)]
    paths = {path for pattern in (*places.MEMORY_FILES, *layer_patterns(holding)) for path in workspace.list(pattern)}
    return {path: parse_memories(document) for path, document in documents.items() if path in paths}


def _log_forms(workspace: Workspace, layers: Iterable[Layer]) -> Mapping[str, tuple[str, ...]]:
    """The files in the places of logs, in path order, with the forms of their dates; empty for YYYY-MM-DD."""
    forms: dict[str, tuple[str, ...]] = {}
    for folder in places.LOG_FOLDERS:
        forms |= dict.fromkeys(places.list_with_archived(workspace, f"{folder}/*.md"), ())
    for layer in layers:
        if any(source.is_log and source.is_running_text for source in layer.query.traits):
            listed = [
                path for pattern in layer_patterns([layer]) for path in places.list_with_archived(workspace, pattern)
            ]
            left_out = {path for pattern in layer.query.except_paths for path in matching_paths(listed, pattern)}
            forms |= {path: layer.query.dates for path in listed if path not in left_out}
    return dict(sorted(forms.items()))


def _prepare(
    options: Options, process: ProcessEnvironment, folder: Folder, agents: Sequence[str]
) -> tuple[PreparedBuild | None, ContextasmError | None]:
    """The build of the first agent, or the error of the workspace that prevents it.

    Raises errors of the options, and for a shared audience all: without a build it is not known what is private.
    """
    # Named in the environment and not as an option: a profile that reads no agent refuses the option.
    environment = {**process.environment, "CTXASM_TEAM": "", **({"CTXASM_AGENT": agents[0]} if agents else {})}
    try:
        return prepare_build(options, process._replace(environment=environment), folder), None
    except ContextasmError as error:
        is_of_request = error.where.startswith(("--", "CTXASM_", "SOURCE_DATE_EPOCH", "tokenizer"))
        is_outside = os.path.isabs(error.where) and not error.where.startswith(f"{folder.root.rstrip('/')}/")
        if is_of_request or is_outside or _is_for_others(options, process, folder):
            raise
        return None, error


def _is_for_others(options: Options, process: ProcessEnvironment, folder: Folder) -> bool:
    """Whether the audience is the shared one; settings that can't be read name none."""
    if named := options.audience or process.environment.get("CTXASM_AUDIENCE"):
        return named == SHARED
    with suppress(ContextasmError):
        return load_settings_file(folder).get("audience") == SHARED
    return False


def _visible(
    workspace: RecordingWorkspace, prepared: PreparedBuild | None, layers: Iterable[Layer]
) -> RecordingWorkspace:
    """The workspace as the audience of the build may see it."""
    if not prepared or prepared.build.request.audience != SHARED:
        return workspace
    own = private_patterns(prepared.build.profile, prepared.build.request)
    private = (*own, *layer_patterns(layer for layer in layers if layer.private))
    return RecordingWorkspace(SharedWorkspace(workspace, private, load_yaml))


def _selected_owners(names: Sequence[str], parent: str, selected: Sequence[str]) -> Sequence[str]:
    parts = [path.split("/") for path in selected]
    is_narrow = bool(parts) and all(len(part) > 1 and part[0] == parent for part in parts)
    return [name for name in names if [parent, name] in [part[:2] for part in parts]] if is_narrow else names


def _contexts_of_owners(
    workspace: Workspace, prepared: PreparedBuild, process: ProcessEnvironment, owners: Sequence[Sequence[str]]
) -> Iterable[Context]:
    """One for each of the agents with each of the teams, which are the `owners`."""
    profile, request = prepared.build.profile, prepared.build.request
    agents = owners[0] if uses_placeholder(profile, "agent") else ("",)
    teams = (owners[1] or ("",)) if uses_placeholder(profile, "team") else ("",)
    rules_of = evaluate_for_owners(prepared, process)
    for agent, team in product(agents, teams):
        build = prepared.in_full._replace(
            request=request._replace(agent=agent, team=team), rules=rules_of(agent, team), workspace=workspace
        )
        try:
            yield prepared.run(build)
        except ContextasmError:
            # A required file that can't be read: it is among the problems.
            continue
    if prepared.counts:
        prepared.counts.save()


def enabled_rules(inspection: Inspection) -> Sequence[Rule]:
    """The rules that are not switched off, in order of precedence, with the layers of the profile in use."""
    evaluation = inspection.prepared.build.rules if inspection.prepared else None
    return [rule for rule, _ in evaluation.verdicts if rule.enabled] if evaluation else []


def inspected_files(inspection: Inspection) -> InputFiles:
    """The files that checks and builds of the workspace could read."""
    files = InputFiles(Folder(Path(inspection.folder.root)), (), (), ())
    if inspection.prepared:
        files = build_inputs(inspection.prepared, inspection.process.folder)
    checked = (InputPattern(pattern, "ctxasm checks this file") for pattern in places.WORKSPACE_PATTERNS)
    return files._replace(patterns=(*files.patterns, *checked))
