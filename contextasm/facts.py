"""Facts: the values of the fields that rules ask about. What costs something is found out only if a rule asks.

git is asked with its own command; where it is not there, or the workspace is in no repository, its fields are missing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from contextasm.model import Request
from contextasm.rules import Facts, Rule

GIT_SECONDS = 5.0
"""How long git may take to answer."""


def facts(
    rules: Iterable[Rule], request: Request, variables: Mapping[str, str], environment: Mapping[str, str], root: Path
) -> Facts:
    """The values of the fields that enabled rules ask about; `variables` come from `--var`."""
    known: dict[str, Callable[[], str | tuple[str, ...]]] = {
        "task.text": lambda: request.topic,
        "task.intent": lambda: _intent(request.topic),
        "agent": lambda: request.agent,
        "team": lambda: request.team,
        "date": request.date.isoformat,
        "weekday": lambda: request.date.strftime("%A").lower(),
        "git.branch": lambda: _git(root, "rev-parse", "--abbrev-ref", "HEAD").strip(),
        "changed": lambda: tuple(_changed(root)),
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
    from contextasm.text.signals import intent

    return intent(topic)


def _changed(root: Path) -> Iterable[str]:
    """The paths in the workspace that differ from HEAD, new ones included."""
    tracked = _git(root, "diff", "--name-only", "--relative", "-z", "HEAD", "--", ".")
    new = _git(root, "ls-files", "--others", "--exclude-standard", "-z", "--", ".")
    return sorted({path for path in (tracked + new).split("\0") if path})


def _git(root: Path, *words: str) -> str:
    """What git answers; nothing where it can't."""
    import os
    import subprocess

    try:
        done = subprocess.run(  # noqa: S603 - these words alone, and no shell
            ["git", "-C", str(root), *words],
            capture_output=True,
            timeout=GIT_SECONDS,
            check=False,
            stdin=subprocess.DEVNULL,
            env={**os.environ, "GIT_OPTIONAL_LOCKS": "0"},
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.decode(errors="surrogateescape") if done.returncode == 0 else ""
