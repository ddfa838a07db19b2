"""Checks of names: files whose name or place nearly is one that is read, and patterns that no file matches."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from contextasm.checks.finding import Finding, warning_finding
from contextasm.checks.inspection import Inspection, layer_patterns
from contextasm.config.input.settings import FILE
from contextasm.config.profiles.loader import load_profile, shipped
from contextasm.model import grouped
from contextasm.text.names.dates import dated_name
from contextasm.text.names.glob import wildcard_matches
from contextasm.text.names.matching import list_names, nearest
from contextasm.text.names.places import AGENT_FILES, LOG_FOLDERS, any_owner_pattern
from contextasm.text.names.templates import is_pattern

PROGRAM_PATTERNS = (FILE, "rules/*.yaml")
"""Patterns of the files that every build reads, besides the paths of the layers."""

NEAR_FILE, NEAR_FOLDER = 0.85, 0.7
"""Least likeness, 0 to 1, of the name of a file or a folder to the one that is read."""

OTHER_ENDINGS: Mapping[str, Sequence[str]] = {
    ".md": (".markdown", ".mdown", ".mkd"),
    ".yaml": (".yml",),
    ".jsonl": (".ndjson",),
}
"""Endings that mean the same to people as the one that is read."""

LOG_WORDS = {"logs", "log", "journal", "journals", "diary", "days"}
"""Names that people give to a folder of logs."""

SET_ASIDE = {"archive", "archived", "attic", "backup", "draft", "drafts", "old", "templates", "trash"}
"""Folders whose files nobody expects to be read."""


_NearMiss = tuple[str, str, str]
"""A file, or a folder where all its files are misplaced; what is wrong with it; the nearest path that is read."""


def check_file_names(inspection: Inspection) -> Iterator[Finding]:
    """Report files that nothing reads and whose name or folder nearly is one that is read."""
    workspace = inspection.workspace
    files = map(any_owner_pattern, (*PROGRAM_PATTERNS, *AGENT_FILES))
    patterns = [*dict.fromkeys((*files, *layer_patterns(inspection.layers)))]
    # Of recursive patterns and those with braces only the ending could be wrong.
    simple = [pattern for pattern in patterns if "**" not in pattern and not {*"{["} & {*pattern}]
    read_paths = {path for pattern in patterns for path in workspace.list(pattern)}
    roots = dict.fromkeys(pattern.partition("/")[0] for pattern in simple if "/" in pattern)
    listed = (path for root in ("", *roots) for path in workspace.list(f"{root}/**/*" if root else "*"))
    candidates = [path for path in listed if not path.endswith("/")]
    misses_of = ((path, _near_miss(path, simple, read_paths)) for path in candidates if path not in read_paths)
    groups = grouped((miss[:2], (path, miss[2])) for path, miss in misses_of if miss)
    for (_, fault), misses in groups.items():
        path, meant = misses[0]
        others = [other for other, _ in misses[1:]]
        rest = f" This also applies to {list_names(others, 3)}" if others else ""
        yield warning_finding(path, 0, fault, f"did you mean {meant}?{rest}")


def _near_miss(path: str, patterns: Sequence[str], read_paths: set[str]) -> _NearMiss | None:
    parts = path.split("/")
    for pattern in patterns:
        names = pattern.split("/")
        if len(parts) == len(names):
            miss = _near_name(parts, names, read_paths)
        elif len(parts) > len(names):
            miss = _below_folder(parts, names)
        else:
            continue
        if miss:
            return miss
    return None


def _near_name(parts: Sequence[str], names: Sequence[str], read_paths: set[str]) -> _NearMiss | None:
    """The near miss of a path that differs from a pattern, of the same length, in one name."""
    differing = [at for at, name in enumerate(names) if not wildcard_matches(name, parts[at])]
    if len(differing) != 1:
        return None
    (at,) = differing
    path, is_file = "/".join(parts), at == len(names) - 1
    if not is_pattern(names[at]):
        meant = "/".join((*parts[:at], names[at], *parts[at + 1 :]))
        folder = "/".join((*parts[:at], names[at]))
        is_taken = meant in read_paths or any(other.startswith(f"{folder}/") for other in read_paths)
        is_near = nearest(parts[at], [names[at]], NEAR_FILE if is_file else NEAR_FOLDER)
        is_other_word = not is_file and parts[at].casefold() in LOG_WORDS and "/".join(names[: at + 1]) in LOG_FOLDERS
        if not is_other_word and (is_taken or not (is_near or (is_file and _differs_in_ending(parts[at], names[at])))):
            return None
        place = path if is_file else "/".join(parts[: at + 1])
        return (
            place,
            f"ctxasm does not read {'' if is_file else 'the folder '}{parts[at]}",
            meant if is_file else f"{folder}/",
        )
    if is_file and (name := _with_ending(parts[at], names[at])):
        meant = "/".join((*parts[:at], name))
        return path, f"only files that end in {posixpath.splitext(names[at])[1]} are read here", meant
    return None


def _differs_in_ending(name: str, read_name: str) -> bool:
    """Whether a file such as RULES.txt has the name of one that is read, with another ending for text."""
    stem, ending = posixpath.splitext(name.casefold())
    read_stem, expected = posixpath.splitext(read_name.casefold())
    return stem == read_stem and ending in ("", ".txt", *OTHER_ENDINGS.get(expected, ()))


def _with_ending(name: str, pattern: str) -> str:
    """The name with the ending of a pattern such as `*.md`, where its own ending means the same; else empty."""
    stem, ending = posixpath.splitext(name)
    expected = posixpath.splitext(pattern)[1]
    is_text_log = ending.casefold() == ".txt" and expected == ".md" and bool(dated_name(f"{stem}.md")[0])
    is_same = ending.casefold() in (expected, *OTHER_ENDINGS.get(expected, ())) or is_text_log
    return stem + expected if expected and is_same and wildcard_matches(pattern, stem + expected) else ""


def _below_folder(parts: Sequence[str], names: Sequence[str]) -> _NearMiss | None:
    """The near miss of a file in a folder below the one that a pattern such as `daily/*.md` reads."""
    depth = len(names) - 1
    is_below = depth and is_pattern(names[-1]) and all(map(wildcard_matches, names[:-1], parts))
    folders = parts[depth:-1]
    if not is_below or {name.casefold() for name in folders} & SET_ASIDE or not wildcard_matches(names[-1], parts[-1]):
        return None
    read_folder, folder = "/".join(parts[:depth]), "/".join(parts[:-1])
    return folder, f"ctxasm does not read folders below {read_folder}/", f"{read_folder}/{parts[-1]}"


def path_hint(path: str, inspection: Inspection) -> str:
    """Advice on a path that matches no file: the file that is named nearly so, if there is one."""
    near = nearest(path, inspection.documents, NEAR_FILE)
    return f"did you mean {near}?" if near else "correct the path, or remove it"


def check_patterns(inspection: Inspection) -> Iterator[Finding]:
    """Report paths of layers that match no file, for any agent and team.

    Those of shipped profiles need not match any. Paths of rules are checked with their other targets.
    """
    # Folders that a program names need not be there yet.
    paths = [(layer, path) for layer in inspection.layers if not layer.query.app for path in layer.query.paths]
    missing = [
        (layer, path)
        for layer, path in paths
        if path not in {"{open}", "{changed}"} and not inspection.workspace.list(any_owner_pattern(path))
    ]
    if not missing:
        return
    profiles = [load_profile(name, "profiles", Path()) for name in shipped()]
    usual = {path for profile in profiles for layer in profile.layers for path in layer.query.paths}
    for layer, path in dict.fromkeys((layer.id, path) for layer, path in missing if path not in usual):
        file, line = _place_of(path, inspection)
        hint = path_hint(any_owner_pattern(path), inspection)
        yield warning_finding(file, line, f"layer {layer} reads {path}, but no file matches", hint)


def _place_of(text: str, inspection: Inspection) -> tuple[str, int]:
    """File and line of the settings or a profile that holds the text; an empty path and 0 for none."""
    for path in (FILE, *(path for path in inspection.documents if path.endswith((".yaml", ".yml")))):
        document = inspection.documents.get(path)
        lines = document.text.split("\n") if document else []
        for number, line in enumerate(lines, 1):
            if text in line:
                return path, number
    return "", 0
