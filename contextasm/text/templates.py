"""Templates as layers write them: paths such as `teams/{team}/daily/*.md`, lines such as `- [{type}] {text}`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from contextasm.model import Request, Workspace

_NAME = re.compile(r"\{(\w+)\}")


def placeholders(template: str) -> list[str]:
    """The names in braces."""
    return _NAME.findall(template)


def fill_template(template: str, values: Mapping[str, str]) -> str:
    """The template with each name replaced; what the values hold is taken as it is."""
    return _NAME.sub(lambda found: values.get(found[1], found[0]), template)


def layer_paths(workspace: Workspace, template: str, request: Request) -> Iterator[str]:
    """The files that a layer's path may mean; none where it needs a name that is not given.

    `{open}` and `{changed}` are the files that the request says are.

    A path without a wildcard comes back as it is, whether there is such a file or not.
    """
    if template in {"{open}", "{changed}"}:
        yield from request.open if template == "{open}" else request.changed
        return
    given = {"agent": request.agent, "team": request.team}
    if not all(given.get(name, " ") for name in placeholders(template)):
        return
    path = fill_template(template, given)
    if is_pattern(path):
        yield from workspace.list(path)
    else:
        yield path


def is_pattern(path: str) -> bool:
    """Whether a path holds a wildcard."""
    return any(mark in path for mark in "*?[")
