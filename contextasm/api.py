"""The functions that `import contextasm` offers: a build, a search, and what an agent tells the workspace.

They do what the commands of the same names do, with the same settings and variables, and raise `ContextasmError`.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from datetime import date as day
from functools import partial
from typing import Any, TypedDict, Unpack

from contextasm.config.build import PreparedBuild
from contextasm.config.editable_owner import find_owner, place_for_memories
from contextasm.config.memory_search import SearchResult, best_memories, memory_of_id
from contextasm.config.new_memories import NewMemoryReader, parse_importance, parse_items, parse_type, parse_value
from contextasm.config.options import Options
from contextasm.config.owner_memories import remember_for_owner
from contextasm.config.owners import OwnerKind, owner_names
from contextasm.config.resolve import prepare_build, process_environment
from contextasm.config.workspace_folder import open_workspace
from contextasm.config.yaml_loader import load_yaml
from contextasm.model import SHARED, Context, Memory
from contextasm.model import ContextasmError as ContextasmError  # noqa: PLC0414 - `contextasm` takes it from here
from contextasm.text.private_parts import private_lines
from contextasm.text.storable import storable_text
from contextasm.workspace.editing.files import append_log
from contextasm.workspace.editing.remember import DEFAULT_TYPE, NewMemory, RememberOutcome


class RequestOptions(TypedDict, total=False):
    """The options of `ctxasm build` that say what the context is made of; man page ctxasm(1) describes each.

    One that is missing or None is left to the environment, the settings and the profile.
    """

    agent: str | None
    team: str | None
    topic: str | None
    profile: str | os.PathLike[str] | None
    budget: int | str | None
    """Tokens, or a text such as `8k`."""
    tokenizer: str | None
    date: day | str | None
    tz: str | None
    layers: Mapping[str, int] | None
    """Most tokens of a layer, by its id."""
    strategy: str | None
    scope: Iterable[str] | None
    """Ids of the only layers to build."""
    session: str | None
    open: Iterable[str | os.PathLike[str]] | None
    since: day | str | None
    event_types: Iterable[str] | None
    entity_types: Iterable[str] | None
    exclude: Iterable[str] | None
    prefer: Iterable[str] | None
    deadline: int | None
    """Milliseconds."""
    additional: str | None
    variables: Mapping[str, str] | None
    format: str | None
    """Format whose counts the budget holds; `contextasm.render` writes it."""
    privacy: str | None
    audience: str | None
    offline: bool | None
    """Ask no server: read the mirror of a shared store as it is."""
    workspace: str | os.PathLike[str] | None


def build(**options: Unpack[RequestOptions]) -> Context:
    """The context that `ctxasm build` would write: text, tokens, decisions, problems.

    >>> context = contextasm.build(agent="luna", team="q1", workspace="sample_workspace", budget=4000)
    >>> context.tokens <= 4000
    True

    Fragments that an index of memories counts and does not show have no decision of their own; `explain` gives all.
    """
    prepared = _prepare(options)
    return prepared.run(prepared.build)


def explain(**options: Unpack[RequestOptions]) -> Context:
    """The same context as `build`, with a decision for each memory, shown or not."""
    return _prepare(options).run()


def render(context: Context) -> str:
    """The text of a context in the format that it was built for, as `ctxasm build` writes it."""
    from contextasm.rendering.formats import FORMATS

    return FORMATS[context.request.format](context)


def search(text: str, *, everywhere: bool = False, top: int = 5, **options: Unpack[RequestOptions]) -> SearchResult:
    """The `top` memories that match a text best, with the parts of their scores; see `ctxasm search`.

    `everywhere` searches every agent, every team and the project.

    >>> result = contextasm.search("the demo date", agent="luna", team="q1", workspace="sample_workspace")
    >>> memory, score = result.hits[0]
    """
    given = _options(options)
    return best_memories(given, text, process_environment(), everywhere=everywhere, top=top)


def find_memory(name: str, *, everywhere: bool = False, **options: Unpack[RequestOptions]) -> Memory:
    """The memory with this id among those that `search` would search with the same options, active or not."""
    return memory_of_id(_options(options), name, process_environment(), everywhere=everywhere)


def owners(kind: OwnerKind, workspace: str | os.PathLike[str] | None = None) -> Sequence[str]:
    """Names of all agents, or of all teams, of a workspace."""
    return owner_names(open_workspace(_options({"workspace": workspace}), process_environment()), kind)


def remember(
    text: str,
    *,
    type: str = DEFAULT_TYPE,  # noqa: A002 - the field's name
    importance: float | str | None = None,
    tags: Iterable[str] = (),
    key: str = "",
    supersedes: Iterable[str] = (),
    file: str | None = None,
    writer: str = "",
    force: bool = False,
    audience: str | None = None,
    agent: str | None = None,
    team: str | None = None,
    date: day | str | None = None,
    tz: str | None = None,
    workspace: str | os.PathLike[str] | None = None,
) -> RememberOutcome:
    """Store a memory of an agent, or of a team, or reinforce the one that says the same; see `ctxasm remember`.

    `writer` names a program that writes on its own, so that people can tell. Hidden characters are removed,
    secrets stay; both are problems of the outcome. For the audience `shared`, private memories are as if they were not.
    """
    process = process_environment()
    fields = NewMemory(
        text="",
        type=parse_type(type, "type"),
        importance=None if importance is None else parse_importance(importance, "importance"),
        tags=parse_items(tags, "tags"),
        key=parse_value(key, "key") if key else "",
        supersedes=parse_items(supersedes, "supersedes"),
        writer=parse_value(writer, "writer") if writer else "",
    )
    reader = NewMemoryReader(fields)
    memory = reader.from_text(text, "text")
    named = _options({"agent": agent, "team": team, "date": date, "tz": tz, "workspace": workspace})
    owner = find_owner(named, process, needed=file is None)
    place = place_for_memories(owner, file, process)
    hidden = partial(private_lines, parse=load_yaml) if audience == SHARED else None
    (outcome,) = remember_for_owner(owner, place, [memory], force=force, private_lines=hidden)
    return outcome._replace(problems=tuple(reader.problems))


def log(
    text: str,
    *,
    agent: str | None = None,
    team: str | None = None,
    date: day | str | None = None,
    tz: str | None = None,
    workspace: str | os.PathLike[str] | None = None,
) -> str:
    """Append an entry to the log of the day of an agent, or of a team; returns the log's path in the workspace."""
    named = _options({"agent": agent, "team": team, "date": date, "tz": tz, "workspace": workspace})
    owner = find_owner(named, process_environment())
    path = f"{owner.path}/daily/{owner.day}.md"
    append_log(owner.workspace, path, storable_text(text, "text").text)
    return path


def _prepare(given: RequestOptions) -> PreparedBuild:
    process = process_environment()
    return prepare_build(_options(given), process).with_lock(process.environment, locked=False)


def _options(given: RequestOptions) -> Options:
    """The options as a person would type them."""
    typed = {name: _typed(value) for name, value in given.items() if value is not None}
    if isinstance(scope := typed.get("scope"), tuple):
        typed["scope"] = ",".join(scope)
    return Options()._replace(**typed)


def _typed(value: Any) -> Any:
    if isinstance(value, bool):
        return value
    if isinstance(value, Mapping):
        return tuple(f"{key}={each}" for key, each in value.items())
    if isinstance(value, str | int | day):
        return str(value)
    return os.fspath(value) if isinstance(value, os.PathLike) else tuple(map(os.fspath, value))
