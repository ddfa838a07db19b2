"""The plug-in of the command `llm`: contexts as fragments and as templates, and searches as tools.

`llm` loads every plug-in at every start, so what a function needs is imported in the function.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import llm

if TYPE_CHECKING:
    from contextasm.api import RequestOptions
    from contextasm.model import Context

PREFIX = "ctxasm"


def parse_argument(argument: str) -> RequestOptions:
    """The request of an argument of the form `AGENT[/TEAM][@BUDGET][?TOPIC]`, which may be empty."""
    names, _, topic = argument.partition("?")
    names, _, budget = names.partition("@")
    agent, slash, team = names.partition("/")
    return _request(agent, team if slash else None, budget, topic)


def _request(agent: str, team: str | None, budget: str = "", topic: str = "") -> RequestOptions:
    """The options of a request; what `llm` stores may be read by others, so the audience is `shared`."""
    named: RequestOptions = {"agent": agent or None, "team": team, "budget": budget or None, "topic": topic or None}
    return {**named, "audience": "shared"}


@llm.hookimpl
def register_fragment_loaders(register: Callable[[str, Callable[[str], llm.Fragment]], None]) -> None:
    """Add the loader of `llm -f ctxasm:AGENT/TEAM@BUDGET`."""
    register(PREFIX, load_fragment)


@llm.hookimpl
def register_template_loaders(register: Callable[[str, Callable[[str], llm.Template]], None]) -> None:
    """Add the loader of `llm -t ctxasm:AGENT/TEAM@BUDGET`."""
    register(PREFIX, load_template)


@llm.hookimpl
def register_tools(register: Callable[..., None]) -> None:
    """Add the tools, for the workspace of the current folder."""
    register(ctxasm_build)
    register(ctxasm_search)


def load_fragment(argument: str) -> llm.Fragment:
    """The context of an agent, as part of the prompt: ctxasm:AGENT[/TEAM][@BUDGET][?TOPIC]."""
    return llm.Fragment(_build(parse_argument(argument)).text, f"{PREFIX}:{argument}")  # type: ignore[no-untyped-call]


def load_template(argument: str) -> llm.Template:
    """The context of an agent, as the system prompt: ctxasm:AGENT[/TEAM][@BUDGET][?TOPIC]."""
    # A template replaces $names; the document has none that are meant.
    system = _build(parse_argument(argument)).text.replace("$", "$$")
    return llm.Template(name=f"{PREFIX}:{argument}", system=system)  # type: ignore[no-untyped-call]


def ctxasm_build(agent: str = "", team: str = "", topic: str = "", budget: str = "") -> str:
    """Build the context that an agent starts from: identity, instructions, goals, logs and memories, under a budget."""
    return _build(_request(agent, team or None, budget, topic)).text


def ctxasm_search(query: str, agent: str = "", team: str = "", top: int = 5) -> str:
    """Find the memories of a workspace that match a query: one a line, with its id and place."""
    from contextasm import api

    with _plain_errors():
        hits = api.search(query, everywhere=not (agent or team), top=top, **_request(agent, team or None)).hits
    return "\n".join(f"{memory.id} {memory.path}:{memory.line} {memory.text}" for memory, _ in hits)


@contextmanager
def _plain_errors() -> Iterator[None]:
    """Raise the errors of this package as `ValueError`, which `llm` prints as one line."""
    from contextasm import ContextasmError

    try:
        yield
    except ContextasmError as error:
        raise ValueError(str(error)) from error


def _build(request: RequestOptions) -> Context:
    """The context; its problems, and the number of its private parts that are left out, go to standard error.

    Raises `ValueError`, which `llm` prints as one line.
    """
    import sys

    from contextasm import api
    from contextasm.rendering.wording import private_words, problem_line

    with _plain_errors():
        context = api.build(**request)
    lines = [f"warning: {problem_line(problem)}" for problem in context.problems]
    for line in filter(None, (*lines, private_words(context))):
        print(f"ctxasm: {line}", file=sys.stderr)  # noqa: T201 - llm has no other way
    return context
