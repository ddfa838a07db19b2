"""The profile that is asked for, with what settings and flags change of its layers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from contextasm.config import values
from contextasm.config.layers import LAYER_KEYS, in_scope, layer_id, layer_value, with_layer_changes
from contextasm.config.options import Options, ProcessEnvironment
from contextasm.config.profile_loader import load_profile, read_file, with_strategy
from contextasm.config.settings import Setting
from contextasm.config.yaml_loader import YamlMapping
from contextasm.model import ContextasmError, Document, Layer, Profile
from contextasm.workspace.folder import Folder

if TYPE_CHECKING:
    from contextasm.workspace.git import GitWorkspace


def resolve_profile(
    flags: Options,
    settings: Mapping[str, Setting],
    file: YamlMapping,
    workspace: Folder | GitWorkspace,
    around: ProcessEnvironment,
) -> Profile:
    """The profile that is named, with what the file and the flags change of its layers."""
    setting = settings["profile"]
    from_file = setting.origin.startswith(file.path)
    name = str(setting.value)
    if from_file and ("/" in name or name.endswith((".yaml", ".yml"))):
        values.parse_inner_paths(name, setting.origin)
    folder = Path(workspace.root) if from_file else around.folder
    profile = load_profile(name, setting.origin, folder, read=_reader(workspace) if from_file else read_file)
    strategy = settings["strategy"]
    if strategy.value:
        profile = with_strategy(profile, str(strategy.value), strategy.origin)
    profile = with_layer_changes(profile, file.get("layers"), f"{file.where('layers')}: layers", new=False)
    enabled = tuple(layer for layer in profile.layers if layer.id not in profile.disabled)
    return profile._replace(layers=_limited(in_scope(enabled, flags.scope), flags.layers))


def _reader(workspace: Folder | GitWorkspace) -> Callable[[Path, str], str]:
    """What reads the files of profiles that the workspace's settings name: of the revision, where it is one."""

    def read(path: Path, where: str) -> str:
        if isinstance(workspace, Folder) or not path.is_relative_to(workspace.root):
            return read_file(path, where)
        name = path.relative_to(workspace.root).as_posix()
        document = workspace.read(name)
        if not isinstance(document, Document):
            what = document.message if document else "no such file"
            raise ContextasmError(where, f"{name}: {what}", "name a profile's file that can be read")
        return document.data.decode("utf-8-sig")

    return read


def _limited(layers: tuple[Layer, ...], limits: tuple[str, ...]) -> tuple[Layer, ...]:
    """The layers with the limits that `--layer ID=N` sets."""
    by_id = {layer.id: layer for layer in layers}
    for limit in limits:
        key, equals, number = limit.partition("=")
        if not equals:
            raise ContextasmError("--layer", f"{limit} has no =", "write ID=N, such as L3=1500")
        layer = by_id[layer_id(key, by_id, "--layer")]
        if layer.limits.required:
            raise ContextasmError("--layer", f"{key} is required and never cut", "limit another layer")
        by_id[key] = layer._replace(
            limits=layer.limits._replace(max_tokens=values.parse_tokens(number, f"--layer {key}"))
        )
    return tuple(by_id.values())


def layer_settings(profile: Profile, file: YamlMapping, flags: Options) -> dict[str, Setting]:
    """What the layers say other than the defaults, each with where it comes from."""
    tables = file.get("layers")
    changes = [each for each in tables if isinstance(each, YamlMapping)] if isinstance(tables, list) else []
    lines = {(each["id"], key): each.where(key) for each in changes for key in each}
    typed = {limit.partition("=")[0] for limit in flags.layers}
    found: dict[str, Setting] = {}
    for layer in profile.layers:
        plain = Layer(layer.id)
        for key in LAYER_KEYS:
            if layer_value(layer, key) != layer_value(plain, key):
                origin = lines.get((layer.id, key), f"profile {profile.name}")
                origin = "--layer" if key == "max_tokens" and layer.id in typed else origin
                found[f"layers.{layer.id}.{key}"] = Setting(layer_value(layer, key), origin)
    return found
