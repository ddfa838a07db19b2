"""Statistics of a workspace: sizes, growth, the largest contributors, and memories that say the same.

Computed from documents and the day, so that equal workspaces give equal figures. Nothing is read or drawn here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date, timedelta
from functools import cached_property
from typing import Literal, TypedDict, TypeVar

from contextasm.config.input.values import load_table
from contextasm.model import Context, Document, LayerUsage, Memory, NamedTuple, Problem, TokenCounter, grouped
from contextasm.records.uses import RecordedUses
from contextasm.rendering.json_codec import Count, Day, Positive, Share
from contextasm.retrieval.pool import validity_code
from contextasm.retrieval.search.inverted_index import SPEAKER_MARK, leading_name
from contextasm.text.memories.parser import ACTIVE_STATUSES, distinct_memories, parse_memories, superseded_by
from contextasm.text.names.dates import day_of_name, parse_date
from contextasm.text.names.glob import glob_matches
from contextasm.text.names.places import MEMORY_FILES
from contextasm.text.similarity import SAME
from contextasm.upkeep.memories.merging import similar_pairs

PROJECT = "project"
"""Owner of the files that belong to neither an agent nor a team."""


class OwnerSize(NamedTuple):
    """The files and memories of one agent, one team or the project, counted."""

    owner: str
    """Folder of the owner, such as `agents/luna`, or `PROJECT`."""
    files: int
    bytes: int
    """Bytes of the files on the disk."""
    tokens: int
    """Tokens of the files, without front matter and managed blocks."""
    logs: int
    memories: int
    active_memories: int
    """Memories that a build may show: of an active status, not superseded, and inside their days."""
    unshown_memories: int | None
    """The active ones that a recorded build could have shown, and none did; null if no record tells."""
    memory_tokens: int
    """Tokens of the texts of all its memories."""


class Week(NamedTuple):
    """The logs and memories that one week added."""

    monday: date
    logs: int
    log_tokens: int
    memories: int
    memory_tokens: int

    @property
    def tokens(self) -> int:
        """Tokens of logs and memories together."""
        return self.log_tokens + self.memory_tokens


class Growth(NamedTuple):
    """Logs and memories added in the last weeks, by the dates in names of logs and in memories."""

    weeks: tuple[Week, ...]
    """Every week up to that of the day, the oldest first; an empty one has zeros."""
    earlier: int
    """Logs and memories that are older."""
    later: int
    """Logs and memories of a later day."""
    undated: int
    """Memories without a date."""


class Contributor(NamedTuple):
    """A file, an author or a type, with what it contributes."""

    name: str
    memories: int
    tokens: int


_Sized = TypeVar("_Sized", OwnerSize, Contributor)

Duplicate = tuple[Memory, Memory, float, int]
"""A memory, an earlier one that says the same, their similarity from 0.92 to 1, and the tokens of the first one."""


class WorkspaceStats:
    """The statistics of files: of contributors and owners, the largest first, by tokens."""

    def __init__(
        self,
        documents: Iterable[Document],
        counter: TokenCounter,
        today: date,
        uses: RecordedUses,
        remembered: str = "",
    ) -> None:
        """Count the tokens of the files and of the memories in them.

        `uses` tell which memories were shown. `remembered` is the file that memories are added to, outside of the
        folders of memories.
        """
        self._today = today
        self.uses = uses
        self._documents = {document.path: document for document in documents}
        self._tokens = {path: counter.count(document.text) for path, document in self._documents.items()}
        self._memories = {
            path: [(memory, counter.count(memory.text)) for memory in parse_memories(document)[0]]
            for path, document in self._documents.items()
            if path == remembered or any(glob_matches(pattern, path) for pattern in MEMORY_FILES)
        }
        """The memories of each file of memories, with the tokens of their texts."""
        self._paths = grouped((_owner(path), path) for path in self._documents)
        """The files of each owner."""

    @property
    def owners(self) -> Sequence[OwnerSize]:
        """The sizes of all owners that have files."""
        return _largest(
            OwnerSize(
                owner,
                files=len(paths),
                bytes=sum(self._documents[path].size for path in paths),
                tokens=sum(self._tokens[path] for path in paths),
                logs=sum(self._log_day(path) is not None for path in paths),
                memories=len(self._memories_in(paths)),
                active_memories=len(self._active[owner]),
                unshown_memories=self._unshown(owner),
                memory_tokens=sum(tokens for _, tokens in self._memories_in(paths)),
            )
            for owner, paths in self._paths.items()
        )

    @property
    def files(self) -> Sequence[Contributor]:
        """All files."""
        return _largest(
            Contributor(path, len(self._memories_in([path])), tokens) for path, tokens in self._tokens.items()
        )

    @property
    def authors(self) -> Sequence[Contributor]:
        """Names that memories begin with and a colon follows."""
        memories = self._memories_in(self._memories)
        return _contributors((author, tokens) for memory, tokens in memories if (author := _author(memory)))

    @property
    def types(self) -> Sequence[Contributor]:
        """Types of memories."""
        return _contributors((memory.type, tokens) for memory, tokens in self._memories_in(self._memories))

    @cached_property
    def duplicates(self) -> Sequence[Duplicate]:
        """Active memories that `remember` would have merged into an earlier one, each once, the largest first."""
        found = (duplicate for active in self._active.values() for duplicate in _duplicates(active))
        return sorted(found, key=lambda duplicate: (-duplicate[3], duplicate[0].path, duplicate[0].line))

    def growth(self, weeks: int) -> Growth:
        """The growth of a number of weeks, at least 1, up to that of today."""
        last = _monday(self._today)
        weeks = min(weeks, (last.toordinal() - 1) // 7 + 1)  # the first day of the calendar
        first = last - timedelta(weeks=weeks - 1)
        sizes: Mapping[date, tuple[list[int], list[int]]] = {
            first + timedelta(weeks=number): ([], []) for number in range(weeks)
        }
        others: list[date | None] = []
        for day, tokens, is_memory in self._dated():
            if day and first <= day <= self._today:
                sizes[_monday(day)][is_memory].append(tokens)
            else:
                others.append(day)
        made = tuple(Week(day, len(logs), sum(logs), len(own), sum(own)) for day, (logs, own) in sizes.items())
        earlier = sum(day is not None and day < first for day in others)
        undated = others.count(None)
        return Growth(made, earlier, len(others) - earlier - undated, undated)

    def _dated(self) -> Iterator[tuple[date | None, int, bool]]:
        """The day and the tokens of each log and each memory, and whether it is a memory."""
        yield from ((day, tokens, False) for path, tokens in self._tokens.items() if (day := self._log_day(path)))
        memories = self._memories_in(self._memories)
        yield from ((parse_date(memory.created), tokens, True) for memory, tokens in memories)

    def _log_day(self, path: str) -> date | None:
        """The day in the name of a log; None for any other file."""
        return None if path in self._memories else day_of_name(path)

    def _memories_in(self, paths: Iterable[str]) -> Sequence[tuple[Memory, int]]:
        return [pair for path in paths for pair in self._memories.get(path, ())]

    @cached_property
    def _active(self) -> Mapping[str, Sequence[tuple[Memory, int]]]:
        """The memories of each owner that a build may show, under the ids that builds give them, with their tokens."""
        active, today = {}, str(self._today)
        for owner, paths in self._paths.items():
            pairs = self._memories_in(paths)
            memories = distinct_memories(memory for memory, _ in pairs)[0]
            superseded = superseded_by(memories)
            active[owner] = [
                (memory, tokens)
                for memory, (_, tokens) in zip(memories, pairs, strict=True)
                if memory.status in ACTIVE_STATUSES and memory.id not in superseded
                if memory.created <= today and not validity_code(memory, today)
            ]
        return active

    def _unshown(self, owner: str) -> int | None:
        """The number of active memories of an owner that could be shown and were not; None if no record tells."""
        days = [(memory, parse_date(memory.created) or date.min) for memory, _ in self._active[owner]]
        times = [use.times for memory, day in days if (use := self.uses.of(memory.path, day, memory.id)).builds]
        return times.count(0) if times else None


def _owner(path: str) -> str:
    parts = path.split("/")
    return "/".join(parts[:2]) if parts[0] in {"agents", "teams"} and len(parts) > 2 else PROJECT


def _monday(day: date) -> date:
    return day - timedelta(days=min(day.weekday(), day.toordinal() - 1))


def _duplicates(memories: Sequence[tuple[Memory, int]]) -> Iterator[Duplicate]:
    """Each memory that says the same as an earlier one, once, with the most similar of these."""
    texts = [memory.text for memory, _ in memories]
    best: dict[int, tuple[float, int]] = {}
    for earlier, later, share in similar_pairs(texts):
        if share >= SAME:
            best[later] = max(best.get(later, (0.0, 0)), (share, -earlier))
    for later, (share, earlier) in best.items():
        memory, tokens = memories[later]
        yield memory, memories[-earlier][0], share, tokens


def _contributors(shares: Iterable[tuple[str, int]]) -> Sequence[Contributor]:
    sizes = grouped((name, size) for name, size in shares)
    return _largest(Contributor(name, len(own), sum(own)) for name, own in sizes.items())


def _largest(contributors: Iterable[_Sized]) -> Sequence[_Sized]:
    return sorted(contributors, key=lambda each: (-each.tokens, each[0]))


def _author(memory: Memory) -> str:
    """The name that a text begins with, if a colon follows it; empty for none."""
    name = leading_name(memory.text)
    author = name.removesuffix(SPEAKER_MARK)
    return author if author != name and author not in load_table(_LABELS) else ""


_LABELS = __file__.replace("stats.py", "labels.json")
"""Words before a colon that name a time or a kind of statement, and nobody who says it."""


class FileData(TypedDict):
    """One file."""

    path: str
    """Relative to the workspace."""
    memories: Count
    """Memories in the file."""
    tokens: Count
    """Tokens of the file."""


class MemoryPlace(TypedDict):
    """One memory."""

    id: str
    """Its id."""
    path: str
    """Its file, relative to the workspace."""
    line: Positive
    """Its line, counted from 1."""


class DuplicateData(TypedDict):
    """A memory that says the same as an earlier one of its owner."""

    memory: MemoryPlace
    """The later memory."""
    same_as: MemoryPlace
    """The earlier memory."""
    similarity: Share
    """Share of letters that the two have in common."""
    tokens: Count
    """Tokens of the later memory."""


class DuplicatesData(TypedDict):
    """Memories that `remember` would have merged."""

    memories: Count
    """Active memories that say the same as an earlier one of their owner."""
    tokens: Count
    """Tokens of these memories."""
    largest: list[DuplicateData]
    """The largest of these memories."""


class BuildData(TypedDict):
    """The layers of a build."""

    agent: str
    """The agent; empty for none."""
    team: str
    """The team; empty for none."""
    profile: str
    """The profile."""
    budget: Count
    """Tokens that a build may use."""
    tokens: Count
    """Tokens of the document."""
    layers: list[LayerUsage]
    """The layers in their order."""


class StatsDocument(TypedDict):
    """The sizes of a workspace and its growth, as `ctxasm stats --json` prints them."""

    schema: Literal["ctxasm.stats/1"]
    date: Day
    """The day that counts as today."""
    tokenizer: str
    """The tokenizer of all figures in tokens."""
    owners: list[OwnerSize]
    """The agents, teams and the project, the largest first."""
    growth: Growth
    """What each week added, by the dates in names of logs and in memories."""
    files: list[FileData]
    """The largest files."""
    authors: list[Contributor]
    """The names that memories begin with and a colon follows, the largest first."""
    types: list[Contributor]
    """The types of memories, the largest first."""
    duplicates: DuplicatesData
    """Memories that `remember` would have merged."""
    context: BuildData | None
    """The layers of a build, which is our part of a start; null if several agents could be meant."""
    hosts: dict[str, Count]
    """For each host in use, the tokens of the files that it loads by itself at a start."""
    records: list[Day]
    """The days of the recorded builds that say which memories were shown, in ascending order."""
    problems: list[Problem]
    """The files that can't be read."""


def stats_data(
    stats: WorkspaceStats, growth: Growth, context: Context | None, problems: Sequence[Problem], top: int
) -> dict[str, object]:
    """The statistics with the layers of a context, None for none; of each list of contributors, `top` at most."""
    return {
        "owners": stats.owners,
        "growth": growth,
        "files": [each._asdict() | {"path": each.name} for each in stats.files[:top]],
        "authors": stats.authors[:top],
        "types": stats.types[:top],
        "duplicates": {
            "memories": len(stats.duplicates),
            "tokens": sum(tokens for *_, tokens in stats.duplicates),
            "largest": [
                {"memory": memory, "same_as": same, "similarity": round(share, 4), "tokens": tokens}
                for memory, same, share, tokens in stats.duplicates[:top]
            ],
        },
        "context": context and context.request._asdict() | context._asdict() | {"layers": context.allowances},
        "records": [*map(str, stats.uses.days_of_builds())],
        "problems": problems,
    }
