"""Conventional places of the files of a workspace (man/ctxasm.yaml.5), and the paths of archived files.

A rule, a filter or a private layer that names a file by its own path also means it after `tidy` archived it.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from datetime import date
from typing import Literal

from contextasm.model import Workspace
from contextasm.text.names.dates import is_date_form
from contextasm.text.names.glob import matching_paths, wildcard_matches
from contextasm.text.names.templates import ARCHIVE, fill_template

OwnerKind = Literal["agent", "team"]

AGENT_FILES = ("agents/{agent}/IDENTITY.md", "agents/{agent}/INSTRUCTIONS.md")
"""Files that every agent has."""

OWNER_FILES: Mapping[OwnerKind, str] = {"agent": "agents/*/IDENTITY.md", "team": "teams/*/*.md"}
"""Pattern of the files that make a folder an owner's."""

MEMORY_FOLDERS = ("agents/*/memories", "teams/*/memories", "memories")
"""Folders of memories: of every agent, every team and the project."""

MEMORY_FILES = tuple(f"{folder}/*.md" for folder in MEMORY_FOLDERS)
"""Files of memories of every agent, every team and the project."""

LOG_FOLDERS = ("agents/*/daily", "teams/*/daily")
"""Folders of dated logs; the archive of one is its folder `archive`."""

FEEDBACK_FILES = "feedback/*.jsonl"
"""Files with feedback on builds: one for each month, older ones first."""

RULE_FILES = "rules/*.yaml"
"""Files with rules."""

PROFILE_FILES = "profiles/*.yaml"
"""Files with profiles."""

WORKSPACE_PATTERNS = (
    "ctxasm.yaml",
    "AGENTS.md",
    "CLAUDE.md",
    "PROJECT.md",
    "agents/**/*.md",
    "teams/**/*.md",
    "patterns.yaml",
    "tasks.yaml",
    "graph/*.yaml",
    "knowledge/**/*.md",
    "memories/*.md",
    PROFILE_FILES,
    RULE_FILES,
    "sessions/*.jsonl",
    "threads/*.md",
    "tools/*.json",
)
"""Files of a workspace, without the ones that only a profile names."""


def any_owner_pattern(template: str) -> str:
    """The path of a layer as a pattern: for every agent and every team."""
    return fill_template(template, {"agent": "*", "team": "*"})


_ARCHIVED = r"(?s)((?:.*/)?)archive/(?:[0-9]{4}/)?([^/]+)"
_NUMBERED = r"(?s)([^.]+)-[1-9][0-9]*(\..*)?"


def archived_path(path: str, log_day: date | None = None) -> str:
    """The place of a file in the archive next to it, which has a folder for each year of the days of logs."""
    folder, slash, name = path.rpartition("/")
    year = f"{log_day.year:04}/" if log_day else ""
    return f"{folder}{slash}{ARCHIVE}/{year}{name}"


def known_paths(path: str) -> tuple[str, ...]:
    """The path, and paths that such a file may have had before it was archived; one path for any other file.

    `daily/archive/2025/2025-03-12.md.gz` was `daily/2025-03-12.md`. Compression, the archive of a text that left a file
    (`m.md.txt`), and the number of a file whose name was taken are undone if they may have been done.
    """
    if "archive/" not in path or not (match := re.fullmatch(_ARCHIVED, path)):
        return (path,)
    folder, name = match.groups()
    names = [name, *(name.removesuffix(ending) for ending in (".gz", ".txt") if name.endswith(ending))]
    plain = (each for each in names if not is_date_form(each.partition(".")[0]))
    numbered = filter(None, map(re.compile(_NUMBERED).fullmatch, plain))
    names += [found[1] + (found[2] or "") for found in numbered]
    return (path, *dict.fromkeys(folder + each for each in names))


def known_ids(fragment_id: str, path: str) -> tuple[str, ...]:
    """The id of a fragment of the file, and if it begins with the path, the same id with earlier paths."""
    if not fragment_id.startswith(path):
        return (fragment_id,)
    return tuple(each + fragment_id[len(path) :] for each in known_paths(path))


def is_named(pattern: str, fragment_id: str, path: str) -> bool:
    """Whether a filter's pattern is the id of a fragment, or fits the path of its file, also that before archiving."""
    return pattern in known_ids(fragment_id, path) or any(wildcard_matches(pattern, each) for each in known_paths(path))


def list_archived(workspace: Workspace, pattern: str) -> list[str]:
    """The archived files that had a path, or one that a pattern of `list_matching` fits, in code point order."""
    folder, slash, _ = pattern.rpartition("/")
    places = (f"{folder}{slash}archive/*", f"{folder}{slash}archive/[0-9][0-9][0-9][0-9]/*")
    paths = {path for place in places for path in workspace.list(place) if not path.endswith("/")}
    earlier = {path: known_paths(path)[1:] for path in paths}
    return sorted(path for path in paths if pattern in earlier[path] or matching_paths(earlier[path], pattern))


def list_with_archived(workspace: Workspace, pattern: str) -> Sequence[str]:
    """The files that a pattern of `list_matching` fits, and then those in archives that it fitted."""
    return (*workspace.list(pattern), *list_archived(workspace, pattern))


def has_other_form(path: str, found: Collection[str]) -> bool:
    """Whether a file is found where a folder was looked for, or files in a folder where a file was.

    A list may name both, such as .clinerules; the path of a folder ends with `/`.
    """
    return path.removesuffix("/") in found if path.endswith("/") else any(each.startswith(f"{path}/") for each in found)
