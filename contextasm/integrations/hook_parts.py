"""Parts of a text that each fit a limit, in a host's unit: joined, they are the whole text."""

from __future__ import annotations

import os
from bisect import bisect_right
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from glob import escape
from itertools import accumulate
from pathlib import Path

from contextasm.checks.hosts.cuts import prefix_length
from contextasm.checks.hosts.files import read_host_files
from contextasm.config.hosts.loader import Host
from contextasm.config.profiles.layers import with_freed_rooms
from contextasm.model import Build, ChangedWorkspace, Context, Document, Layer
from contextasm.retrieval.sources.instructions import read_with_imports
from contextasm.selection.truncate import LONG_WORD
from contextasm.text.cleaning.private_parts import blank_lines
from contextasm.text.graphemes import grapheme_ends
from contextasm.text.markdown.blocks import blocks
from contextasm.text.markdown.literals import open_literal
from contextasm.workspace.folder import Folder
from contextasm.workspace.reads import real_path

CUT_MARKER = "\n[cut here: the rest does not fit]\n"
"""Ends a text whose required layers exceed the limit."""


def split_text(text: str, limit: int, measure: Callable[[str], int]) -> Sequence[str]:
    """The parts of a text, none of which measures more than `limit`; joined, they are the text.

    A part ends before a heading or another block, else before a line, else after a word, else after a letter: at the
    first of these borders that leaves less than half of the part empty. A letter of several characters is cut only
    if it is larger than `limit`, which is at least 4: one character may take as much. An empty text has no parts.
    """
    if text and measure(text) <= limit:  # as most do
        return [text]
    parts: list[str] = []
    start, edges = 0, [*_block_starts(text), len(text)]
    while rest := text[start:]:
        most = prefix_length(rest, limit, measure)
        before_block = max(edges[bisect_right(edges, start + most) - 1] - start, 0)
        borders = (before_block, rest.rfind("\n", 0, most) + 1, _word_end(rest, most))
        full = (end for end in borders if limit - measure(rest[:end]) < limit // 2)
        end = next(full, _letter_end(rest, most) or most)
        parts.append(rest[:end])
        start += end
    return parts


def cut_text(text: str, limit: int, measure: Callable[[str], int]) -> str:
    """The beginning of a text, with a marker after it, that measures `limit` at most; the text itself if that does.

    It ends after a word, else after a letter. Code and comments that it leaves open are closed before the marker.
    """
    if measure(text) <= limit:
        return text
    ending = CUT_MARKER
    while (room := limit - measure(ending)) > 0:
        end = prefix_length(text, room, measure)
        shown = text[: _word_end(text, end) or _letter_end(text, end) or end].rstrip()
        needed = f"\n{part.closing}{CUT_MARKER}" if (part := open_literal(shown)) and part.closing else CUT_MARKER
        if measure(needed) <= measure(ending):
            return shown + needed
        ending = needed
    return ""


def _block_starts(text: str) -> Sequence[int]:
    """The places in a text at which its blocks begin."""
    lines = text.split("\n")
    starts = [*accumulate((len(line) + 1 for line in lines), initial=0)]
    return [starts[block.first] for block in blocks(lines)]


def _word_end(text: str, most: int) -> int:
    """The last place up to `most` that is after a word, or in a run without blanks after a letter; 0 for none."""
    end = _letter_end(text, most)
    if end == len(text) or text[end].isspace():
        return end
    start = end
    while start and end - start <= LONG_WORD and not text[start - 1].isspace():
        start -= 1
    stop = next((n for n in range(end, min(start + LONG_WORD + 1, len(text))) if text[n].isspace()), len(text))
    return end if stop - start > LONG_WORD else _letter_end(text, start)


def _letter_end(text: str, most: int) -> int:
    """The last place up to `most` that is after a whole letter; 0 for none."""
    if most == len(text):
        return most
    line = text.rfind("\n", 0, most) + 1  # A letter never crosses it.
    return line + max((end for end in grapheme_ends(text[line : most + 1]) if end <= most - line), default=0)


_FOR_ALL = "AGENTS.md"
"""File of instructions that is for every program by its convention (agents.md)."""

HostTexts = tuple[frozenset[str], frozenset[str], frozenset[str], Mapping[str, frozenset[int]]]
"""What every one of some hosts loads whole, as real paths and as texts; real paths of what any of them names; and by
real path the lines that one of them cuts from a file that all of them load."""


def load_host_texts(hosts: Sequence[Host], folder: str, opened: Sequence[str] = ()) -> HostTexts:
    """The files that the hosts load when a session starts in a folder, and all that these import for a build.

    Files that a host imports are among the first, and so are files that it loads once it works on those in `opened`.
    What one of the hosts does not load is sent to all. A host that loads nothing names AGENTS.md all the same, since
    that file is for every program.
    """
    loads: list[dict[str, frozenset[int]]] = []
    texts = []
    named: set[str] = set()
    for host in hosts:
        reading = read_host_files(host, folder, opened=opened)
        files = [file for file in reading.files if file.kept]
        others = [file.path for file in reading.unread if os.path.basename(file.path) == _FOR_ALL]
        imported, _, _ = read_with_imports(Folder(Path(reading.root)), [file.path for file in files] or others)
        named |= {real_path(f"{reading.root}/{document.path}") for document, _ in imported}
        loads.append({real_path(f"{reading.root}/{file.path}"): file.lost_lines for file in files})
        texts.append(frozenset(_compared(file.text) for file in files if not file.lost_lines))
    common = frozenset.intersection(*map(frozenset, loads))
    cut = {path: lines for path in common if (lines := frozenset().union(*(load[path] for load in loads)))}
    return common.difference(cut), frozenset.intersection(*texts), frozenset(named), cut


def _with_cut_lines(document: Document, lines: Mapping[str, frozenset[int]]) -> Document:
    """The document; of a file that hosts cut, with the lines that they do not cut as gaps."""
    if document.path not in lines:
        return document
    numbers = range(document.line, document.line + document.text.count("\n") + 1)
    return blank_lines(document, frozenset(numbers) - lines[document.path], "host")


def _compared(text: str) -> str:
    """The text as copies are compared: a byte order mark and the kind of line ends make no difference."""
    return text.removeprefix("\ufeff").replace("\r\n", "\n")


def without_host_texts(build: Build, texts: HostTexts, context: Context, root: str, *, only_named: bool) -> Build:
    """The build without the documents that the hosts load by themselves, and without copies of them.

    Of a file that a host cuts, the lines stay that it cuts.

    `context` is that of the build, in the workspace at `root`. With `only_named`, the instructions of other programs
    that no file of the hosts names go, too. If nothing is left out, it is the build itself: one that filters nothing
    may use the memory index.
    """
    loaded_paths, loaded_texts, named, cut = texts
    instructing = {layer.id for layer in build.profile.layers if any(each.uses_open for each in layer.query.traits)}
    instructions = {each.path for each in context.decisions if each.layer in instructing} if only_named else set()
    paths, reals = set(), {each.path: real_path(os.path.join(root, each.path)) for each in context.documents}
    shown = {document.text for document in context.documents if reals[document.path] in loaded_paths}
    for document in context.documents:
        is_loaded = document.text in shown or _compared(document.data.decode("utf-8", "replace")) in loaded_texts
        if is_loaded or (document.path in instructions and reals[document.path] not in named):
            paths.add(document.path)
    if lines := {path: cut[real] for path, real in reals.items() if real in cut}:
        workspace = ChangedWorkspace(build.workspace, partial(_with_cut_lines, lines=lines))
        build = build._replace(workspace=workspace, memory_index=None)
    if not paths:
        return build
    layers = [kept for layer in build.profile.layers if (kept := _without_paths(layer, paths))]
    # What the others leave is free for a layer with a share, up to what no other layer claims.
    freed = [
        each._replace(limits=each.limits._replace(grow=each.limits.grow or each.limits.share is not None))
        for each in with_freed_rooms(build.profile.layers, layers)
    ]
    profile = build.profile._replace(layers=tuple(freed))
    names = {layer.id: layer.query.paths for layer in build.profile.layers if layer.id not in instructing}
    others = {each.path for each in context.decisions if each.path in paths.difference(names.get(each.layer, ()))}
    return excluding(build._replace(profile=profile), sorted(map(escape, others)))


def excluding(build: Build, patterns: Sequence[str]) -> Build:
    """The build without the fragments that these ids, paths or patterns name, except in required layers."""
    filters = build.request.filters
    filters = filters._replace(exclude=(*filters.exclude, *patterns))
    return build._replace(request=build.request._replace(filters=filters))


def _without_paths(layer: Layer, paths: Collection[str]) -> Layer | None:
    """The layer without these files, which a required one would show although they are excluded; None if empty."""
    if any(source.uses_open for source in layer.query.traits):
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
