"""Loading of profiles: YAML files with the layers of a context, their order and their limits.

A profile is shipped with the package or is a file of the user's; `extends` starts from another one.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache, lru_cache
from typing import Any

from contextasm.config.input import values
from contextasm.config.input.values import ParseValue
from contextasm.config.input.yaml_loader import MAX_CONFIG, YamlMapping, load_mapping, parse_mapping
from contextasm.config.profiles.layers import with_layer_changes
from contextasm.model import CONCATENATE, MERGE_METHODS, Conflicts, ContextasmError, Document, Profile, utf8_text
from contextasm.rendering.formats import MARKERS
from contextasm.text.names.templates import placeholders
from contextasm.workspace.folder import Folder, is_below
from contextasm.workspace.reading import required_bytes, shell_pipe
from contextasm.workspace.reads import path_type, real_path

SHIPPED = os.path.dirname(__file__)


@cache
def shipped() -> Sequence[str]:
    """The names of the profiles shipped with the package."""
    return tuple(sorted(name.removesuffix(".yaml") for name in os.listdir(SHIPPED) if name.endswith(".yaml")))


_READABLE = "give the path of a readable profile"


def read_file(path: str, where: str) -> bytes:
    """The bytes of a profile's file on the disk. Raises `ContextasmError`, at `where`, for one that can't be read."""
    return required_bytes(path, _READABLE, f"{where}: {path}", MAX_CONFIG)


def load_profile(
    name: str,
    where: str,
    folder: str | os.PathLike[str],
    workspace: Folder | None = None,
    files: dict[str, bytes] | None = None,
) -> Profile:
    """The profile of this name, or of this file.

    `where` is the origin of the name, for messages; a file's path is relative to `folder`. With a `workspace`, links
    and `extends` do not lead out of it, and files of a git revision are read from it. `files` is given the bytes of
    each file that the profile is made of, by path; the last has none if it can't be read. Raises `ContextasmError` for
    an unknown name, for a file that can't be read, and for unknown keys and bad values in it.
    """
    files = {} if files is None else files
    path = _profile_path(name, where, folder)
    if path in files:
        raise ContextasmError(path, "extends itself", "remove one `extends` from the circle")
    files[path] = b""
    files[path] = _profile_bytes(path, where, workspace)
    (parent, file), text = os.path.split(path), utf8_text(files[path], f"{where}: {path}", _READABLE)
    stem, shown = os.path.splitext(file)[0], file if parent == SHIPPED else path
    table, parsed = _profile_table(text, shown)
    base = Profile(stem, "", 16_000, "plain", (), min_coherence=0.0)
    if "extends" in parsed:
        extends_where = f"{table.where('extends')}: extends"
        base = load_profile(parsed["extends"], extends_where, parent, workspace, files)
    return _built_profile(base._replace(name=stem), text, shown)


# Both by content, for the next build of the process; what is made of them only reads them.
@lru_cache(maxsize=32)
def _profile_table(text: str, path: str) -> tuple[YamlMapping, Mapping[str, Any]]:
    table = load_mapping(text, path)
    return table, table.parsed(KEYS)


@lru_cache(maxsize=32)
def _built_profile(base: Profile, text: str, path: str) -> Profile:
    table, parsed = _profile_table(text, path)
    return _with_strategies(_changed_profile(base, table, parsed), table)


def _changed_profile(base: Profile, table: YamlMapping, parsed: Mapping[str, Any]) -> Profile:
    profile = with_layer_changes(base, table.get("layers"), f"{table.where('layers')}: layers", new=True)
    profile = profile._replace(**{key: value for key, value in parsed.items() if key not in _BUILT_ON})
    if profile.select == "across":
        from contextasm.selection.across import layers_across  # here: few profiles select across layers

        if len(layers_across(profile.layers)) < 2:
            what = "fewer than two layers rank by score and drop what does not fit"
            hint = "give two layers `order: best` and `overflow: drop`, or remove `select`"
            raise ContextasmError(f"{table.where('select')}: select", what, hint)
    if profile.fallback == CONCATENATE and not profile.min_coherence:
        where = f"{table.where('fallback')}: fallback"
        raise ContextasmError(where, "has no effect, because no coherence is below 0", "add `min_coherence: 0.05`")
    return profile


_CONFLICT_KEYS: Mapping[str, ParseValue] = {
    "severity": values.by_name(values.parse_fraction),
    "otherwise": values.parse_fraction,
    "precedence": values.parse_texts,
}


def _parse_conflicts(value: object, where: str) -> Conflicts | None:
    if value is None:
        return None
    mapping = parse_mapping(value, where, "write `severity:` and `precedence:` under it")
    return Conflicts(**mapping.parsed(_CONFLICT_KEYS))


def _parse_place(names: Sequence[str]) -> ParseValue:
    """A parser of one path in the workspace that may have these names in braces."""

    def parse(value: object, where: str) -> str:
        (path,) = values.parse_inner_paths(values.parse_text(value, where), where)
        for name in placeholders(path):
            values.require_known(name, names, where, "name in braces")
        return path

    return parse


_BUILT_ON = ("extends", "layers", "strategies")
"""The keys of a profile that set no value: they need the profile that they change."""

KEYS: Mapping[str, ParseValue] = {
    "summary": values.parse_text,
    "title": values.parse_text,
    "extends": values.parse_text,
    "budget": values.parse_tokens,
    "marker": values.one_of(MARKERS),
    "select": values.one_of(("layers", "across")),
    "fill": lambda value, where: values.parse_percent(value, where) or 0,
    "max_chars": values.parse_count,
    "min_coherence": values.parse_fraction,
    "fallback": values.one_of(("none", CONCATENATE)),
    "merge": values.some_of(MERGE_METHODS, "method"),
    "conflicts": _parse_conflicts,
    "agents": _parse_place(("agent",)),
    "remember": _parse_place(("owner", "month", "date")),
    "log": _parse_place(("owner", "month", "date")),
    "host": values.parse_name,
    "fits": _parse_place(()),
    **dict.fromkeys(("layers", "strategies"), lambda value, _where: value),
}
"""The keys of a profile, with the parsers of their values."""

STRATEGY_KEYS = {key: KEYS[key] for key in ("summary", "budget", "marker", "select", "layers")}
"""The keys that a strategy of a profile may change."""


def _with_strategies(profile: Profile, table: YamlMapping) -> Profile:
    tables = table.get("strategies")
    where = f"{table.where('strategies')}: strategies"
    if tables is None:
        return profile
    hint = "write `NAME:`, and the keys that it changes under it"
    strategies, base = dict(profile.strategies), profile._replace(strategies=())
    for name, value in parse_mapping(tables, where, hint).items():
        changes = parse_mapping(value, where, hint)
        parsed = changes.parsed(STRATEGY_KEYS)
        strategies[values.parse_name(name, where)] = _changed_profile(base, changes, parsed)
    return profile._replace(strategies=tuple(strategies.items()))


def with_strategy(profile: Profile, name: str, where: str) -> Profile:
    """The profile with the changes of one of its strategies. Raises `ContextasmError` for an unknown one."""
    strategies = dict(profile.strategies)
    return strategies[values.require_known(name, strategies, where, "strategy")]


def _profile_path(name: str, where: str, folder: str | os.PathLike[str]) -> str:
    if is_profile_path(name):
        path = os.path.join(folder, name)
        return real_path(path) if shell_pipe(path) is None else path
    for own in (f"{name}.yaml", f"profiles/{name}.yaml"):
        if name not in shipped() and path_type(os.path.join(folder, own)).endswith("file"):
            raise ContextasmError(where, f"unknown profile {name}", f"did you mean the file {own}?")
    return f"{SHIPPED}/{values.require_known(name, shipped(), where, 'profile')}.yaml"


def _profile_bytes(path: str, where: str, workspace: Folder | None) -> bytes:
    if workspace and os.path.dirname(path) != SHIPPED:
        if not is_below(path, workspace.root):
            hint = "put the profile into the workspace, or name it with --profile"
            raise ContextasmError(where, f"{path} is outside the workspace", hint)
        if not workspace.is_on_disk:
            name = os.path.relpath(path, workspace.root)
            document = workspace.read(name)
            if isinstance(document, Document):
                return document.data
            raise ContextasmError(where, f"{name}: {document.message if document else 'no such file'}", _READABLE)
    return read_file(path, where)


def is_profile_path(name: str) -> bool:
    """Whether a profile is named by its file, and not as one of the package."""
    return "/" in name or name.endswith((".yaml", ".yml"))


def profile_files(name: str, folder: str) -> Sequence[str]:
    """The files that a profile is made of, without the files of the package; `folder` is where paths start.

    The last of them may be one that can't be used.
    """
    files: dict[str, bytes] = {}
    with suppress(ContextasmError):
        load_profile(name, "profile", folder, files=files)
    return [path for path in files if os.path.dirname(path) != SHIPPED]
