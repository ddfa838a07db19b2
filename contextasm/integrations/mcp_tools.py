"""The tools of the MCP server, over the library's own functions.

A document goes out only as text: clients that get structured content with a text drop the text.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Iterator, Sequence
from functools import wraps
from threading import Lock, Thread
from typing import Annotated, Any, cast

from mcp.server.mcpserver.tools import Tool
from mcp.types import CallToolResult, TextContent, ToolAnnotations
from pydantic import Field, Strict

from contextasm import api
from contextasm.config.input.values import LONGEST_NAME
from contextasm.integrations import mcp_answers as answers
from contextasm.model import Context, ContextasmError, Memory
from contextasm.rendering.documents import decision_data, hit_data
from contextasm.rendering.wording import private_words, receipt
from contextasm.text.cleaning.clean import shown_name
from contextasm.text.memories.writer import LONGEST_TEXT, LONGEST_VALUE, MOST_ITEMS

MOST_DECISIONS = 200
"""Decisions in one answer; the others are counted."""

MOST_HITS = 50
"""Hits in one answer."""

READ_ONLY = ToolAnnotations(read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False)
ADDS = ToolAnnotations(read_only_hint=False, destructive_hint=False, idempotent_hint=False, open_world_hint=False)


def _limited(description: str, most: int) -> Any:
    """The field of an argument that has at most so many characters, or values."""
    return Field(description=description, max_length=most)


Agent = Annotated[str, _limited("Name of the agent; empty for that of the settings, or the only one.", LONGEST_NAME)]
Team = Annotated[str, _limited("Name of the team; empty for that of the settings.", LONGEST_NAME)]
Topic = Annotated[str, _limited("What the conversation is about; memories and logs are chosen by it.", LONGEST_TEXT)]
Budget = Annotated[
    str | Annotated[int, Strict()],
    Field(description="Most tokens of the document, such as 4000 or 8k; empty: the profile's."),
]


class ServedTools:
    """The functions of tools, resources and the prompt. One runs at a time: they share caches and indexes."""

    def __init__(self, served: answers.ServedWorkspace) -> None:
        self.served = served
        self._lock = Lock()

    def offered(self) -> Iterator[Tool]:
        """The tools for clients; the writing ones are among them if the server is to write."""
        functions: list[Callable[..., Any]] = [self.build_context, self.explain_context, self.search_memories]
        writing: list[Callable[..., Any]] = [self.remember, self.log] if self.served.writes else []
        for function in (*functions, *writing):
            has_data = function != self.build_context
            hints = ADDS if function in writing else READ_ONLY
            offer = without(function, self.served.pinned_owners if function in writing else self.served.pinned)
            words = inspect.getdoc(function)
            tool = Tool.from_function(offer, description=words, annotations=hints, structured_output=has_data)
            tool.parameters["additionalProperties"] = False
            yield tool

    def end_process(self, code: int) -> None:
        """End the process with an exit code: now, or as soon as the tool that is at work has done its work.

        An exception would not end it. The reader of the SDK waits for a line in a thread that nothing can stop.
        """

        def end() -> None:
            with self._lock:
                os._exit(code)

        Thread(target=end, daemon=True).start()

    def find_memory(self, name: str) -> Memory:
        """The memory of an id, among the ones that a client may read."""
        with self._lock:
            return api.find_memory(name, everywhere=not self.served.pinned, **self.served.request())

    def build(self, agent: str = "", team: str = "", topic: str = "", budget: str | int = "") -> Context:
        """The context of a request."""
        with self._lock:
            return api.build(**self.served.request(agent, team, topic, budget))

    def build_context(
        self, agent: Agent = "", team: Team = "", topic: Topic = "", budget: Budget = ""
    ) -> CallToolResult:
        """The document that an agent starts from: identity, instructions, goals, recent logs, memories, under a budget.

        The second text is the receipt: tokens by layer, and how many fragments are shortened or left out.
        """
        context = self.build(agent, team, topic, budget)
        figures = {"tokens": context.tokens, "etag": context.etag, "truncated": context.truncated}
        problems = _problems_of(context)
        texts = [context.text, "\n".join([*problems, receipt(context)])]
        return CallToolResult(
            content=[TextContent(type="text", text=text) for text in texts],
            _meta={"ctxasm": {**figures, "problems": problems}},
        )

    def explain_context(
        self,
        agent: Agent = "",
        team: Team = "",
        topic: Topic = "",
        budget: Budget = "",
        place: Annotated[
            str, _limited("Only the fragments of this file, FILE:LINE, or id; empty for all of them.", LONGEST_TEXT)
        ] = "",
    ) -> answers.Explanation:
        """The fragments that a context shows and leaves out: a decision with its reason for each."""
        with self._lock:
            context = api.explain(**self.served.request(agent, team, topic, budget))
        decisions = [decision_data(each) for each in context.decisions if _is_at(place, each)]
        if place and not decisions:
            hint = "call explain_context without a place"
            raise ContextasmError("place", f"no fragment of the context is at {shown_name(place)}", hint)
        return answers.Explanation(
            receipt=receipt(context),
            decisions=decisions[:MOST_DECISIONS],
            left_out=max(0, len(decisions) - MOST_DECISIONS),
            problems=_problems_of(context),
        )

    def search_memories(
        self,
        query: Annotated[str, Field(description="What to look for, in words.", min_length=1, max_length=LONGEST_TEXT)],
        agent: Agent = "",
        team: Team = "",
        top: Annotated[int, Field(description="Most hits.", ge=1, le=MOST_HITS)] = 5,
    ) -> answers.Hits:
        """The memories that match a query best, with the parts of their scores."""
        with self._lock:
            result = api.search(query, top=top, **self.served.request(agent, team))
        hits = [cast("answers.Hit", hit_data(*hit)) for hit in result.hits]
        problems = answers.problem_words(result.problems, lacks_private=result.lacks_private)
        return answers.Hits(hits=hits, searched=result.searched, problems=problems)

    def remember(
        self,
        text: Annotated[str, Field(description="One statement, in a sentence.", min_length=1, max_length=LONGEST_TEXT)],
        type: Annotated[str, Field(description="Such as note, fact, decision, preference.")] = "note",  # noqa: A002
        importance: Annotated[
            str | float, Field(description="0 to 1, or low, medium, high, critical; empty for none.")
        ] = "",
        tags: Annotated[Sequence[str], _limited("Words to find it by.", MOST_ITEMS)] = (),
        key: Annotated[
            str, _limited("The subject; memories with the same key are of one subject.", LONGEST_VALUE)
        ] = "",
        supersedes: Annotated[Sequence[str], _limited("Ids of memories that it replaces.", MOST_ITEMS)] = (),
        agent: Agent = "",
        team: Annotated[str, _limited("Name of the team, to remember for the team instead.", LONGEST_NAME)] = "",
    ) -> answers.Remembered:
        """Store a memory, or reinforce the one that says the same."""
        agent_name, team_name = self.served.owner(agent, team)
        with self._lock:
            outcome = api.remember(
                text,
                type=type,
                importance=None if importance == "" else importance,
                tags=tags,
                key=key,
                supersedes=supersedes,
                writer="mcp",
                audience=self.served.audience,
                workspace=self.served.workspace,
                agent=agent_name,
                team=team_name,
                date=self.served.date,
            )
        memory, problems = outcome.memory, answers.problem_words(outcome.problems)
        return answers.Remembered(
            outcome=outcome.what, id=memory.id, path=memory.path, line=memory.line, problems=problems
        )

    def log(
        self,
        text: Annotated[str, Field(description="What happened, in Markdown.", min_length=1, max_length=LONGEST_TEXT)],
        agent: Agent = "",
        team: Annotated[str, _limited("Name of the team, to write into the team's log instead.", LONGEST_NAME)] = "",
    ) -> answers.Logged:
        """Append an entry to the log of the day."""
        agent_name, team_name = self.served.owner(agent, team)
        with self._lock:
            outcome = api.log(
                text, workspace=self.served.workspace, agent=agent_name, team=team_name, date=self.served.date
            )
        return answers.Logged(path=outcome.path, problems=answers.problem_words(outcome.problems))


def without(function: Callable[..., Any], names: set[str]) -> Callable[..., Any]:
    """The function without these parameters, which then have their defaults."""

    @wraps(function)
    def call(**arguments: Any) -> Any:
        return function(**arguments)

    signature = inspect.signature(function, eval_str=True)
    left = [parameter for parameter in signature.parameters.values() if parameter.name not in names]
    call.__signature__ = signature.replace(parameters=left)  # type: ignore[attr-defined]
    call.__annotations__ = {parameter.name: parameter.annotation for parameter in left}
    call.__annotations__["return"] = signature.return_annotation
    return call


def _problems_of(context: Context) -> list[str]:
    return answers.problem_words(context.problems, lacks_private=bool(private_words(context)))


def _is_at(place: str, decision: Any) -> bool:
    path, _, number = place.rpartition(":")
    first, last = decision.lines
    is_line = number.isdecimal() and decision.path == path and first <= int(number[:20]) <= last
    return not place or place in {decision.fragment, decision.path} or is_line
