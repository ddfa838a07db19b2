"""The answers of the MCP server's tools, and the workspace that it serves."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from pydantic import ValidationError
from typing_extensions import TypedDict  # pydantic takes no other before Python 3.12

from contextasm.api import RequestOptions
from contextasm.config.input.values import describe_value, require_known
from contextasm.model import ContextasmError, NamedTuple, Problem, failure_words
from contextasm.rendering.wording import problem_line
from contextasm.text.cleaning.clean import LONGEST_WORD, message_line, shown_name
from contextasm.text.names.templates import one_line


class ServedWorkspace(NamedTuple):
    """The names that the command line of a server fixes; clients can't change it."""

    workspace: str
    """Absolute path of the folder."""
    agent: str | None = None
    """None lets clients name any agent of the workspace."""
    team: str | None = None
    profile: str | None = None
    audience: str = "shared"
    date: str | None = None
    """The day that counts as today, YYYY-MM-DD; None for the current one."""
    writes: bool = False
    """Whether tools that write are offered."""

    def request(self, agent: str = "", team: str = "", topic: str = "", budget: str | int = "") -> RequestOptions:
        """The options of a request; the names of the server win, and an empty text is as good as none."""
        return {
            "agent": self.agent or agent or None,
            "team": self.team if self.team is not None else team or None,
            "topic": topic or None,
            "budget": budget or None,
            "profile": self.profile,
            "audience": self.audience,
            "date": self.date,
            "workspace": self.workspace,
        }

    @property
    def pinned(self) -> set[str]:
        """Parameters that clients do not have, since the server has them."""
        return {name for name in ("agent", "team") if getattr(self, name) is not None}

    @property
    def pinned_owners(self) -> set[str]:
        """Parameters that clients do not have if they write: a server that names an owner writes for that one."""
        return {"agent", "team"} if self.agent or self.team else self.pinned

    def owner(self, agent: str, team: str) -> tuple[str | None, str | None]:
        """Agent and team to write for, as `api` takes them; the agent if the server names both."""
        if self.agent:
            return self.agent, None
        if self.team:
            return None, self.team
        return agent or None, team or None


class Explanation(TypedDict):
    """Decisions on the fragments of a context."""

    receipt: str
    decisions: list[dict[str, object]]
    left_out: int
    """Number of further decisions, which this answer does not hold."""
    problems: list[str]


class Hit(TypedDict):
    """A memory that matches."""

    id: str
    path: str
    line: int
    type: str
    text: str
    score: float
    parts: dict[str, float]


class Hits(TypedDict):
    """Memories that match, best first."""

    hits: list[Hit]
    searched: int
    problems: list[str]


class Remembered(TypedDict):
    """The memory that was stored, or the one that says the same."""

    outcome: str
    """`stored` or `reinforced`."""
    id: str
    path: str
    line: int
    problems: list[str]


class Logged(TypedDict):
    """The log that holds the entry, and the problems of its text."""

    path: str
    problems: list[str]


FIXED_NAMES = ("agent", "team", "profile", "audience", "workspace")
"""Names that clients may try to give, and that the command line of the server can fix."""


def refuse_arguments(given: Collection[str], known: Collection[str], where: str) -> None:
    """Raise `ContextasmError` for the first argument that a tool or prompt does not take; `where` is its name."""
    for name in given:
        if name in FIXED_NAMES and name not in known:
            what = "the command line of this server fixes it"
            raise ContextasmError(f"{where}: {name}", what, "leave the argument out")
        if name not in known:
            require_known(shown_name(name), known, where, "argument")


def refuse_unnamed(name: str, known: Collection[str], kind: str) -> None:
    """Raise `ContextasmError` for a tool or a prompt that the server does not have; `kind` says which of both."""
    require_known(shown_name(name), known, "ctxasm mcp", kind)


def refusal_line(error: BaseException, schema: Mapping[str, Any] | None = None, where: str = "") -> str:
    """The line for a client of an error that a handler raised, or of the cause of an error of the SDK.

    `schema` has the properties of the arguments, for arguments of a wrong type, and `where` is the name of the tool.
    """
    cause: BaseException = error
    while cause.__cause__ is not None and not isinstance(cause, ContextasmError | ValidationError):
        cause = cause.__cause__
    if isinstance(cause, ValidationError):
        cause = _misfit(cause, (schema or {}).get("properties", {}), where)
    return one_line(message_line(in_words_of_clients(failure_words(cause))))


def problem_words(problems: Iterable[Problem], *, lacks_private: bool = False) -> list[str]:
    """The line of each problem, for a client, and a line if private parts are left out."""
    return [*(in_words_of_clients(problem_line(problem)) for problem in problems), *[PRIVATE_WORDS][:lacks_private]]


PRIVATE_WORDS = (
    "private parts are left out, because the audience of this server is shared:"
    " start it with `ctxasm mcp --audience personal` to include them"
)
"""The line of an answer that lacks something private."""


def in_words_of_clients(line: str) -> str:
    """A message whose hints name options and commands, with the arguments and tools that a client has instead.

    What only the command line of the server can change, the message says so. Commands for a person stay.
    """
    for typed, words in _CLIENT_WORDS.items():
        line = line.replace(typed, words)
    parts = line.split("`")
    parts[::2] = [_OPTION.sub(r"\1", part) for part in parts[::2]]
    return "`".join(parts)


_CLIENT_WORDS: Mapping[str, str] = {
    "with -a NAME": "in the argument agent",
    "with -t NAME": "in the argument team",
    " or -t NAME": " or the argument team",
    "with --audience personal": "with --audience personal on the command line of this server",
    "with -w DIR": "with -w DIR on the command line of this server",
    ", or use --all": "",
    "with -p": "with -p on the command line of this server",
    "name another file with --file, or leave it out": "have the file corrected",
    ", or name another file with --file": "",
    "`ctxasm search` shows": "search_memories shows",
    "`ctxasm explain` lists": "explain_context lists",
    "`ctxasm build --topic WORDS` shows": "build_context with a topic shows",
}
"""Parts of hints for the command line, and what they are for a client of the server."""

_OPTION = re.compile(r"(?<!\S)--(agent|team|topic|budget|supersedes)\b")
"""Options whose names are also names of arguments."""


def _misfit(error: ValidationError, properties: Mapping[str, Any], where: str) -> ContextasmError:
    """The first value that does not fit its schema."""
    first = error.errors()[0]
    name = str(first["loc"][0]) if first["loc"] else "arguments"
    expected = _expected(properties.get(name, {}))
    if first["type"] == "missing":
        return ContextasmError(f"{where}: {name}", "is missing", f"give {expected}")
    return ContextasmError(f"{where}: {name}", _described(first["input"]), f"give {expected}")


def _described(value: object) -> str:
    """A value that does not fit, or its length if that is what does not fit."""
    if isinstance(value, str | list) and len(value) > LONGEST_WORD:
        return f"has {len(value):,} {'characters' if isinstance(value, str) else 'values'}"
    return f"{describe_value(value)} can't be used here"


def _expected(schema: Mapping[str, Any]) -> str:
    """The values that a schema of an argument takes, in words."""
    if "anyOf" in schema:
        return " or ".join(map(_expected, schema["anyOf"]))
    kind = _KINDS.get(schema.get("type", ""), "another value")
    if "maximum" in schema:
        return f"{kind} from {schema['minimum']} to {schema['maximum']}"
    if "maxLength" in schema:
        least = f"{schema['minLength']} to " if "minLength" in schema else "at most "
        return f"{kind} of {least}{schema['maxLength']:,} characters"
    return f"{kind}, {schema['maxItems']} at most" if "maxItems" in schema else kind


_KINDS = {"string": "a text", "integer": "a whole number", "number": "a number", "array": "a list of texts"}
