"""Never twice: what hosts load by themselves is left out of the context that a hook sends them.

What a host does not load is sent: a file that only `@imports` name, for a host that follows none.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Sequence
from glob import escape
from pathlib import Path
from typing import NamedTuple

from contextasm.checks.host_files import read_host_files
from contextasm.checks.host_imports import imported_texts
from contextasm.config.host_loader import Host
from contextasm.config.layers import with_freed_rooms
from contextasm.model import Build, Document, Layer
from contextasm.retrieval.registry import OPEN_SOURCES


class HostTexts(NamedTuple):
    """The files that each of some hosts loads by itself from a folder, with those they import."""

    paths: frozenset[str]
    """Real paths of files."""
    texts: frozenset[str]
    """Whole texts, whatever file they come from: a copy is known by them."""


def load_host_texts(hosts: Sequence[Host], folder: Path) -> HostTexts:
    """The text that each of the hosts loads when a session starts in a folder; what one of them lacks is sent."""
    paths, texts = [], []
    for host in hosts:
        reading = read_host_files(host, folder)
        files = {**{file.path: file.text for file in reading.files}, **imported_texts(reading)}
        paths.append(frozenset(os.path.realpath(f"{reading.root}/{path}") for path in files))
        texts.append(frozenset(map(_compared, files.values())))
    return HostTexts(frozenset.intersection(*paths), frozenset.intersection(*texts))


def _compared(text: str) -> str:
    """The text as copies are compared: a byte order mark and the kind of line ends make no difference."""
    return text.removeprefix("\ufeff").replace("\r\n", "\n")


def without_host_texts(build: Build, loaded: HostTexts, documents: Iterable[Document], root: str) -> Build:
    """The build without the documents that the hosts load by themselves, and without copies of them.

    `documents` are those that the build reads in the workspace at `root`. Where none of them is loaded, it is the
    build itself: one that filters nothing may use the memory index.
    """
    own = {os.path.relpath(path, root) for path in loaded.paths if path.startswith(root.rstrip("/") + "/")}
    paths = {
        document.path
        for document in documents
        if document.path in own or _compared(document.data.decode("utf-8", "replace")) in loaded.texts
    }
    if not paths:
        return build
    layers = [kept for layer in build.profile.layers if (kept := _without_paths(layer, paths))]
    profile = build.profile._replace(layers=with_freed_rooms(build.profile.layers, layers))
    return excluding(build._replace(profile=profile), sorted(map(escape, paths)))


def excluding(build: Build, patterns: Sequence[str]) -> Build:
    """The build without the fragments that these ids, paths or patterns name, but for those of required layers."""
    filters = build.request.filters
    filters = filters._replace(exclude=(*filters.exclude, *patterns))
    return build._replace(request=build.request._replace(filters=filters))


def _without_paths(layer: Layer, paths: Collection[str]) -> Layer | None:
    """The layer without these files, which a required one would show whatever is excluded; None where none is left."""
    if OPEN_SOURCES.intersection(layer.query.sources):
        # It goes on reading them, for their imports and for the files nested below them.
        return layer._replace(limits=layer.limits._replace(required=False))
    kept = [number for number, path in enumerate(layer.query.paths) if path not in paths]
    if len(kept) == len(layer.query.paths):
        return layer
    heading = layer.heading
    if len(heading) == len(layer.query.paths):
        heading = tuple(heading[number] for number in kept)
    query = layer.query._replace(paths=tuple(layer.query.paths[number] for number in kept))
    return layer._replace(heading=heading, query=query) if kept else None
