"""The topic of a session's start: words of the branch and of the changed files, as git has them."""

from __future__ import annotations

import os
import re
from contextlib import suppress

from contextasm.config.build import PreparedBuild
from contextasm.config.input.options import ProcessEnvironment
from contextasm.model import Build, ContextasmError
from contextasm.workspace.folder import repository_top

_TRUNKS = ("main", "master", "trunk", "develop", "HEAD")
"""Names of branches that are about nothing."""

_LEAST_COVER = 0.25
"""Share of what the topic's words are worth that the best match holds; below it nothing comes before the newest."""

_LEAST_MATCH = 0.6
"""Share of the best match that the others have: a name of a file is not a question, and may be a common word."""

_MAX_CHANGED = 20
"""Changed files that are about one thing; more are about nothing."""


def with_git_topic(prepared: PreparedBuild, process: ProcessEnvironment) -> Build:
    """The build with the words of the branch and of the changed files as its topic, if it has none.

    What matches them takes half of the places, and the newest the others. Without git, or if a source of the profile
    would show something else for any topic, it is the build itself.
    """
    build, profile, root = prepared.build, prepared.build.profile, prepared.workspace.root
    traits = [source for layer in profile.layers for source in layer.query.traits]
    is_searched = any(source.answers_topic for source in traits)
    is_safe = all(source.answers_topic or source.holds_memories or not source.score_parts for source in traits)
    if build.request.topic.strip() or not (is_searched and is_safe and repository_top(root)):
        return build
    words = _topic_words(root, process)
    layers = []
    for layer in profile.layers:
        query = layer.query._replace(min_cover=_LEAST_COVER, min_match=_LEAST_MATCH, keeps_newest=True)
        ranking = layer.ranking._replace(top=layer.ranking.fallback_top or layer.ranking.top)
        layers.append(layer._replace(query=query, ranking=ranking))
    request = build.request._replace(topic=words)
    return build._replace(profile=profile._replace(layers=tuple(layers)), request=request) if words else build


def _topic_words(root: str, process: ProcessEnvironment) -> str:
    from contextasm.workspace.git.commands import changed_files, current_branch  # here: many workspaces are in no git

    names: list[str] = []
    with suppress(ContextasmError):  # git fails, or takes long: a start does without it
        names = [name for name in [current_branch(root, process.environment)] if name not in _TRUNKS]
        # Notes are what is chosen from, and change with every session.
        files = [path for path in changed_files(root, process.environment) if not path.endswith(".md")]
        names += files if len(files) <= _MAX_CHANGED else []
    stems = (os.path.splitext(os.path.basename(name))[0] for name in names)
    return " ".join(dict.fromkeys(re.findall(r"[^\W\d_]{3,}", " ".join(stems))))
