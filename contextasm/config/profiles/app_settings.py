"""Daily logs as other programs are set: Obsidian's and Logseq's own files name their folder and the form of the dates.

These files may come from anybody: they are read like any other file of the workspace, and a folder that they name is
in it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from hashlib import sha256

from contextasm.config.input import values
from contextasm.config.input.settings import document_at
from contextasm.config.profiles.layers import APP_FILES
from contextasm.model import ContextasmError, Layer, Profile
from contextasm.text.json_reader import load_json
from contextasm.text.names.dates import form_patterns, read_form
from contextasm.text.names.templates import one_line
from contextasm.workspace.folder import Folder

DailyFolder = tuple[str, str]
"""Folder of the daily logs of a program, empty for the workspace's own, and the form of their dates."""


def with_app_settings(profile: Profile, workspace: Folder, digests: dict[str, str]) -> Profile:
    """The profile, with the folder and the dates of each layer with an `app` as that program is set.

    If the program has no settings, the layer's own hold. Other sources leave out the daily logs that the settings name,
    and not those of the paths that the settings replace. The SHA-256 of each file that was read is added to `digests`,
    by path. Raises `ContextasmError` for a file that can't be read or used.
    """
    apps = dict.fromkeys(layer.query.app for layer in profile.layers if layer.query.app)
    folders = {app: _daily_folder(app, workspace, digests) for app in apps}
    replaced = {path for layer in profile.layers if folders.get(layer.query.app) for path in layer.query.paths}
    layers = (_set_layer(layer, folders.get(layer.query.app), replaced) for layer in profile.layers)
    return profile._replace(layers=tuple(layers))


def _set_layer(layer: Layer, daily: DailyFolder | None, replaced: Collection[str]) -> Layer:
    if not daily:
        return layer
    folder, form = daily
    patterns = form_patterns(folder, form)
    if all(source.is_log for source in layer.query.traits):
        return layer._replace(query=layer.query._replace(paths=patterns, dates=(form,)))
    if isinstance(read_form(form), str):
        patterns = ()
    kept = (path for path in layer.query.except_paths if path not in replaced)
    return layer._replace(query=layer.query._replace(except_paths=(*kept, *patterns)))


def _daily_folder(app: str, workspace: Folder, digests: dict[str, str]) -> DailyFolder | None:
    path = APP_FILES[app]
    read = document_at(workspace, path, "replace it with a readable file, or remove it")
    if read is None:
        return None
    digests[path] = sha256(read.data).hexdigest()
    named, form = _READERS[app](read.text, path)
    if folder := _inside(named, path, workspace):
        values.parse_inner_paths(folder, path)
        if any(mark in folder for mark in "*?[{"):
            what = f"the name of the folder {folder} of daily notes has a wildcard"
            raise ContextasmError(path, what, "rename the folder, or replace `app` of the layer with `path`")
    return folder, form


def _inside(named: str, path: str, workspace: Folder) -> str:
    """The folder without the slashes around it. Raises `ContextasmError` for a folder outside of the workspace.

    Programs take `/Daily` for `Daily`, so an absolute path is one that leads to no folder of the workspace.
    """
    folder = named.strip("/")
    is_absolute = named.startswith("/") and bool(folder) and not workspace.exists(folder)
    if is_absolute or folder.startswith("~") or "\\" in folder or ".." in folder.split("/"):
        what = f"the folder of daily notes, {one_line(named)}, is not inside this workspace"
        raise ContextasmError(path, what, "choose a folder of the workspace in the app, such as Daily")
    return folder


def _obsidian(text: str, path: str) -> DailyFolder:
    """The settings of Obsidian's core plug-in: `folder` and `format`, both optional."""
    settings = load_json(text, path)
    if not isinstance(settings, Mapping):
        raise ContextasmError(path, "holds no settings", "set the daily notes in Obsidian again")
    folder, form = (settings.get(key) or "" for key in ("folder", "format"))
    if not isinstance(folder, str) or not isinstance(form, str):
        raise ContextasmError(path, "names no folder and no format", "set the daily notes in Obsidian again")
    return folder.strip(), form.strip() or "YYYY-MM-DD"


_EDN = re.compile(r';[^\n]*|"((?:[^"\\]|\\.)*)"|(:[^\s"(){}\[\],;]+)', re.DOTALL)
_LOGSEQ_TOKENS = {
    "yyyy": "YYYY",
    "yy": "YY",
    "dd": "DD",
    "d": "D",
    "do": "Do",
    "EEEE": "dddd",
    "EEE": "ddd",
    "E": "ddd",
}
"""Tokens of Moment.js for the tokens of a Logseq graph; the others are the same."""


def _logseq(text: str, _path: str) -> DailyFolder:
    """The settings of a Logseq graph: `:journals-directory` and `:journal/file-name-format`, both optional."""
    found: dict[str, str] = {}
    key = ""
    for match in _EDN.finditer(text):
        if match[2]:
            key = match[2]
        elif match[1] is not None:
            found.setdefault(key, match[1])
            key = ""
    form = found.get(":journal/file-name-format") or "yyyy_MM_dd"
    form = re.sub(r"[A-Za-z]+", lambda match: _LOGSEQ_TOKENS.get(match[0], match[0]), form)
    return found.get(":journals-directory", "journals").strip(), form


_READERS: Mapping[str, Callable[[str, str], DailyFolder]] = {"obsidian": _obsidian, "logseq": _logseq}
