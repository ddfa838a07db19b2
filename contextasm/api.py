"""The functions that `import contextasm` offers: a build, a search, and what an agent tells the workspace.

They do what the commands of the same names do, with the same settings and variables, and raise `ContextasmError`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import date as day
from typing import Literal, Unpack

from contextasm.config.build import PreparedBuild
from contextasm.config.input import parameters
from contextasm.config.input.options import Options
from contextasm.config.input.parameters import RequestOptions as RequestOptions  # noqa: PLC0414 - as ContextasmError
from contextasm.config.input.parameters import options_of_parameters
from contextasm.config.input.values import parse_tokens, require_known
from contextasm.config.owners import owner_names
from contextasm.config.resolve import counter_of_text, prepare_build, process_environment
from contextasm.config.workspace_folder import open_workspace
from contextasm.memories.additions import NewMemoryReader, read_cites, shared_fields
from contextasm.memories.export import private_line_finder
from contextasm.memories.owner import Owner, find_owner, place_for_memories
from contextasm.memories.search import SearchResult, best_memories, memory_of_id
from contextasm.memories.storage import storage_of
from contextasm.model import AUDIENCES, SHARED, Build, Context, Memory, NamedTuple, Problem, TokenCounter, failure_words
from contextasm.model import ContextasmError as ContextasmError  # noqa: PLC0414 - `contextasm` takes it from here
from contextasm.rendering.formats import MARKERS, format_context
from contextasm.selection.truncate import KEEP, fit_text
from contextasm.text.cleaning.clean import clean_text, message_line
from contextasm.text.memories.writer import storable_text
from contextasm.text.names.places import OWNER_FILES, OwnerKind
from contextasm.workspace.editing.files import append_log
from contextasm.workspace.reads import MOST_BYTES, MOST_RESULTS, Reads, is_replay_allowed, relevant_variables
from contextasm.workspace.storage import DEFAULT_TYPE, MemoryPlace, NewMemory, RememberOutcome


class LogOutcome(NamedTuple):
    """Result of an entry in a log."""

    path: str
    """The log's path in the workspace."""
    made: bool
    """Whether the log is new."""
    problems: tuple[Problem, ...]
    """Of the text that was given: hidden characters that were removed, secrets that stay. For programs to tell."""


@contextmanager
def _mendable_errors() -> Iterator[None]:
    """Raise errors, also of the machine such as a full disk, with the text that the command line prints.

    The error that was raised first is not shown with it: its text was not cleaned, and may hold a secret.
    """
    try:
        yield
    except (ContextasmError, OSError) as error:
        raise _printed_error(error) from None


def _printed_error(error: ContextasmError | OSError) -> ContextasmError:
    """The error as people may see it, in one line: its text and its parts are clean, and secrets are masked."""
    if isinstance(error, OSError):
        where, what = str(error.filename or "output"), error.strerror or str(error)
        error = ContextasmError(where, what, "correct this and try again")
    where, what, hint = map(message_line, (error.where, error.what, error.hint))
    printed = ContextasmError(where, what, hint, error.code)
    printed.args = (message_line(failure_words(error)),)  # cleaned as a whole: a mask may depend on what is before
    return printed


def build(**options: Unpack[RequestOptions]) -> Context:
    """The context that `ctxasm build` would write: text, tokens, decisions, problems.

    >>> context = contextasm.build(agent="luna", team="q1", workspace="sample_workspace", budget=4000)
    >>> context.tokens <= 4000
    True

    Logs, lines and memories that are counted and not shown have no decision of their own; `explain` gives all.
    """
    return changed_context(options, in_full=False)


def explain(**options: Unpack[RequestOptions]) -> Context:
    """The same context as `build`, with a decision for each fragment, shown or not."""
    return changed_context(options, in_full=True)


@_mendable_errors()
def render(context: Context) -> str:
    """The text of a context in the format that it was built for, as `ctxasm build` writes it."""
    if not isinstance(context, Context):
        raise ContextasmError("context", f"is of the type {type(context).__name__}", "give a result of `build`")
    return format_context(context)


@_mendable_errors()
def count(text: str, *, tokenizer: str | None = None) -> int:
    """The tokens of a text, counted as a build counts: 0 for an empty text.

    The text is counted as it is. `tokenizer` is a name of `ctxasm tokenizers`; None leaves it to `CTXASM_TOKENIZER` and
    the settings of the workspace that the process is in, else it is the estimate. With `chars` or `bytes` the number is
    a length. Raises `ContextasmError` for an unknown tokenizer.

    >>> contextasm.count("The demo is on Friday.")
    6
    """
    return _counter_named(tokenizer).count(parameters.parse_text(text, "text"))


@_mendable_errors()
def fit(
    text: str, budget: int | str, *, keep: Literal["start", "end", "both"] = "start", tokenizer: str | None = None
) -> str:
    r"""The text if `budget` tokens hold it, else the most of it that they hold, with a marker where text is left out.

    It is cut as the text of a layer is, after hidden characters are removed and secrets are masked. `keep` is the end
    that is spared; `tokenizer` is as of `count`. Raises `ContextasmError` if not even one line fits.

    >>> contextasm.fit("The demo is on Friday.\n\nThe rest of the week is free.", 13)
    'The demo is on Friday.\n... [truncated]'
    """
    counter = _counter_named(tokenizer)
    tokens = parse_tokens(parameters.parse_number(budget, "budget"), "budget")
    clean = clean_text(parameters.parse_text(text, "text")).text
    end = require_known(parameters.parse_text(keep, "keep"), KEEP, "keep")
    return fit_text(clean, tokens, counter, MARKERS["plain"](counter.count), end)


def _counter_named(tokenizer: str | None) -> TokenCounter:
    options = options_of_parameters({} if tokenizer is None else {"tokenizer": tokenizer})
    return counter_of_text(options, process_environment())


@_mendable_errors()
def search(text: str, *, everywhere: bool = False, top: int = 5, **options: Unpack[RequestOptions]) -> SearchResult:
    """The `top` memories that match a text best, with the parts of their scores; see `ctxasm search`.

    `everywhere` searches every agent, every team and the project.

    >>> result = contextasm.search("the demo date", agent="luna", team="q1", workspace="sample_workspace")
    >>> memory, score = result.hits[0]
    """
    return best_memories(
        options_of_parameters(options),
        parameters.parse_text(text, "text"),
        process_environment(),
        everywhere=parameters.parse_flag(everywhere, "everywhere"),
        top=parameters.parse_count(top, "top"),
    )


@_mendable_errors()
def find_memory(name: str, *, everywhere: bool = False, **options: Unpack[RequestOptions]) -> Memory:
    """The memory with this id among the ones that `search` would search with the same options, active or not."""
    return memory_of_id(
        options_of_parameters(options),
        parameters.parse_text(name, "name"),
        process_environment(),
        everywhere=parameters.parse_flag(everywhere, "everywhere"),
    )


@_mendable_errors()
def owners(kind: OwnerKind, workspace: str | os.PathLike[str] | None = None) -> Sequence[str]:
    """Names of all agents, or of all teams, of a workspace; `kind` is `agent` or `team`."""
    require_known(parameters.parse_text(kind, "kind"), OWNER_FILES, "kind")
    return owner_names(open_workspace(options_of_parameters({"workspace": workspace}), process_environment()), kind)


@_mendable_errors()
def remember(
    text: str,
    *,
    type: str = DEFAULT_TYPE,  # noqa: A002 - the field's name
    importance: float | str | None = None,
    tags: Iterable[str] = (),
    key: str = "",
    supersedes: Iterable[str] = (),
    valid_from: day | str = "",
    expires: day | str = "",
    repositories: Iterable[str] = (),
    cites: Iterable[str] = (),
    file: str | os.PathLike[str] | None = None,
    writer: str = "",
    draft: bool = False,
    force: bool = False,
    audience: str | None = None,
    agent: str | None = None,
    team: str | None = None,
    date: day | str | None = None,
    tz: str | None = None,
    workspace: str | os.PathLike[str] | None = None,
) -> RememberOutcome:
    """Store a memory of an agent, or of a team, or reinforce the one that says the same; see `ctxasm remember`.

    `cites` are lines that it rests on, such as `src/a.py:3-5`; `repositories`, patterns of those in which it holds.
    `writer` names a program that writes on its own. A `draft` waits until it is approved. Hidden characters are
    removed, secrets stay; both are problems. For the audience `shared`, private memories are ignored.
    """
    fields = {"importance": importance, "tags": tags, "key": key, "supersedes": supersedes, "writer": writer}
    dates = {"valid_from": valid_from, "expires": expires}
    reader = NewMemoryReader(_fields(type, {**fields, **dates, "repositories": repositories}))
    memory = reader.from_text(parameters.parse_text(text, "text"), "text")
    named = options_of_parameters({"agent": agent, "team": team, "date": date, "tz": tz, "workspace": workspace})
    owner, place = _memory_place(named, file, audience)
    cited = read_cites(parameters.parse_texts(cites, "cites"), owner.workspace, "cites")
    memory = memory._replace(cites=cited, status="draft" if parameters.parse_flag(draft, "draft") else "")
    is_forced = parameters.parse_flag(force, "force")
    (outcome,) = storage_of(owner.workspace, place.path).remember(place, [memory], owner.day, force=is_forced)
    return outcome._replace(problems=tuple(reader.problems))


def _memory_place(named: Options, file: object, audience: object) -> tuple[Owner, MemoryPlace]:
    if audience is not None:
        require_known(parameters.parse_text(audience, "audience"), AUDIENCES, "audience")
    process = process_environment()
    path = None if file is None else parameters.parse_path(file, "file")
    owner = find_owner(named, process, needed=path is None)
    hidden = private_line_finder(owner.workspace, owner.profile) if audience == SHARED else None
    return owner, place_for_memories(owner, path, process)._replace(private_lines=hidden)


_PARSERS: Mapping[str, Callable[[object, str], object]] = {
    "importance": parameters.parse_number,
    **dict.fromkeys(("tags", "supersedes", "repositories"), parameters.parse_texts),
    **dict.fromkeys(("valid_from", "expires"), parameters.parse_day),
}
"""The parsers of the parameters of `remember` that take more than a text."""


def _fields(kind: str, named: Mapping[str, object]) -> NewMemory:
    """A memory without its text, of parameters of `remember`; None and an empty text are not given."""
    given = {name: value for name, value in named.items() if value is not None and value != ""} | {"type": kind}
    parsed = {name: _PARSERS.get(name, parameters.parse_text)(value, name) for name, value in given.items()}
    return shared_fields({name: (name, value) for name, value in parsed.items()})


@_mendable_errors()
def log(
    text: str,
    *,
    agent: str | None = None,
    team: str | None = None,
    date: day | str | None = None,
    tz: str | None = None,
    workspace: str | os.PathLike[str] | None = None,
) -> LogOutcome:
    """Append an entry to the log of the day of an agent, or of a team.

    Hidden characters are removed, secrets stay; both are problems of the outcome.
    """
    named = options_of_parameters({"agent": agent, "team": team, "date": date, "tz": tz, "workspace": workspace})
    entry, problems = storable_text(parameters.parse_text(text, "text"), "text")
    owner = find_owner(named, process_environment())
    path = owner.file("log")
    made = append_log(owner.workspace, path, entry)
    return LogOutcome(path, made, problems)


_recent: dict[Hashable, tuple[Reads, Context]] = {}
"""The last contexts of this process with what they were made of, by their requests; the one used last is at the end."""


@_mendable_errors()
def changed_context(
    given: RequestOptions,
    *,
    in_full: bool,
    change: Callable[[PreparedBuild, Build], Build] | None = None,
    about: Hashable = None,
) -> Context:
    """The context of a request, of a build that an adapter of this package may change; equal `about`, equal change.

    It is the last one of an equal request if nothing that it was made of has changed.
    """
    options, process = options_of_parameters(given), process_environment()
    request = (options, in_full, about, process.folder, *relevant_variables(process.environment))
    recent = _recent.pop(request, None)
    if recent and recent[0].are_same():
        _recent[request] = recent
        return _copied(recent[1])
    with Reads() as reads:
        prepared = prepare_build(options, process).with_lock(process.environment, locked=False)
        build = prepared.in_full if in_full else prepared.build
        context = prepared.run(change(prepared, build) if change else build)
    size = sum(len(answer) for answer in reads.answers.values() if isinstance(answer, bytes))
    if reads.is_complete and size <= MOST_BYTES and is_replay_allowed(process.environment):
        _recent[request] = reads, _copied(context)
        for oldest in [*_recent][:-MOST_RESULTS]:
            _recent.pop(oldest, None)
    return context


def _copied(context: Context) -> Context:
    """A context of its own for each caller, who could change the mappings in it."""
    return context._replace(documents=tuple(each._replace(front={**each.front}) for each in context.documents))
