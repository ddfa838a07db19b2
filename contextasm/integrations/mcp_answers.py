"""The answers of the MCP server's tools, and the workspace that it serves."""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import accumulate
from typing import Any

from mcp.types import ErrorData, JSONRPCError
from pydantic import ValidationError

from contextasm.api import RequestOptions
from contextasm.config.input.values import describe_value, require_known
from contextasm.model import ContextasmError, NamedTuple, Problem, failure_words
from contextasm.rendering.wording import problem_line
from contextasm.text.cleaning.clean import LONGEST_WORD, message_line, shown_name
from contextasm.text.json_reader import load_json
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
    drafts: bool = False
    """Whether memories that are stored wait for approval."""

    def request(
        self, agent: str = "", team: str = "", topic: str = "", budget: str | int = "", date: str = ""
    ) -> RequestOptions:
        """The options of a request; the names of the server win, and an empty text is as good as none."""
        return {
            "agent": self.agent or agent or None,
            "team": self.team if self.team is not None else team or None,
            "topic": topic or None,
            "budget": budget or None,
            "profile": self.profile,
            "audience": self.audience,
            "date": self.date or date or None,
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

    def owner(self, agent: str, team: str) -> dict[str, str | None]:
        """Owner, workspace and day of a write, as `api` takes them; the agent if the server names both."""
        named = (self.agent, None) if self.agent else (None, self.team) if self.team else (agent or None, team or None)
        return {"agent": named[0], "team": named[1], "workspace": self.workspace, "date": self.date}


LEAST_BYTES = 13_000
"""Bytes of JSON that any host takes whole (OpenClaw with a small window), without the receipt and its problems."""

MOST_WORDS = 1000
"""Bytes of JSON that problems may have."""


def json_bytes(text: str) -> int:
    """Bytes that a text takes in JSON."""
    return len(json.dumps(text, ensure_ascii=False).encode()) - 2


def fitting(items: Sequence[Any], most: int) -> Sequence[Any]:
    """As many of the first items as `most` bytes hold, where the JSON of each is a text in JSON."""
    sizes = accumulate(json_bytes(json.dumps(each, ensure_ascii=False)) for each in items)
    return items[: bisect_right([*sizes], most)]


FIXED_NAMES = ("agent", "team", "profile", "audience", "date", "workspace")
"""Names that clients may try to give, and that the command line of the server can fix."""


def refuse_arguments(given: Collection[str], known: Collection[str], where: str) -> None:
    """Raise `ContextasmError` for the first argument that a tool or prompt does not take; `where` is its name."""
    for name in given:
        if name in FIXED_NAMES and name not in known:
            what = "the command line of this server sets it"
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


def refused_message(error: Exception) -> JSONRPCError | None:
    """The answer to a line of a client that is not a message, with its id if that is known; None for a blank line."""
    if not isinstance(error, ValidationError) or not str(error.errors()[0]["input"]).strip():
        return None
    inputs = [each["input"] for each in error.errors()]
    ids = [each.get("id") for each in inputs if isinstance(each, dict)][:1]
    code, what = -32600, "is not a message of JSON-RPC 2.0"
    if error.errors()[0]["type"] == "json_invalid":
        code, what = -32700, "is not JSON that can be read"
        ids = [load_json(each, "id") for each in _ID.findall(inputs[0])]
    known = ids[0] if len(ids) == 1 and type(ids[0]) in {int, str} else None
    line = f"request: {what}: send one JSON object per line"
    return JSONRPCError(jsonrpc="2.0", id=known, error=ErrorData(code=code, message=line))


_ID = re.compile(r'"id"\s*:\s*(\d{1,15}|"[^"\\]{1,99}")(?=\s*[,}])')
"""The id of a request in JSON that can't be parsed."""


def short_schema(schema: Mapping[str, Any]) -> dict[str, Any]:
    """The schema of arguments as clients read it: without titles, defaults and limits, which refusals name."""
    named = {name: _short_schema(each) for name, each in schema["properties"].items()}
    return {key: value for key, value in schema.items() if key != "title"} | {"properties": named}


def _short_schema(schema: Mapping[str, Any]) -> dict[str, Any]:
    kept = {key: schema[key] for key in ("type", "items", "description") if key in schema}
    return {"type": [each["type"] for each in schema["anyOf"]], **kept} if "anyOf" in schema else kept


def problem_words(problems: Iterable[Problem], *, lacks_private: bool = False) -> list[str]:
    """The lines of the first problems, for a client, and a line if private parts are left out."""
    lines = [*[PRIVATE_WORDS][:lacks_private], *(in_words_of_clients(problem_line(problem)) for problem in problems)]
    shown = fitting(lines, MOST_WORDS)
    return [*shown, *[f"{len(lines) - len(shown):,} more problems"][: len(lines) - len(shown)]]


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
    parts[::2] = [_OPTION.sub(lambda option: option[1].replace("-", "_"), part) for part in parts[::2]]
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

_OPTION = re.compile(
    r"(?<!\S)--(agent|team|topic|budget|date|top|type|importance|key|supersedes|valid-from|expires)\b(?!-)"
)
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
    return f"{kind} with at most {schema['maxItems']} items" if "maxItems" in schema else kind


_KINDS = {"string": "a text", "integer": "a whole number", "number": "a number", "array": "a list of texts"}
