"""Detection: the profile for a folder that has no settings and no agents, by the files that other tools leave in it.

The kinds of folders and their signs are data, in `kinds.yaml`. Only names are looked at; no file of the user's is
opened. The search upwards ends at the top of the git repository or at the home folder, at the nearer one of them.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

from contextasm.config.input import values
from contextasm.config.input.yaml_loader import YamlMapping, load_mapping
from contextasm.config.profiles.loader import read_file
from contextasm.text.names.templates import is_pattern
from contextasm.workspace.folder import Folder, folders_above, repository_top
from contextasm.workspace.reads import is_folder, real_path

_KINDS = Path(__file__).parent.parent / "kinds.yaml"


@cache
def _kinds() -> Sequence[YamlMapping]:
    """The tables of `kinds.yaml`: `profile`, `signs` and `outermost` of each kind."""
    tables = load_mapping(read_file(str(_KINDS), _KINDS.name), _KINDS.name)["kinds"]
    assert isinstance(tables, list)
    return tables


def detect(workspace: Folder) -> Sequence[tuple[str, str]]:
    """Profile and sign of each kind that the topmost folder of a workspace is of, such as `openclaw` and `SOUL.md`.

    In order of precedence: the profile of the first is used. Empty for a folder of no kind.
    """
    return [
        (str(kind["profile"]), _sign_words(sign))
        for kind in _kinds()
        for sign in [sign for sign in _signs(kind) if all(_has_path(workspace, path) for path in sign.split(" + "))][:1]
    ]


def known_signs(profile: str) -> Sequence[str]:
    """The signs that are one file or folder, in order of precedence: of the kind with a profile, else of all kinds."""
    kinds = [kind for kind in _kinds() if kind["profile"] == profile] or _kinds()
    return [sign for kind in kinds for sign in _signs(kind) if not is_pattern(sign) and " + " not in sign]


def detection_words(kinds: Sequence[tuple[str, str]]) -> str:
    """The profile that is used, its reason, and the other kinds, for a receipt."""
    (profile, sign), *others = kinds
    named = ", ".join(f"-p {other} ({its_sign})" for other, its_sign in others)
    return f"profile {profile}, because {sign} is here" + (f"; also found: {named}" if others else "")


def _signs(kind: YamlMapping) -> Sequence[str]:
    return values.parse_texts(kind["signs"], _KINDS.name)


def _has_path(workspace: Folder, path: str) -> bool:
    if path.endswith("/"):
        return workspace.exists(path[:-1]) and not workspace.is_file(path[:-1])
    if not is_pattern(path):
        return workspace.is_file(path)
    return any(workspace.is_file(found) for found in workspace.list(path))


def _sign_words(sign: str) -> str:
    """A sign with the folder in place of a pattern."""
    parts = [f"{part[: part.index('/')]}/" if is_pattern(part) else part.rstrip("/") for part in sign.split(" + ")]
    return " + ".join(parts)


def find_detected(start: str, environment: Mapping[str, str], profile: str = "") -> str | None:
    """The folder, from `start` upwards, that is of a known kind; None if no folder is.

    The search ends at the top of the git repository or at the home folder; outside of both, only `start` is looked at.
    If `profile` is the profile of a known kind, only folders of that kind count.

    The nearest folder is taken, but one that is only of kinds with `outermost` does not end the search: a folder of
    another kind above it is taken before it. Without one, the topmost such folder of the git repository is taken, and
    outside of a repository the nearest.
    """
    folders, is_repository = _folders_upwards(start, environment.get("HOME", ""))
    outermost: str | None = None
    is_wanted = profile in {kind["profile"] for kind in _kinds()}
    among_outermost = {str(kind["profile"]) for kind in _kinds() if kind.get("outermost")}
    for folder in folders:
        found = {name for name, _ in detect(Folder(folder))} if is_folder(folder) else set()
        found &= {profile} if is_wanted else found
        if found - among_outermost:
            return folder
        if found and (is_repository or outermost is None):
            outermost = folder
    return outermost


def _folders_upwards(start: str, home: str) -> tuple[Sequence[str], bool]:
    """The folders to look at, from `start` on, and whether the last one is the top of a git repository."""
    folders, top = (start, *folders_above(start)), repository_top(start)
    home = real_path(home) if os.path.isabs(home) else ""
    for number, folder in enumerate(folders, 1):
        if folder == top or real_path(str(folder)) == home:
            return folders[:number], folder == top
    return (start,), False
