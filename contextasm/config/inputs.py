"""The files that builds of a workspace could read, for any agent, day, topic and scope.

Settings, profiles and rules are loaded here to find their patterns. Which files match is found in
`workspace/outputs.py`.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress

from contextasm.config.build import PreparedBuild
from contextasm.config.input.settings import FILE, LOCK_FILE
from contextasm.config.input.yaml_loader import YamlMapping
from contextasm.config.keys.outputs import usable_outputs
from contextasm.config.profiles.layers import with_layer_changes
from contextasm.config.profiles.loader import load_profile, profile_files
from contextasm.model import ContextasmError, Layer, Request
from contextasm.text.names.places import AGENT_FILES, FEEDBACK_FILES, RULE_FILES
from contextasm.text.names.templates import fill_template, is_pattern
from contextasm.workspace.editing.journal import FOLDER as JOURNAL_FOLDER
from contextasm.workspace.folder import Folder, folders_above
from contextasm.workspace.outputs import InputFiles, InputPattern

_PROGRAM = f"{FILE} names this file as part of a program or model"
_OWN = "ctxasm stores its own data here"

_OWN_PLACES = ("store", "store.lock", "records", "inputs", "memories", "lock", ".gitignore")
"""Files and folders below `.ctxasm/`; any other file there is the user's."""


_ProfileName = tuple[str, str]
"""Name or file of a profile, and the folder that its path starts from."""


def build_inputs(prepared: PreparedBuild, folder: str) -> InputFiles:
    """The files that a build could read, and the files of the builds that `outputs:` lists.

    `folder` is the current one. A profile of `outputs:` that can't be loaded reads nothing. Outputs are files on the
    disk: for a build of the index, too, the files are the ones of the folder.
    """
    workspace = prepared.workspace
    root = workspace.root
    settings_file = prepared.settings_file
    outputs = usable_outputs(settings_file)
    setting = prepared.settings["profile"]
    used = str(setting.value), root if setting.origin.startswith(FILE) else folder
    listed = [dict(output.words).get("profile") for output in outputs]
    names = dict.fromkeys((used, *((name, root) for name in listed if name)))
    layers = [*prepared.build.profile.layers, *(layer for name in names for layer in _layers(name, settings_file))]
    patterns = (
        *_instruction_files(prepared),
        InputPattern(FILE, "this path is for settings"),
        InputPattern(RULE_FILES, "this path is for rules"),
        InputPattern(LOCK_FILE, "this path is for the digests of reviewed files"),
        InputPattern(FEEDBACK_FILES, "this path is for feedback on builds"),
        *_layer_patterns(layers, prepared.build.request),
        *_rule_patterns(prepared),
    )
    # Standard input may be a file, too.
    typed = (file for file in prepared.typed_files if os.path.isfile(file))
    what = "an option reads this file as a source of the context"
    return InputFiles(
        folder=workspace if workspace.is_on_disk else Folder(root),
        patterns=tuple(dict.fromkeys(patterns)),
        others=(*_others(root, names, settings_file), *((file, what) for file in typed)),
        outputs=tuple(f"{root}/{output.file}" for output in outputs),
    )


def _layers(named: _ProfileName, settings_file: YamlMapping) -> Iterator[Layer]:
    """The layers of a profile and of its strategies, as written and as the settings change them."""
    try:
        name, folder = named
        profile = load_profile(name, "profile", folder)
    except ContextasmError:
        return
    for variant in (profile, *(strategy for _, strategy in profile.strategies)):
        yield from variant.layers
        with suppress(ContextasmError):  # The changes may be of layers that another profile has.
            yield from with_layer_changes(variant, settings_file.get("layers"), "layers", new=False).layers


def _layer_patterns(layers: Iterable[Layer], request: Request) -> Iterator[InputPattern]:
    for layer in layers:
        is_text = all(source.shows_text for source in layer.query.traits)
        what = f"layer `{layer.id}` reads this file as a source of the context"
        for template in layer.query.paths:
            for path in _paths(template, request):
                excepted = layer.query.except_paths
                yield InputPattern(path, what, is_text, is_text and not is_pattern(template), excepted)
            if "{agent}" in template:
                agent_files = (path for owner_file in AGENT_FILES for path in _paths(owner_file, request))
                yield from (_text_file(path, "the build of an agent") for path in agent_files)


def _instruction_files(prepared: PreparedBuild) -> Iterator[InputPattern]:
    """The files that the layers of instructions read: nested and imported ones are named by no path."""
    build = prepared.build
    for layer in build.profile.layers:
        if any(source.uses_open for source in layer.query.traits):
            from contextasm.retrieval.sources.instructions import read_instruction_files  # here: few profiles have any

            paths = read_instruction_files(build.workspace, layer, build.request)[2]
            yield from (_text_file(path, f"layer `{layer.id}`") for path in paths)


def _text_file(path: str, reader: str) -> InputPattern:
    what = f"{reader} reads this file as a source of the context"
    return InputPattern(path, what, takes_block=True, takes_new_file=True)


def _paths(template: str, request: Request) -> Sequence[str]:
    """The paths and patterns of a template for the request's owners and for all others."""
    if template in {"{open}", "{changed}"}:
        return request.open if template == "{open}" else request.changed
    owners = {"agent": request.agent, "team": request.team}
    return fill_template(template, owners), fill_template(template, dict.fromkeys(owners, "*"))


def _rule_patterns(prepared: PreparedBuild) -> Iterator[InputPattern]:
    verdicts = prepared.build.rules.verdicts if prepared.build.rules else ()
    for rule, _ in verdicts:
        for effect in rule.effects:
            if effect.action == "always_include" and effect.target.kind in {"path", "heading-path"}:
                yield _text_file(effect.target.value, f"rule `{rule.name}`")


def _others(root: str, names: Iterable[_ProfileName], settings_file: YamlMapping) -> Iterator[tuple[str, str]]:
    """Files and folders that no layer reads, but something else does."""
    for name, folder in names:
        yield from ((path, "ctxasm reads a profile from this file") for path in profile_files(name, folder))
    yield from ((f"{root}/.ctxasm/{place}", _OWN) for place in _OWN_PLACES)
    yield f"{root}/{JOURNAL_FOLDER}", _OWN
    repositories = [f"{folder}/.git" for folder in (root, *folders_above(root))]
    yield from ((path, "git stores its own data here") for path in repositories if os.path.lexists(path))
    for key in ("embedder", "summarizer"):
        table = settings_file.get(key)
        if isinstance(table, YamlMapping):
            command = table.get("command", ())
            words = command.split() if isinstance(command, str) else command if isinstance(command, list) else ()
            files = (os.path.join(root, str(word)) for word in words)
            yield from ((file, _PROGRAM) for file in files if os.path.isfile(file))
            if table.get("folder"):
                yield os.path.join(root, str(table["folder"])), _PROGRAM
