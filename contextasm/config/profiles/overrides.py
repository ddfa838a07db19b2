"""The profiles that settings name, with the changes that settings and command line options make to their layers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from hashlib import sha256
from os.path import dirname, relpath

from contextasm.config.input import values
from contextasm.config.input.options import Options, ProcessEnvironment
from contextasm.config.input.settings import FILE, Setting, resolve_settings
from contextasm.config.input.yaml_loader import YamlMapping
from contextasm.config.profiles import loader
from contextasm.config.profiles.layers import (
    LAYER_KEYS,
    in_scope,
    layer_id,
    layer_value,
    with_freed_rooms,
    with_layer_changes,
    with_layer_values,
)
from contextasm.config.workspace_folder import is_native
from contextasm.model import ContextasmError, Document, Layer, Profile
from contextasm.text.names.matching import list_names
from contextasm.text.names.places import any_owner_pattern
from contextasm.text.names.templates import is_pattern, placeholders
from contextasm.workspace.folder import Folder, is_below


def named_files(profile: Profile) -> Sequence[str]:
    """The files that a profile reads by name, for any request; layers that are switched off read nothing."""
    layers = [layer for layer in profile.layers if layer.id not in profile.disabled]
    paths = dict.fromkeys(path for layer in layers for path in layer.query.paths)
    return [path for path in paths if not (is_pattern(path) or placeholders(path))]


class ProfileReader:
    """The profiles that settings name, with the changes that `ctxasm.yaml` makes to their layers.

    Its methods raise `ContextasmError` for a profile that can't be loaded and for changes that can't be made.
    """

    def __init__(self, settings_file: YamlMapping, workspace: Folder, process: ProcessEnvironment) -> None:
        self.settings_file = settings_file
        self.workspace = workspace
        self.process = process
        self.digests: dict[str, str] = {}
        """SHA-256 of each file that was read, by path: relative to the workspace, or absolute outside of it."""

    def with_detected(self, settings: dict[str, Setting]) -> tuple[dict[str, Setting], str]:
        """The settings, with the profile for a folder that names none and is not native, and words that report it."""
        if settings["profile"].origin != "default" or self.settings_file or is_native(self.workspace):
            return settings, ""
        from contextasm.config.profiles import detection  # here: most workspaces have settings or agents

        if not (kinds := detection.detect(self.workspace)):
            return settings, ""
        profile, sign = kinds[0]
        return settings | {"profile": Setting(profile, f"found: {sign}")}, detection.detection_words(kinds)

    def resolve(self, settings: Mapping[str, Setting]) -> Profile:
        """The profile that the settings name, without the layers that are switched off.

        If they name an agent with files as the profile reads them, the profile reads these. A variable names none: it
        is for all workspaces of a person.
        """
        profile, agent = self.with_all_layers(settings), settings["agent"]
        readings = (profile, of_agents(profile)) if profile.agents else (profile,)
        private = (path for each in readings for layer in each.layers if layer.private for path in layer.query.paths)
        if agent.value and not agent.origin.startswith("CTXASM_"):
            profile = readings[-1]
        enabled = [layer for layer in profile.layers if layer.id not in profile.disabled]
        layers = with_freed_rooms(profile.layers, enabled)
        return profile._replace(layers=layers, private_paths=tuple(dict.fromkeys(private)))

    def unread_words(self, settings: Mapping[str, Setting], written: Iterable[str]) -> str:
        """The files of other programs with text that the profile does not read, for a receipt; empty for none.

        The `written` ones, absolute paths, do not count. Only a folder with a Markdown file is looked at.
        """
        workspace = self.workspace
        if not any(entry.name.endswith(".md") for entry in workspace.entries("") or ()):
            return ""
        from contextasm.config.profiles.detection import detect  # here: few workspaces have such files

        kinds = detect(workspace)
        read = {path for layer in self.resolve(settings).layers for path in layer.query.paths} if kinds else set()
        read |= {path.removeprefix(f"{workspace.root}/") for path in written}
        words = []
        for name, _ in kinds:
            named = named_files(loader.load_profile(name, name, workspace.root))
            found = [workspace.read(path) for path in named if path not in read]
            unread = [each.path for each in found if isinstance(each, Document) and each.text.strip()]
            read |= {*unread}
            words += [f"{list_names(unread)} (-p {name})"] if unread else []
        return f"not read, but also here: {', '.join(words)}" if words else ""

    def with_all_layers(self, settings: Mapping[str, Setting]) -> Profile:
        """The profile that the settings name, with the layers that are switched off."""
        setting, strategy, workspace = settings["profile"], settings["strategy"], self.workspace
        is_from_file = setting.origin.startswith(self.settings_file.path)
        name = str(setting.value)
        if is_from_file and loader.is_profile_path(name):
            values.parse_inner_paths(name, setting.origin)
        files: dict[str, bytes] = {}
        folder, only_here = (workspace.root, workspace) if is_from_file else (self.process.folder, None)
        profile = loader.load_profile(name, setting.origin, folder, only_here, files)
        for path, data in files.items():
            if dirname(path) != loader.SHIPPED:
                place = relpath(path, workspace.root) if is_below(path, workspace.root) else path
                self.digests[place] = sha256(data).hexdigest()
        if strategy.value:
            profile = loader.with_strategy(profile, str(strategy.value), strategy.origin)
        if any(layer.query.app for layer in profile.layers):
            from contextasm.config.profiles.app_settings import with_app_settings  # here: few profiles need it

            profile = with_app_settings(profile, workspace, self.digests)
        where = f"{self.settings_file.where('layers')}: layers"
        return with_layer_changes(profile, self.settings_file.get("layers"), where, new=False)

    def all_named(self, typed: Mapping[str, Setting]) -> Iterator[Profile]:
        """The profiles of the `typed` settings, of `ctxasm.yaml` and of its `outputs:`, each once, with no strategy.

        Raises `ContextasmError` for settings that can't be used, too.
        """
        from contextasm.config.keys.outputs import parse_outputs  # here: a build needs no list of outputs

        settings, _ = self.with_detected({**typed})
        outputs = [(dict(output.words), output.line) for output in parse_outputs(self.settings_file)]
        listed = [Setting(words["profile"], f"{FILE}:{line}") for words, line in outputs if "profile" in words]
        named_in_file = resolve_settings({}, {}, self.settings_file)["profile"]
        for setting in dict.fromkeys((settings["profile"], named_in_file, *listed)):
            profile = self.resolve({**settings, "profile": setting, "strategy": Setting("", "default")})
            yield profile
            if profile.agents:
                yield of_agents(profile)


def of_agents(profile: Profile) -> Profile:
    """A profile with `agents`, with the paths of an agent's folder in place of the workspace's own."""

    def of_agent(layer: Layer) -> Layer:
        query = layer.query
        paths = tuple(f"{profile.agents}/{path}" for path in query.paths)
        except_paths = tuple(any_owner_pattern(f"{profile.agents}/{path}") for path in query.except_paths)
        return layer._replace(query=query._replace(paths=paths, except_paths=except_paths))

    def placed(path: str) -> str:
        return path if "{owner}" in path else f"{profile.agents}/{path}"

    layers = tuple(map(of_agent, profile.layers))
    return profile._replace(layers=layers, remember=placed(profile.remember), log=placed(profile.log))


def limit_layers(profile: Profile, options: Options) -> Profile:
    """The profile with the layers of `--scope`, and the limits of `--layer`, `--detail` and `--min-score`.

    Raises `ContextasmError`.
    """
    changes = _typed_values(options)
    by_id = {
        layer.id: layer if layer.limits.required else with_layer_values(layer, changes)
        for layer in in_scope(profile.layers, options.scope)
    }
    for limit in options.layers:
        key, equals, number = limit.partition("=")
        if not equals:
            raise ContextasmError("--layer", f"`{limit}` has no `=`", "write ID=N, such as L3=1500")
        layer = by_id[layer_id(key, by_id, "--layer")]
        if layer.limits.required:
            raise ContextasmError("--layer", f"{key} is required, so it is never cut", "limit another layer")
        max_tokens = values.parse_tokens(number, f"--layer {key}")
        by_id[key] = layer._replace(limits=layer.limits.capped(max_tokens))
    return profile._replace(layers=tuple(by_id.values()))


def _typed_values(options: Options) -> dict[str, object]:
    """The values of layers that options set for all layers that are not required, by key. Raises `ContextasmError`."""
    typed: dict[str, object] = {"detail": options.detail, "min_score": options.min_score}
    with suppress(ValueError):
        typed["min_score"] = float(options.min_score or "")
    return {key: LAYER_KEYS[key][2](value, _flag(key)) for key, value in typed.items() if value is not None}


def _flag(key: str) -> str:
    return f"--{key.replace('_', '-')}"


def layer_settings(profile: Profile, settings_file: YamlMapping, options: Options) -> dict[str, Setting]:
    """The values of layers that differ from the defaults, each with its origin; keys such as `layers.L3.max_tokens`."""
    tables = settings_file.get("layers")
    changes = [table for table in tables if isinstance(table, YamlMapping)] if isinstance(tables, list) else []
    origins = {(table["id"], key): table.where(key) for table in changes for key in table}
    limited_ids = {limit.partition("=")[0] for limit in options.layers}
    typed = {key: _flag(key) for key in _typed_values(options)}
    settings: dict[str, Setting] = {}
    for layer in profile.layers:
        default = Layer(layer.id)
        for key in LAYER_KEYS:
            value = layer_value(layer, key)
            if value != layer_value(default, key):
                is_limit = key == "max_tokens" and layer.id in limited_ids
                option = "--layer" if is_limit else "" if layer.limits.required else typed.get(key, "")
                origin = option or origins.get((layer.id, key), f"profile {profile.name}")
                settings[f"layers.{layer.id}.{key}"] = Setting(value, origin)
    return settings
