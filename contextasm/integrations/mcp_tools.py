"""The tools of the MCP server, over the library's own functions.

A document goes out only as text: clients that get structured content with a text drop the text.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Sequence
from threading import Lock, Thread
from typing import Annotated, Any

from mcp.server.mcpserver.tools import Tool
from mcp.types import CallToolResult, TextContent, ToolAnnotations
from pydantic import Field, Strict

from contextasm import api
from contextasm.config.build import PreparedBuild
from contextasm.config.hosts.loader import Host
from contextasm.config.input.values import LONGEST_NAME
from contextasm.integrations import mcp_answers as answers
from contextasm.integrations.hook_parts import HostTexts, cut_text, load_host_texts, split_text, without_host_texts
from contextasm.model import Build, Context, ContextasmError, Memory
from contextasm.rendering.documents import decision_data, hit_data
from contextasm.rendering.wording import private_words, receipt
from contextasm.selection.tokens import CHARS_ESTIMATE, LENGTHS
from contextasm.text.cleaning.clean import shown_name
from contextasm.text.memories.writer import LONGEST_TEXT, LONGEST_VALUE, MOST_ITEMS
from contextasm.workspace.folder import is_below

READ_ONLY = ToolAnnotations(read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False)
LARGE = {"anthropic/maxResultSizeChars": 100_000, "anthropic/alwaysLoad": True}
"""Keys by which Claude Code shows a tool at once, and its answers whole."""

ADDS = ToolAnnotations(read_only_hint=False, destructive_hint=False, idempotent_hint=False, open_world_hint=False)


def _limited(most: int, description: str | None = None, least: int | None = None) -> Any:
    """The field of an argument that has so many characters, or values."""
    return Field(description=description, min_length=least, max_length=most)


Agent = Annotated[str, _limited(LONGEST_NAME)]
Team = Agent
Day = Agent
Topic = Annotated[str, _limited(LONGEST_TEXT, "Chooses memories and logs.")]
Budget = Annotated[str | Annotated[int, Strict()], Field(description="Most tokens, such as 8k.")]


class ServedTools:
    """The functions of tools, resources and the prompt. One runs at a time: they share caches and indexes."""

    def __init__(self, served: answers.ServedWorkspace) -> None:
        self.served = served
        self.host: Host | None = None
        """The host that is the client; None for an unknown one."""
        self._lock = Lock()

    def offered(self) -> Iterator[Tool]:
        """The tools for clients; the writing ones are among them if the server is to write."""
        functions: list[Callable[..., Any]] = [self.build_context, self.explain_context, self.search_memories]
        writing: list[Callable[..., Any]] = [self.remember, self.log] if self.served.writes else []
        for function in (*functions, *writing):
            hints = ADDS if function in writing else READ_ONLY
            meta = LARGE if function == self.build_context else None
            tool = Tool.from_function(function, annotations=hints, meta=meta, structured_output=False)
            pinned = self.served.pinned_owners if function in writing else self.served.pinned
            for name in {*pinned, *(["date"] if self.served.date else ())}:
                tool.parameters["properties"].pop(name, None)
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

    def build(self, agent: str = "", team: str = "", topic: str = "") -> Context:
        """The context of a resource or the prompt."""
        with self._lock:
            return api.build(**self.served.request(agent, team, topic))

    def _context(self, *, in_full: bool = False, **arguments: Any) -> Context:
        """The context for arguments of tools, without what the client's host loads by itself.

        If they have no budget, it has a size that the host does not cut.
        """
        request, host, most = self.served.request(**arguments), self.host, self._most_bytes

        def changed(prepared: PreparedBuild, build: Build) -> Build:
            if request["budget"] is None:
                units = most if build.request.tokenizer in LENGTHS else most // CHARS_ESTIMATE.units_per_token
                build = build._replace(request=build.request._replace(budget=min(build.request.budget, units)))
            if not any(texts := self._host_texts()):
                return build
            root, is_detected = prepared.workspace.root, bool(prepared.taken)
            return without_host_texts(build, texts, prepared.run(build), root, only_named=is_detected)

        with self._lock:
            return api.changed_context(request, in_full=in_full, change=changed, about=(host and host.name, most))

    @property
    def _most_bytes(self) -> int:
        """Bytes of JSON that an answer may have for the document or the data in it."""
        return self.host.mcp.bytes if self.host and self.host.mcp else answers.LEAST_BYTES

    def _host_texts(self) -> HostTexts:
        """The files that the client's host loads: its session began in the current folder, else in the workspace."""
        folders = (os.getcwd(), self.served.workspace) if self.host else ()
        texts = (load_host_texts([self.host], folder) for folder in folders if self.host)
        return next((each for each in texts if any(each)), (frozenset(), frozenset(), frozenset(), {}))

    def _loaded_words(self) -> Sequence[str]:
        """The line that names what the client's host loads of the workspace, if it loads any."""
        root, paths = os.path.realpath(self.served.workspace), self._host_texts()[0]
        names = ", ".join(sorted(os.path.relpath(path, root) for path in paths if is_below(path, root)))
        line = f"not repeated, because {self.host and self.host.summary} loads these files: {names}"
        return [cut_text(line, answers.MOST_WORDS, answers.json_bytes)] if names else []

    def build_context(
        self,
        agent: Agent = "",
        team: Team = "",
        topic: Topic = "",
        budget: Budget = "",
        date: Annotated[str, _limited(LONGEST_NAME, "Today, YYYY-MM-DD.")] = "",
        part: Annotated[int, Field(description="If the receipt names several.", ge=1)] = 1,
    ) -> CallToolResult:
        """The document that an agent starts from: identity, instructions, goals, logs, memories; then a receipt."""
        context = self._context(agent=agent, team=team, topic=topic, budget=budget, date=date)
        pieces = split_text(context.text, self._most_bytes, answers.json_bytes) or [""]
        if part > len(pieces):
            raise ContextasmError("part", f"part {part:,} does not exist", f"give a number from 1 to {len(pieces)}")
        lead = [f"part {part} of {len(pieces)}; for another part, call again with `part`"] if pieces[1:] else []
        figures = {"tokens": context.tokens, "etag": context.etag, "truncated": context.truncated}
        told = "\n".join([*lead, *self._loaded_words(), *_problems_of(context), receipt(context)])
        return CallToolResult(
            content=[TextContent(type="text", text=text) for text in (pieces[part - 1], told)],
            _meta={"ctxasm": {**figures, "parts": len(pieces)}},
        )

    def explain_context(
        self,
        agent: Agent = "",
        team: Team = "",
        topic: Annotated[str, _limited(LONGEST_TEXT)] = "",
        budget: Budget = "",
        date: Day = "",
        place: Annotated[str, _limited(LONGEST_TEXT, "Only this file, FILE:LINE or id.")] = "",
    ) -> CallToolResult:
        """The fragments that a context shows or leaves out, and why."""
        context = self._context(in_full=True, agent=agent, team=team, topic=topic, budget=budget, date=date)
        decisions = [decision_data(each) for each in context.decisions if _is_at(place, each)]
        if place and not decisions:
            hint = "call explain_context without `place`"
            raise ContextasmError("place", f"no fragment of the context is at {shown_name(place)}", hint)
        told = answers.fitting(decisions, self._most_bytes)
        rest = {"left_out": len(decisions) - len(told), "problems": _problems_of(context)}
        return _data_result({"receipt": receipt(context), "decisions": told, **rest})

    def search_memories(
        self,
        query: Annotated[str, _limited(LONGEST_TEXT, least=1)],
        agent: Agent = "",
        team: Team = "",
        date: Day = "",
        top: Annotated[int, Field(description="Most hits.", ge=1, le=50)] = 5,
    ) -> CallToolResult:
        """The memories that match a query best."""
        with self._lock:
            result = api.search(query, top=top, **self.served.request(agent, team, date=date))
        by = ({"writer": memory.writer} if memory.writer else {} for memory, _ in result.hits)
        found = [hit_data(*hit) | writer for hit, writer in zip(result.hits, by, strict=True)]
        most = self._most_bytes
        shown = [each | {"text": cut_text(str(each["text"]), most // 2, answers.json_bytes)} for each in found]
        hits = answers.fitting(shown, most)
        problems = answers.problem_words(result.problems, lacks_private=result.lacks_private)
        rest = {"left_out": len(found) - len(hits), "searched": result.searched, "problems": problems}
        return _data_result({"hits": hits, **rest})

    def remember(
        self,
        text: Annotated[str, _limited(LONGEST_TEXT, "One statement.", 1)],
        type: Annotated[str, Field(description="note, fact, decision ...")] = "note",  # noqa: A002
        importance: Annotated[str | float, Field(description="0 to 1, or low, medium, high, critical.")] = "",
        tags: Annotated[Sequence[str], _limited(MOST_ITEMS, "Words to find it by.")] = (),
        key: Annotated[str, _limited(LONGEST_VALUE, "Subject.")] = "",
        supersedes: Annotated[Sequence[str], _limited(MOST_ITEMS, "Ids that it replaces.")] = (),
        valid_from: Day = "",
        expires: Annotated[str, _limited(LONGEST_NAME, "Last day, YYYY-MM-DD.")] = "",
        agent: Agent = "",
        team: Team = "",
    ) -> CallToolResult:
        """Store a memory, or reinforce the one that says the same."""
        fields: dict[str, Any] = {"type": type, "tags": tags, "key": key, "supersedes": supersedes}
        fields |= {"valid_from": valid_from, "expires": expires}
        by: dict[str, Any] = {"writer": "mcp", "audience": self.served.audience, **self.served.owner(agent, team)}
        by["draft"] = self.served.drafts
        with self._lock:
            outcome = api.remember(text, importance=None if importance == "" else importance, **fields, **by)
        memory, problems = outcome.memory, answers.problem_words(outcome.problems)
        place: dict[str, Any] = {"path": memory.path, "line": memory.line, "problems": problems}
        if self.served.drafts:
            place["waits"] = f"until a person approves it: `ctxasm memory approve {memory.id}`"
        return _data_result({"outcome": outcome.what, "id": memory.id, **place})

    def log(
        self,
        text: Annotated[str, _limited(LONGEST_TEXT, "Markdown.", 1)],
        agent: Agent = "",
        team: Team = "",
    ) -> CallToolResult:
        """Append an entry to the log of the day."""
        with self._lock:
            outcome = api.log(text, **self.served.owner(agent, team))
        return _data_result({"path": outcome.path, "problems": answers.problem_words(outcome.problems)})


def _data_result(data: dict[str, Any]) -> CallToolResult:
    """A result with data as JSON; only as a text, because a host counts structured content as well."""
    return CallToolResult(content=[TextContent(type="text", text=json.dumps(data, ensure_ascii=False))])


def _problems_of(context: Context) -> list[str]:
    return answers.problem_words(context.problems, lacks_private=bool(private_words(context)))


def _is_at(place: str, decision: Any) -> bool:
    path, _, number = place.rpartition(":")
    first, last = decision.lines
    is_line = number.isdecimal() and decision.path == path and first <= int(number[:20]) <= last
    return not place or place in {decision.fragment, decision.path} or is_line
