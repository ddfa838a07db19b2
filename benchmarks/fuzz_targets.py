"""What `fuzz.py` runs: each reader of texts that others wrote, with the laws that hold for any bytes.

A target takes the bytes of a file. A `ContextasmError` is an answer; any other exception is a fault, a law that does
not hold included.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable, Iterator, Mapping
from datetime import date
from pathlib import Path
from typing import NamedTuple

from contextasm.checks.finding import split_accepted
from contextasm.config.input.options import Options, ProcessEnvironment
from contextasm.config.input.yaml_loader import load_config, load_yaml
from contextasm.config.profiles.loader import load_profile
from contextasm.config.resolve import prepare_build
from contextasm.config.rules.rule_files import parse_pattern, parse_rules
from contextasm.model import AS_WRITTEN, ContextasmError, Data, Document, Problem
from contextasm.pipeline import assemble
from contextasm.records.record import encode_record, parse_record
from contextasm.rules.evaluate import matches_pattern
from contextasm.text.cleaning.clean import clean_text, decode_document, parse_data
from contextasm.text.cleaning.hidden_characters import strip_hidden
from contextasm.text.cleaning.private_parts import withhold
from contextasm.text.cleaning.secrets.scanner import find_secrets, mask_secrets
from contextasm.text.data.events import event_text, parse_events, time_stamp
from contextasm.text.data.lock_file import format_lock, parse_lock
from contextasm.text.data.task_stack import list_tasks, parse_task_stack, task_line
from contextasm.text.json_reader import load_json
from contextasm.text.markdown.blocks import comments, without_comments
from contextasm.text.markdown.front_matter import attributes, broken_attributes, front_matter
from contextasm.text.markdown.managed_block import ManagedBlock, find_block, with_block, without_block
from contextasm.text.markdown.outline import nest
from contextasm.text.memories.parser import distinct_memories, parse_memories
from contextasm.text.names.dates import dated_name, leading_iso_day, moment, parse_date, parse_leading_date
from contextasm.text.names.glob import glob_matches, matching_paths, wildcard_matches
from contextasm.workspace.folder import Folder

PATHS = ("a.md", "agents/a/KNOWLEDGE.md", "agents/a/daily/2025-03-14.md", "x/y/z/a b.md", ".hidden/[a].md")
DAY = "2025-03-14"


class Law(Exception):  # noqa: N818 - it is the name of what is broken
    """A law that does not hold."""


def require(holds: object, law: str) -> None:
    """Raise `Law` where a law does not hold."""
    if not holds:
        raise Law(law)


def require_clean(text: str, where: str) -> None:
    """Raise `Law` for a text that is no UTF-8, or holds a control character."""
    require(not any("\ud800" <= letter <= "\udfff" for letter in text), f"{where}: half of a character")
    require(not any(letter < " " and letter not in "\n\t" for letter in text), f"{where}: a control character")
    require(not any("\x7f" <= letter <= "\x9f" for letter in text), f"{where}: a control character")


def words(data: bytes) -> str:
    """The bytes as text, whatever they are; some of it halves of characters."""
    return data.decode("utf-8", "surrogateescape")


def document(data: bytes, path: str = "agents/a/memories/m.md") -> Document:
    """The document in these bytes. Raises `ContextasmError` for bytes that are no text."""
    read = decode_document(path, data)
    if isinstance(read, Problem):
        raise ContextasmError(path, read.message, "")
    return read


def values(data: bytes, path: str) -> Data:
    """The values in these bytes. Raises `ContextasmError` where there are none."""
    read = parse_data(document(data, path), load_yaml)
    if isinstance(read, Problem):
        raise ContextasmError(path, read.message, "")
    return read


def texts(value: object) -> Iterator[str]:
    """All texts in a value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from texts(key)
            yield from texts(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from texts(item)


def run_yaml(data: bytes) -> None:
    """YAML: its values can be written as JSON in UTF-8."""
    json.dumps(load_yaml(data, "a.yaml"), ensure_ascii=False).encode()


def run_rules(data: bytes) -> None:
    """A rule file."""
    parse_rules(load_config(data, "rules/a.yaml"), "rules/a.yaml")


def run_profile(data: bytes) -> None:
    """A profile's file."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "p.yaml").write_bytes(data)
        load_profile("./p.yaml", "--profile", folder)


def run_json(data: bytes) -> None:
    """JSON: what is read can be written, and is read again."""
    value = load_json(words(data), "a.json")
    require(load_json(json.dumps(value), "a.json") == value, "json: read again")


def run_data(data: bytes) -> None:
    """YAML and JSON of a workspace: no value holds a control character."""
    for path in ("a.yaml", "a.json"):
        try:
            read = values(data, path)
        except ContextasmError:
            continue
        for text in texts(read.value):
            require_clean(text, "values")
        withhold(read.document, load_yaml)


def run_tasks(data: bytes) -> None:
    """A file of tasks."""
    stack = parse_task_stack(values(data, "tasks.yaml"), [])
    for task in (*stack.path(), *stack.siblings(), *(task for _, task in list_tasks(stack))):
        require_clean(task_line(task), "task")


def run_front_matter(data: bytes) -> None:
    """Front matter and attributes: no line is lost."""
    lines = words(data).split("\n")
    front = front_matter(lines)
    require(front.lines <= len(lines), "front matter: its lines")
    require(all(1 <= line <= front.lines for line in front.unread), "front matter: lines unread")
    for line in lines:
        text, _ = attributes(line)
        require(line.startswith(text), "attributes: the text before them")
        broken_attributes(line, ("id", "key"))


def run_memories(data: bytes) -> None:
    """A file of memories: ids are distinct, lines are of the file, texts are clean."""
    read = document(data)
    memories, problems = parse_memories(read)
    distinct, _ = distinct_memories(memories)
    require(len({memory.id for memory in distinct}) == len(memories), "memories: distinct ids")
    last = read.whole.count("\n") + 1
    require(all(1 <= memory.line <= last for memory in memories), "memories: lines")
    require(all(0 <= problem.line <= last for problem in problems), "memories: lines of problems")
    for memory in memories:
        require_clean(memory.text + memory.type + memory.id, "memory")
        require(0 <= memory.importance <= 1, "memories: importance")
        require(0 <= memory.confidence <= 1, "memories: confidence")


def run_events(data: bytes) -> None:
    """A session: every event has a text and a day."""
    events, problems = parse_events(document(data, "sessions/s.jsonl"))
    for event in events:
        require_clean(f"{event_text(event)}{time_stamp(event.time)}{event.day}{event.id}", "event")
    require(all(problem.line for problem in problems), "events: lines of problems")


def run_block(data: bytes) -> None:
    """A managed block: it holds what was written, what is around it stays, and to write it again changes nothing."""
    text = words(data)
    plain, _ = without_block(text)
    require(plain.count("\n") == text.count("\n"), "managed block: lines keep their numbers")
    new = with_block(text, "One.\n<!-- ctxasm:end -->\n", "a.md", force=True)
    block = find_block(new)
    require(isinstance(block, ManagedBlock) and block.ours and not block.edited, "managed block: ours")
    require(with_block(new, "One.\n<!-- ctxasm:end -->\n", "a.md") == new, "managed block: written twice")
    old = find_block(text)
    around = (text[: old.start], text[old.end :]) if isinstance(old, ManagedBlock) else (text, "")
    require(new.startswith(around[0]) and new.endswith(around[1]), "managed block: what is around it")


def run_hidden(data: bytes) -> None:
    """Hidden characters: none is left, and lines keep their numbers."""
    text = words(data)
    stripped, _ = strip_hidden(text)
    require(not [run for run in strip_hidden(stripped)[1] if run.kind != "blank"], "hidden: stripped twice")
    require(stripped.count("\n") == text.count("\n"), "hidden: lines keep their numbers")


def run_secrets(data: bytes) -> None:
    """Secrets: none is left, and lines keep their numbers; so after all cleaning."""
    text = words(data)
    masked = mask_secrets(text)
    require(mask_secrets(masked.text).text == masked.text, "secrets: masked twice")
    require(masked.text.count("\n") == text.count("\n"), "secrets: lines keep their numbers")
    require(list(find_secrets(text)) == list(masked.secrets), "secrets: the ones found")
    clean = clean_text(text).text
    require(clean_text(clean).text == clean, "cleaning: cleaned twice")


def run_outline(data: bytes) -> None:
    """Headings: to nest them again changes nothing."""
    text = document(data).text
    for only_above in (False, True):
        nested, removed = nest(text, 2, only_above)
        require(nest(nested, 2, only_above)[0] == nested, "outline: nested twice")
        lines = nested.count("\n") + len(removed)
        require(lines == text.count("\n") or not nested, "outline: lines removed")


def run_comments(data: bytes) -> None:
    """Comments: each lies in the text, and lines keep their numbers."""
    text = document(data).text
    found = [text[start:end] for start, end in comments(text)]
    require(all(each.startswith("<!--") and each.endswith("-->") for each in found), "comments: ends")
    require(without_comments(text)[0].count("\n") == text.count("\n"), "comments: lines keep their numbers")


def run_private(data: bytes) -> None:
    """Private parts: lines keep their numbers, other lines stay, and nothing private is left."""
    read = document(data)
    visible = withhold(read, load_yaml)
    require(visible.whole.count("\n") == read.whole.count("\n"), "private: lines keep their numbers")
    if visible.withheld == "rows":
        pairs = zip(read.text.split("\n"), visible.text.split("\n"), strict=True)
        require(all(after in {before, ""} for before, after in pairs), "private: other lines")
        again = withhold(visible._replace(data=visible.whole.encode()), load_yaml)
        require(again.text == visible.text, "private: withheld twice")


def run_glob(data: bytes) -> None:
    """Patterns of paths."""
    pattern = words(data)
    require(set(matching_paths(PATHS, pattern)) <= {*PATHS, *(f"{path}/" for path in PATHS)}, "glob: other paths")
    for path in PATHS:
        glob_matches(pattern, path)
        wildcard_matches(pattern, path)


def run_pattern(data: bytes) -> None:
    """A regular expression of a rule."""
    matches_pattern((words(data)[:200], "agents/a " * 9), (parse_pattern(words(data), "rule"),), seconds=0.1)


def run_dates(data: bytes) -> None:
    """Days and times in any text."""
    text = words(data)
    moment(text)
    leading_iso_day(text)
    dated_name(text)
    for day in (parse_date(text), parse_leading_date(text)):
        require(day is None or isinstance(day, date), "dates: a day")


def run_lock(data: bytes) -> None:
    """A lock: what is read, and written, is read again."""
    digests = parse_lock(data, "ctxasm.lock")
    require(parse_lock(format_lock(digests).encode(), "ctxasm.lock") == digests, "lock: read again")


def run_record(data: bytes) -> None:
    """A record: what is read, and written, is read again."""
    record = parse_record(data, "record")
    require(parse_record(encode_record(record)[1], "record") == record, "record: read again")


def run_baseline(data: bytes) -> None:
    """A baseline."""
    split_accepted(words(data), ())


class Workspace(NamedTuple):
    """A folder with one agent, in which a file is replaced again and again."""

    root: Path

    def read(self, data: bytes) -> None:
        """`Folder.read`: a text is UTF-8 without control characters."""
        (self.root / "any.md").write_bytes(data)
        read = Folder(self.root).read("any.md")
        require(isinstance(read, Document | Problem), "read: neither document nor problem")
        if isinstance(read, Document):
            require_clean(read.whole, "read")
            require(read.data == data, "read: the bytes")
            decode_document("any.md", data, AS_WRITTEN)

    def build(self, data: bytes) -> None:
        """A whole build, each of the files holding the bytes: within the budget, clean, the same when built again."""
        for name in ("KNOWLEDGE.md", f"daily/{DAY}.md", "memories/m.md"):
            (self.root / "agents/a" / name).write_bytes(data)
        environment = ProcessEnvironment({"HOME": str(self.root)}, str(self.root), lambda: 0.0)
        for budget in ("60", "4000"):
            prepared = prepare_build(Options(date=DAY, budget=budget), environment)
            context = assemble(prepared.build)
            require_clean(context.text, "build")
            require(context.tokens <= int(budget), "build: within the budget")
            require(context.tokens == prepared.build.counter.count(context.text), "build: counted anew")
            require(mask_secrets(context.text).text == context.text, "build: nothing left to mask")

    def settings(self, data: bytes) -> None:
        """A build whose settings are the bytes."""
        (self.root / "ctxasm.yaml").write_bytes(data)
        try:
            prepare_build(Options(date=DAY), ProcessEnvironment({"HOME": str(self.root)}, str(self.root), lambda: 0.0))
        finally:
            (self.root / "ctxasm.yaml").unlink()


def make_workspace() -> Workspace:
    """A workspace in a temporary folder, in memory where the system has one there."""
    root = Path(tempfile.mkdtemp(prefix="ctxasm-fuzz-", dir="/dev/shm" if os.path.isdir("/dev/shm") else None))  # noqa: S108
    for name in ("memories", "daily"):
        (root / "agents/a" / name).mkdir(parents=True)
    for name in ("IDENTITY", "INSTRUCTIONS"):
        (root / f"agents/a/{name}.md").write_text("Short.\n", encoding="utf-8")
    return Workspace(root)


Run = Callable[[bytes], None]


def targets(workspace: Workspace) -> Mapping[str, Run]:
    """The targets by name."""
    named = {name.removeprefix("run_"): run for name, run in globals().items() if name.startswith("run_")}
    return {**named, "read": workspace.read, "build": workspace.build, "settings": workspace.settings}
