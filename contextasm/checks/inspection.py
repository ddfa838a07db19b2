"""Inspection: every file of the workspace, read once, and a build of every agent with every team, for all checks.

It reads and builds, and judges nothing. A file that can't be read becomes a problem, and an error becomes a value.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import date
from functools import cached_property
from itertools import product

from contextasm.config.build import PreparedBuild, parse_variables
from contextasm.config.input.options import Options, ProcessEnvironment
from contextasm.config.input.settings import FILE, load_settings_file
from contextasm.config.input.yaml_loader import YamlMapping, load_yaml
from contextasm.config.inputs import build_inputs
from contextasm.config.keys.outputs import Output, usable_outputs
from contextasm.config.owners import uses_placeholder
from contextasm.config.profiles.loader import load_profile
from contextasm.config.resolve import prepare_build
from contextasm.config.rules.facts import gather_facts
from contextasm.config.workspace_folder import open_workspace
from contextasm.model import SHARED, Context, ContextasmError, Document, Fragment, Layer, Memory, Problem, Rule
from contextasm.retrieval.reading.audience import SharedWorkspace, private_patterns
from contextasm.retrieval.retrieve import retrieve
from contextasm.rules.evaluate import evaluate
from contextasm.text.memories.parser import parse_memories
from contextasm.text.names import places
from contextasm.text.names.glob import matching_paths
from contextasm.text.names.templates import fill_template
from contextasm.workspace.folder import Folder
from contextasm.workspace.outputs import InputFiles, InputPattern
from contextasm.workspace.recording import RecordingWorkspace


class Inspection:
    """Everything that checks look at."""

    def __init__(
        self,
        options: Options,
        process: ProcessEnvironment,
        extra_paths: Iterable[str] = (),
        selected: Sequence[str] = (),
        folder: Folder | None = None,
    ) -> None:
        """Read everything and build it; `extra_paths` are read wherever they are in the workspace.

        If all `selected` paths are in folders of agents, or all in folders of teams, only these are built. `folder` is
        a workspace that is open already. Raises `ContextasmError` for options that can't be used, or if no folder is
        found.
        """
        self.options, self.process = options, process
        self.folder = folder or open_workspace(options, process)
        """The folder of the workspace, or git's index."""
        everything = RecordingWorkspace(self.folder)
        self.settings_file = _usable_settings(everything)
        """Empty if it can't be used: the check `config` reports that."""
        self.agents = _nonempty_folders(everything, "agents")
        """Names of the folders of `agents/`."""
        self.teams = _nonempty_folders(everything, "teams")
        """Names of the folders of `teams/`."""
        asked = (options.agent,) if options.agent else self.agents
        agents = [agent for agent in asked if _is_whole(agent, everything)]
        self.prepared, self.error = self._prepare(agents)
        """The build that the others differ from by agent and team, or the reason why nothing can be built."""
        self.workspace = self._visible(everything)
        """The workspace as the audience of the settings may see it; it reads each file once."""
        teams = self.teams if options.team is None else (options.team,)
        builds = self._builds(_selected(agents, "agents", selected), _selected(teams, "teams", selected))
        self.contexts = tuple(builds)
        """One for each agent with each team."""
        results = [self.workspace.read(path) for path in sorted({*extra_paths, *self._paths()})]
        self.documents = {result.path: result for result in results if isinstance(result, Document)}
        """Every file that could be read, by path."""
        problems = (result for result in results if isinstance(result, Problem))
        self.problems = [each for each in problems if not places.has_other_form(each.path, self.documents)]
        """The problem of each file that could not be read."""

    @cached_property
    def outputs(self) -> Sequence[Output]:
        """The list `outputs:` of the settings; empty if it can't be used."""
        return usable_outputs(self.settings_file)

    @cached_property
    def layers(self) -> Sequence[Layer]:
        """Layers of the profiles in use that can be loaded: the one of the settings and the ones of `outputs`."""
        layers = [*self.prepared.build.profile.layers] if self.prepared else []
        named = dict.fromkeys(dict(output.words).get("profile") for output in self.outputs)
        for name in filter(None, named):
            with suppress(ContextasmError):
                layers += load_profile(name, FILE, self.folder.root, self.folder).layers
        return layers

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

    @property
    def enabled_rules(self) -> Sequence[Rule]:
        """The rules that are not switched off, in order of precedence, with the layers of the profile in use."""
        evaluation = self.prepared.build.rules if self.prepared else None
        return [rule for rule, _ in evaluation.verdicts if rule.enabled] if evaluation else []

    @property
    def input_files(self) -> InputFiles:
        """The files that checks and builds of the workspace could read."""
        files = InputFiles(Folder(self.folder.root), (), (), ())
        if self.prepared:
            files = build_inputs(self.prepared, self.process.folder)
        checked = (InputPattern(pattern, "a check reads this file") for pattern in places.WORKSPACE_PATTERNS)
        return files._replace(patterns=(*files.patterns, *checked))

    @cached_property
    def fragments(self) -> Sequence[Fragment]:
        """The fragments that the layers find for every agent and team, without a topic."""
        fragments: list[Fragment] = []
        for context in self.contexts:
            assert self.prepared
            build = self.prepared.in_full._replace(workspace=self.workspace, request=context.request)
            with suppress(ContextasmError):  # A required file that can't be read: it is among the problems.
                fragments += [each for result in retrieve(build).values() for each in result.fragments]
        return fragments

    def _prepare(self, agents: Sequence[str]) -> tuple[PreparedBuild | None, ContextasmError | None]:
        """The build of the first agent, or the error of the workspace that prevents it.

        Raises errors of the options, and for a shared audience all: without a build it is not known what is private.
        """
        # Named in the environment and not as an option: a profile that reads no agent refuses the option.
        environment = {**self.process.environment, "CTXASM_TEAM": "", **({"CTXASM_AGENT": agents[0]} if agents else {})}
        audience = self.options.audience or environment.get("CTXASM_AUDIENCE") or self.settings_file.get("audience")
        try:
            return prepare_build(self.options, self.process._replace(environment=environment), self.folder), None
        except ContextasmError as error:
            is_of_request = error.where.startswith(("--", "CTXASM_", "SOURCE_DATE_EPOCH", "tokenizer"))
            root = f"{self.folder.root.rstrip('/')}/"
            is_outside = os.path.isabs(error.where) and not error.where.startswith(root)
            if is_of_request or is_outside or audience == SHARED:
                raise
            return None, error

    def _visible(self, everything: RecordingWorkspace) -> RecordingWorkspace:
        if not self.prepared or self.prepared.build.request.audience != SHARED:
            return everything
        own = private_patterns(self.prepared.build.profile, self.prepared.build.request)
        private = (*own, *layer_patterns(layer for layer in self.layers if layer.private))
        return RecordingWorkspace(SharedWorkspace(everything, private, load_yaml))

    def _builds(self, agents: Sequence[str], teams: Sequence[str]) -> Iterator[Context]:
        """One for each of the agents with each of the teams."""
        if not self.prepared:
            return
        profile, request = self.prepared.build.profile, self.prepared.build.request
        agents = agents if uses_placeholder(profile, "agent") else ("",)
        teams = (teams or ("",)) if uses_placeholder(profile, "team") else ("",)
        verdicts = self.prepared.build.rules.verdicts if self.prepared.build.rules else ()
        rules, variables = [rule for rule, _ in verdicts], parse_variables(self.prepared.options.variables)
        facts = gather_facts(rules, request, variables, self.process.environment, self.folder.root)
        for agent, team in product(agents, teams):
            build = self.prepared.in_full._replace(
                workspace=self.workspace,
                request=request._replace(agent=agent, team=team),
                rules=self.prepared.build.rules and evaluate(rules, {**facts, "agent": agent, "team": team}),
            )
            with suppress(ContextasmError):  # A required file that can't be read: it is among the problems.
                yield self.prepared.run(build)

    def _paths(self) -> Iterator[str]:
        """The files of known places and of layers, the ones that builds show, and the ones that they read.

        A rule may include a file that no layer reads, and instructions import files of any name.
        """
        for pattern in dict.fromkeys((*places.WORKSPACE_PATTERNS, *layer_patterns(self.layers))):
            yield from places.list_with_archived(self.workspace, pattern)
        for context in self.contexts:
            yield from (decision.path for decision in context.decisions if decision.kept)
            yield from (document.path for document in context.documents)

    @cached_property
    def memories(self) -> Mapping[str, tuple[tuple[Memory, ...], tuple[Problem, ...]]]:
        """Memories and problems of each file of memories, by path."""
        holding = [layer for layer in self.layers if any(source.holds_memories for source in layer.query.traits)]
        patterns = (*places.MEMORY_FILES, *layer_patterns(holding))
        paths = {path for pattern in patterns for path in self.workspace.list(pattern)}
        return {path: parse_memories(document) for path, document in self.documents.items() if path in paths}

    @cached_property
    def logs(self) -> Mapping[str, tuple[str, ...]]:
        """The files in the places of logs, with any name, in path order, each with the forms of dates of its layer.

        No form means YYYY-MM-DD.
        """
        forms: dict[str, tuple[str, ...]] = {}
        for folder in places.LOG_FOLDERS:
            forms |= dict.fromkeys(places.list_with_archived(self.workspace, f"{folder}/*.md"), ())
        for layer in self.layers:
            if any(source.is_log and source.is_running_text for source in layer.query.traits):
                patterns = layer_patterns([layer])
                listed = [path for each in patterns for path in places.list_with_archived(self.workspace, each)]
                left_out = {path for each in layer.query.except_paths for path in matching_paths(listed, each)}
                forms |= {path: layer.query.dates for path in listed if path not in left_out}
        return dict(sorted(forms.items()))


def layer_patterns(layers: Iterable[Layer]) -> Iterator[str]:
    """The paths of layers as patterns: for every agent and every team."""
    return (places.any_owner_pattern(path) for layer in layers for path in layer.query.paths)


def _usable_settings(workspace: RecordingWorkspace) -> YamlMapping:
    with suppress(ContextasmError):
        return load_settings_file(workspace)
    return YamlMapping(FILE, 1)


def _nonempty_folders(workspace: RecordingWorkspace, parent: str) -> tuple[str, ...]:
    return tuple(sorted({path.split("/")[1] for path in workspace.list(f"{parent}/**/*") if path.count("/") > 1}))


def _is_whole(agent: str, workspace: RecordingWorkspace) -> bool:
    """Whether an agent has all its files."""
    return all(workspace.read(fill_template(path, {"agent": agent})) for path in places.AGENT_FILES)


def _selected(names: Sequence[str], parent: str, selected: Sequence[str]) -> Sequence[str]:
    parts = [path.split("/") for path in selected]
    is_narrow = bool(parts) and all(len(part) > 1 and part[0] == parent for part in parts)
    return [name for name in names if [parent, name] in [part[:2] for part in parts]] if is_narrow else names
