"""The present of a workspace, for requests that ask: the current task, and the files that git calls changed.

Asked only where a layer of the profile shows it.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

from contextasm.model import ContextasmError, Data, Document, Parse, Profile, Workspace
from contextasm.text.data import parsed
from contextasm.text.frames import stack_of
from contextasm.text.templates import names


def uses(profile: Profile, name: str) -> bool:
    """Whether a path of the profile has this name in braces."""
    return any(name in names(path) for layer in profile.layers for path in layer.path)


def current_goal(profile: Profile, workspace: Workspace, parse: Parse) -> str:
    """The goal of the task that is worked on, if a layer shows it; else empty."""
    paths = (path for layer in profile.layers if "current-goal" in layer.source for path in layer.path)
    for path in paths:
        read = workspace.read(path)
        data = parsed(read, parse) if isinstance(read, Document) else None
        if isinstance(data, Data) and (chain := stack_of(data, []).path()):
            return chain[-1].goal
    return ""


OWN = ("agents/", "teams/", "rules/", "memories/", "knowledge/", "sessions/", "graph/", "threads/", "tools/", "ctxasm.")
OWN_FILES = ("PROJECT.md", "patterns.yaml", "tasks.yaml")
"""What makes the workspace (docs/DESIGN.md section 2): other layers show it, and it is no file that is worked on."""


def changed_files(root: str) -> tuple[str, ...]:
    """What differs from the last commit and what is new, as paths below `root`; none where there is no git.

    The files that make the workspace are left out.
    """
    changed = _git(root, "diff", "--name-only", "--relative", "-z", "--diff-filter=d", "HEAD")
    new = _git(root, "ls-files", "--others", "--exclude-standard", "-z")
    found = {path for path in (*changed, *new) if not path.startswith((*OWN, ".")) and path not in OWN_FILES}
    return tuple(sorted(found))


def _git(folder: str, *words: str) -> Sequence[str]:
    """The paths that git lists. Nothing of the repository is written, and none of its settings start a program."""
    import subprocess

    settings = ("--no-optional-locks", "-c", "core.fsmonitor=false", "-c", "core.quotePath=false")
    try:
        done = subprocess.run(  # noqa: S603 - the words are ours, the folder is the workspace's
            ["git", *settings, "-C", folder, *words],
            capture_output=True,
            stdin=subprocess.DEVNULL,
            timeout=10,
            check=False,
        )
    except FileNotFoundError:
        return ()
    except subprocess.TimeoutExpired as error:
        raise ContextasmError("git", "took over 10 seconds", "leave out the layer with {changed}") from error
    return [os.fsdecode(path) for path in done.stdout.split(b"\0") if path] if done.returncode == 0 else ()
