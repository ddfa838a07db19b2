"""Laws of every import format: no text is lost, a second import changes nothing, and broken input is one line."""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from contextasm.config.input.yaml_loader import load_yaml
from contextasm.model import ContextasmError, Document
from contextasm.text.exchange.entry import CheckedEntries, SourceFile, checked_entries
from contextasm.text.exchange.formats import IMPORT_FORMATS
from contextasm.text.markdown.front_matter import front_matter
from contextasm.text.memories.parser import parse_memories
from contextasm.workspace.editing.remember import store_entries
from contextasm.workspace.folder import Folder
from contextasm.workspace.storage import MemoryPlace
from tests.command import CASES

FOLDER = "agents/a/memories"
PLACE = MemoryPlace(FOLDER, f"{FOLDER}/imported.md")
FORMATS = [*IMPORT_FORMATS]
NAME = "folder/MEMORY.md"


def checked(name: str, text: str) -> CheckedEntries:
    return checked_entries(IMPORT_FORMATS[name][0]([SourceFile(NAME, text)], load_yaml))


# --- Texts as each program writes them ---

LINES = st.lists(
    st.sampled_from(
        [
            *("", "", "---", "* * *", "___", "- - -", "# A", "### B", "**C**", "__D:__", "- [A](a.md)"),
            *("[A](a.md), [B](b.md)", "```", "~~~ py", "<!-- note -->"),
            *("<!-- observed: 2025-03-01 | status: superseded -->", "<!-- observed: 2025-03-08 | status: active -->"),
            *("name: x", "- [ ] open", "- one <!-- more -->", "===", "    - x"),
        ]
    )
    | st.tuples(st.sampled_from(["", "", "- ", "  ", "* ", "> ", "1. ", "- [D](d.md) - "]), st.integers(0, 3)).map(
        lambda drawn: f"{drawn[0]}word{drawn[1]}"
    ),
    min_size=1,
    max_size=9,
).map("\n".join)
"""Lines of Markdown, some of them twice, so that entries are there again."""


def markdown_in_json(text: str) -> str:
    return json.dumps([{"conversations_memory": text, "project_memories": {"p": text}}])


def codex(text: str) -> str:
    text = text.replace("# A", "# Task Group: A").replace("### B", "### keywords")
    return re.sub("(?m)^word1", "scope: word1", text)


def letta_blocks(text: str) -> str:
    return json.dumps({"blocks": [{"label": "human", "value": text}]})


MARKDOWN: Mapping[str, Callable[[str], str]] = {
    "claude-code": str,
    "claude-export": markdown_in_json,
    "codex": codex,
    "hermes": lambda text: text.replace("\n\n", "\n§\n"),
    "letta": letta_blocks,
    "openclaw": str,
}
"""Writers of the formats that hold Markdown."""

TEXTS = st.text(st.characters(codec="utf-8", categories=["L", "N", "P", "Zs"]), max_size=20).map("w{}".format)
VALUES: st.SearchStrategy[object] = (
    st.none() | st.booleans() | st.integers(0, 9) | st.just("word") | st.just([]) | st.just(["a", 1])
)
EXTRA = st.dictionaries(st.sampled_from(["metadata", "hash", "more"]), VALUES, max_size=2)
ITEMS = st.lists(st.tuples(TEXTS, EXTRA), min_size=1, max_size=5)
Items = Sequence[tuple[str, Mapping[str, object]]]


def mem0(items: Items) -> str:
    return json.dumps({"results": [{"id": str(n), "memory": text, **more} for n, (text, more) in enumerate(items)]})


def memory_server(items: Items) -> str:
    lines = (
        {"type": "entity", "name": f"E{n}", "observations": [text, text], **more}
        for n, (text, more) in enumerate(items)
    )
    return "\n".join(map(json.dumps, lines))


def letta_passages(items: Items) -> str:
    return json.dumps([{"id": str(n), "text": text, "tags": [text], **more} for n, (text, more) in enumerate(items)])


def beads(items: Items) -> str:
    lines = ({"_type": "memory", "key": str(n), "value": text, **more} for n, (text, more) in enumerate(items))
    return "\n".join(map(json.dumps, lines))


def own_lines(items: Items) -> str:
    """Lines without ids; other keys would be refused."""
    return "\n".join(json.dumps({"text": text}) for text, _ in items)


WRITERS: Mapping[str, Callable[[Items], str]] = {
    "beads": beads,
    "letta": letta_passages,
    "mem0": mem0,
    "memory-server": memory_server,
    "jsonl": own_lines,
}
"""Writers of the formats that hold values."""


def test_each_format_is_held_to_the_laws() -> None:
    assert {*MARKDOWN, *WRITERS} == {*IMPORT_FORMATS}


# --- The laws ---


def lines_lost(text: str, entries: CheckedEntries, place: str) -> list[str]:
    """Lines of a Markdown text that are in no memory, in no tag and not told; `place` comes before their numbers."""
    told = {int(part.where.removeprefix(place)) for part in entries.left_out if part.where.startswith(place)}
    fields = [[*entry.fields.get("tags", ()), entry.fields.get("created", "")] for entry in entries.entries]
    held = "\n".join([*(entry.text for entry in entries.entries), *chain(*fields)])
    lost = []
    front = front_matter(text.split("\n")).lines if place == f"{NAME}:" else 0  # Its keys are told by their names.
    for number, line in [*enumerate(text.split("\n"), 1)][front:]:
        observed = re.search(r"observed: (\S+)", line)
        link_words = re.sub(r"\[(.)\]\(..md\)", r"\1", line)
        forms = {form.strip() for form in (line, link_words, observed[1] if observed else "")}
        words = forms | {form.strip("#*_: ").removeprefix("- ").strip() for form in forms}
        # A state that does not hold is told at the line of its entry, below the comment.
        is_told = (
            number in told
            or (number <= front and place == f"{NAME}:")
            or (observed and any(number < below for below in told))
        )
        if line.strip() and not is_told and not any(form in held for form in words if form):
            lost.append(line)
    return lost


@pytest.mark.parametrize("name", MARKDOWN)
@given(LINES)
def test_law_no_line_is_lost_untold(name: str, text: str) -> None:
    entries = checked(name, MARKDOWN[name](text))
    in_json = {
        "claude-export": ("[0]: conversations_memory: line ", "[0]: project_memories: p: line "),
        "letta": ("blocks[0]: value: line ",),
    }
    for place in [f"{NAME}: {key}" for key in in_json[name]] if name in in_json else [f"{NAME}:"]:
        assert lines_lost(text, entries, place) == []


@pytest.mark.parametrize("name", WRITERS)
@given(ITEMS)
def test_law_no_value_is_lost_untold(name: str, items: Items) -> None:
    entries = checked(name, WRITERS[name](items))
    texts = {entry.text for entry in entries.entries}
    for number, (text, _) in enumerate(items):
        assert {text.strip(), f"E{number}: {text.strip()}"} & texts
    keys = sorted(f"key {key}" for _, more in items for key, value in more.items() if value not in (None, []))
    assert sorted(part.what for part in entries.left_out) == (keys if name != "jsonl" else [])


def store_twice(root: Path, entries: CheckedEntries) -> None:
    """Import into an empty workspace, and hold the second import to changing nothing."""
    (root / FOLDER).mkdir(parents=True)
    outcomes = store_entries(Folder(root), PLACE, entries.entries, update=False, dry_run=False)
    assert {outcome.outcome for outcome in outcomes} == {"added"}
    document = Folder(root).read(PLACE.path)
    assert isinstance(document, Document)
    memories, problems = parse_memories(document)
    assert problems == ()
    assert [(memory.id, memory.text) for memory in memories] == [(entry.id, entry.text) for entry in entries.entries]
    before = (root / PLACE.path).read_bytes()
    again = store_entries(Folder(root), PLACE, entries.entries, update=True, dry_run=False)
    assert {outcome.outcome for outcome in again} == {"left"}
    assert (root / PLACE.path).read_bytes() == before


@pytest.mark.parametrize("name", FORMATS)
@given(LINES, ITEMS)
def test_law_what_is_imported_is_read_back_and_a_second_import_changes_nothing(
    tmp_path_factory: pytest.TempPathFactory, name: str, text: str, items: Items
) -> None:
    entries = checked(name, MARKDOWN[name](text) if name in MARKDOWN else WRITERS[name](items))
    if entries.entries:
        store_twice(tmp_path_factory.mktemp("w"), entries)


KEYS = (
    *("results", "id", "memory", "type", "name", "observations", "from", "to", "relationType", "text", "tags"),
    *("created", "created_at", "conversations_memory", "project_memories", "importance"),
    *("blocks", "core_memory", "label", "value", "_type", "key"),
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS) | st.text(max_size=4), inner, max_size=4)
    ),
    max_leaves=12,
).map(json.dumps)
SAMPLES = {
    path.read_text(encoding="utf-8"): path.relative_to(CASES / "exchange").parts[0]
    for path in sorted(CASES.glob("exchange/**/*.*"))
}
"""The files of the golden cases, each with its format."""
CUT = st.tuples(st.sampled_from([*SAMPLES]), st.integers(0, 2_000)).map(lambda drawn: drawn[0][: drawn[1]])
ANY = st.text(st.characters(), max_size=60)


@pytest.mark.parametrize("name", FORMATS)
@given(JSON | CUT | LINES | ANY)
@example("---\nname: [\n---\n")
@example('{"type": "entity", "name": "A", "observations": {"a": 1}}')
@example('[{"id": {"a": 1}, "memory": "x"}]')
@example("---\nname: x\nmetadata: {modified: [1]}\n---\nx")
@example("<!-- observed: -->\n- x")
def test_law_any_input_is_a_result_or_an_error_of_one_line(name: str, text: str) -> None:
    checked_or_refused(name, text)


def checked_or_refused(name: str, text: str) -> CheckedEntries | None:
    """The entries of a text; None for an error, which is held to be of one line."""
    try:
        return checked(name, text)
    except ContextasmError as raised:
        error = raised
    parts = (error.where, error.what, error.hint)
    assert all(parts)
    assert "\n" not in "".join(parts)
    return None


def hostile(text: str) -> Iterator[str]:
    """A file of a program as accidents and attackers leave it."""
    yield from (text[: len(text) * part // 8] for part in range(1, 8))
    for value in (
        "1",
        "null",
        "true",
        "[]",
        "{}",
        '""',
        '" "',
        '"\\ud800"',
        '"\\u0000"',
        "NaN",
        "9" * 500,
        "[[[1]]]",
    ):
        yield re.sub(r'"[^"]*"(?=[,}\]])', value.replace("\\", r"\\"), text)
    yield from (deep * 25_000 for deep in ("[", '{"blocks":', "- ", "> ", "§\n", "# Task Group: a\n"))
    yield re.sub(r'"(\w+)": *("[^"]*")', r'"\1": [], "\1": \2, "\1": 1', text)
    yield from (text.replace(" ", mark) for mark in ("\0", "\r", "\ufeff", "\u2028", "\u200b", "\ud800"))
    yield from (text + text, text * 200, f"---\nid: x\nprivate: true\n---\n{text}")


@pytest.mark.parametrize("name", FORMATS)
def test_hostile_files_are_imported_whole_or_refused(tmp_path: Path, name: str) -> None:
    texts = [*chain(*(hostile(sample) for sample, owner in SAMPLES.items() if owner == name))]
    assert len(texts) > 25
    for number, text in enumerate(texts):
        if (entries := checked_or_refused(name, text)) and entries.entries:
            store_twice(tmp_path / str(number), entries)
