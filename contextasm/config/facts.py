"""The present of a workspace: the current task, what git calls changed, and the fields that rules ask about.

What costs something is found out only where a layer or a rule asks for it. Where there is no git, or the
workspace is in no repository, what git would tell is missing.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from contextasm.model import ContextasmError, Data, Document, Parse, Profile, Request, Workspace
from contextasm.text.decode import parse_data
from contextasm.text.templates import placeholders

if TYPE_CHECKING:
    from contextasm.rules.evaluate import Facts, Rule


def uses(profile: Profile, name: str) -> bool:
    """Whether a path of the profile has this name in braces."""
    return any(name in placeholders(path) for layer in profile.layers for path in layer.path)


def current_goal(profile: Profile, workspace: Workspace, parse: Parse) -> str:
    """The goal of the task that is worked on, if a layer shows it; else empty."""
    paths = [path for layer in profile.layers if "current-goal" in layer.source for path in layer.path]
    if not paths:
        return ""
    from contextasm.text.task_stack import parse_task_stack

    for path in paths:
        read = workspace.read(path)
        data = parse_data(read, parse) if isinstance(read, Document) else None
        if isinstance(data, Data) and (chain := parse_task_stack(data, []).path()):
            return chain[-1].goal
    return ""


WORKSPACE_PREFIXES = (
    "agents/",
    "teams/",
    "rules/",
    "memories/",
    "knowledge/",
    "sessions/",
    "graph/",
    "threads/",
    "tools/",
    "ctxasm.",
)
WORKSPACE_FILES = ("PROJECT.md", "patterns.yaml", "tasks.yaml")
"""What makes the workspace (docs/DESIGN.md section 2): other layers show it, and it is no file that is worked on."""


WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")


def gather_facts(
    rules: Iterable[Rule], request: Request, variables: Mapping[str, str], environment: Mapping[str, str], root: Path
) -> Facts:
    """The values of the fields that enabled rules ask about; `variables` come from `--var`."""
    known: dict[str, Callable[[], str | tuple[str, ...]]] = {
        "task.text": lambda: request.topic,
        "task.intent": lambda: _intent(request.topic),
        "agent": lambda: request.agent,
        "team": lambda: request.team,
        "date": request.date.isoformat,
        "weekday": lambda: WEEKDAYS[request.date.weekday()],
        "git.branch": lambda: "".join(_git_lines(str(root), "rev-parse", "--abbrev-ref", "HEAD")).strip(),
        "changed": lambda: _changed(str(root)),
    }
    asked = {condition.field for rule in rules if rule.enabled for condition in rule.when}
    found: dict[str, str | tuple[str, ...]] = {}
    for field in asked:
        prefix, _, name = field.partition(".")
        if prefix == "env":
            found[field] = environment.get(name, "")
        elif prefix == "var":
            found[field] = variables.get(name, "")
        elif field in known:
            found[field] = known[field]()
    return found


def _intent(topic: str) -> str:
    """What the topic asks for."""
    from contextasm.retrieval.query_signals import intent

    return intent(topic)


def changed_files(root: str) -> tuple[str, ...]:
    """What differs from the last commit and what is new, as paths below `root`; none where there is no git.

    The files that make the workspace are left out.
    """
    there = (path for path in _changed(root) if os.path.lexists(os.path.join(root, path)))
    found = {path for path in there if not path.startswith((*WORKSPACE_PREFIXES, ".")) and path not in WORKSPACE_FILES}
    return tuple(sorted(found))


def _changed(root: str) -> tuple[str, ...]:
    """The paths in the workspace that differ from the last commit, new and deleted ones included."""
    changed = _git_lines(root, "diff", "--name-only", "--relative", "-z", "HEAD")
    new = _git_lines(root, "ls-files", "--others", "--exclude-standard", "-z")
    return tuple(sorted({*changed, *new}))


def _git_lines(folder: str, *words: str) -> Sequence[str]:
    """What git lists, one item for each NUL. Nothing is written, and no setting of the repository starts a program."""
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
        raise ContextasmError(
            "git", "took over 10 seconds", "leave out the layer or the rule that asks for it"
        ) from error
    return [os.fsdecode(path) for path in done.stdout.split(b"\0") if path] if done.returncode == 0 else ()
