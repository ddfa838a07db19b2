"""Laws of import and export: what goes out comes in again, and a second import changes nothing."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextasm.config.input.yaml_loader import load_yaml
from contextasm.model import ContextasmError, Document, Memory
from contextasm.text.cleaning.clean import clean_text, decode_document
from contextasm.text.exchange.claude import claude_code_pages, read_claude_code
from contextasm.text.exchange.entry import SourceFile, checked_entries
from contextasm.text.exchange.json_formats import read_json_lines, write_json_lines
from contextasm.text.exchange.pages import write_okf
from contextasm.text.memories.parser import parse_memories
from contextasm.text.memories.writer import clean_lines
from contextasm.workspace.editing.remember import store_entries
from contextasm.workspace.folder import Folder
from contextasm.workspace.storage import MemoryPlace
from tests.workspaces import any_memories

FOLDER = "agents/a/memories"
PLACE = MemoryPlace(FOLDER, f"{FOLDER}/imported.md")


MARKDOWN_LINES = (
    *("# Heading", "## 2025-03-10", "- a bullet", "* another", "  - below", "1. one", "> quoted", "---", "***", ""),
    *("", "```", "```py", "~~~", "    code", "\tcode", "| a | b |", "[x] done", "[ ] open", "[a](b.md)"),
    *("(in brackets)", "{importance=0.9}", "{id=x}", "ends in {braces}", "{private}", "<!-- a comment -->"),
    *("type: fact", "- [fact] one"),
)
"""Lines that mean something in a file of memories."""


LINES = st.lists(st.sampled_from(MARKDOWN_LINES) | st.text(st.characters(codec="utf-8"), max_size=20), max_size=5)
TEXTS = LINES.map("\n".join).map(lambda text: clean_lines(clean_text(clean_lines(text)).text)).filter(bool)
WORDS = st.from_regex(r"[a-zé]{1,5}( [a-z]{1,4})?", fullmatch=True)
MEMORIES = any_memories(
    WORDS,
    path=st.just("agents/b/memories/m.md"),
    line=st.integers(1, 9),
    text=TEXTS,
    type=st.sampled_from(["note", "fact", "open_question"]),
    status=st.sampled_from(["active", "superseded", "draft", "of its own"]),
)


def stored(root: Path) -> list[Memory]:
    """The memories of the file, without their places."""
    document = Folder(root).read(PLACE.path)
    assert isinstance(document, Document)
    return [memory._replace(path="", line=0) for memory in parse_memories(document)[0]]


@given(st.lists(MEMORIES, min_size=1, max_size=4, unique_by=lambda memory: memory.id))
def test_law_export_then_import_gives_equal_memories(
    tmp_path_factory: pytest.TempPathFactory, memories: list[Memory]
) -> None:
    root = tmp_path_factory.mktemp("w")
    (root / FOLDER).mkdir(parents=True)
    lines = write_json_lines(memories)
    checked = checked_entries(read_json_lines([SourceFile("f", lines)], lambda *_: None))
    assert len(checked.problems) == sum(memory.status == "of its own" for memory in memories)
    outcomes = store_entries(Folder(root), PLACE, checked.entries, update=False, dry_run=False)
    assert [outcome.outcome for outcome in outcomes] == ["added"] * len(memories)
    assert stored(root) == [memory._replace(path="", line=0) for memory in memories]
    before = (root / PLACE.path).read_bytes()
    again = store_entries(Folder(root), PLACE, checked.entries, update=True, dry_run=False)
    assert {outcome.outcome for outcome in again} == {"left"}
    assert (root / PLACE.path).read_bytes() == before


@given(st.lists(MEMORIES, min_size=1, max_size=4, unique_by=lambda memory: memory.id), st.data())
def test_law_an_update_makes_each_memory_the_one_of_the_file(
    tmp_path_factory: pytest.TempPathFactory, memories: list[Memory], data: st.DataObject
) -> None:
    root = tmp_path_factory.mktemp("w")
    (root / FOLDER).mkdir(parents=True)
    old = [data.draw(MEMORIES)._replace(id=memory.id, private=False) for memory in memories]
    for update, exported in ((False, old), (False, memories), (True, memories)):
        checked = checked_entries(read_json_lines([SourceFile("f", write_json_lines(exported))], lambda *_: None))
        before = (root / PLACE.path).read_bytes() if (root / PLACE.path).exists() else b""
        store_entries(Folder(root), PLACE, checked.entries, update=update, dry_run=False)
        assert not before or update or (root / PLACE.path).read_bytes() == before
    for was, new, memory in zip(old, memories, stored(root), strict=True):
        assert memory.text == new.text
        for name in Memory._fields[3:]:
            value = getattr(new, name)
            assert getattr(memory, name) == (
                value if value is not False and value not in ("", ()) else getattr(was, name)
            ), name


YAML_WORDS = st.text("aé1 '\\\\#:[]-|&*!%@~?>/", min_size=1, max_size=6).map(str.strip).filter(bool)
"""Words that mean something in YAML."""
PAGED = any_memories(
    WORDS | YAML_WORDS,
    path=st.just("agents/b/memories/m.md"),
    line=st.just(1),
    text=TEXTS,
    type=st.sampled_from(["note", "fact", "open_question"]),
    status=st.sampled_from(["active", "superseded", "draft"]),
)


def sources(pages: Mapping[str, str]) -> dict[str, SourceFile]:
    return {name: SourceFile(name, text) for name, text in pages.items()}


@given(st.lists(PAGED, min_size=1, max_size=4, unique_by=lambda memory: memory.id))
def test_law_a_folder_of_claude_code_gives_back_the_memories(
    tmp_path_factory: pytest.TempPathFactory, memories: list[Memory]
) -> None:
    """Ids, texts and fields: all but the places."""
    root = tmp_path_factory.mktemp("w")
    (root / FOLDER).mkdir(parents=True)
    pages, problems = claude_code_pages(memories, {}, load_yaml)
    assert (len(pages), problems) == (len(memories), [])
    present = sources(pages)
    checked = checked_entries(read_claude_code([*present.values()], load_yaml))
    assert checked.left_out == ()
    store_entries(Folder(root), PLACE, checked.entries, update=False, dry_run=False)
    by_id = {memory.id: memory for memory in stored(root)}
    assert by_id == {memory.id: memory._replace(path="", line=0) for memory in memories}
    assert claude_code_pages(memories, present, load_yaml) == ({}, [])


@given(st.lists(PAGED, min_size=2, max_size=5, unique_by=lambda memory: memory.id), st.data())
def test_law_an_export_writes_over_no_page_that_is_not_as_it_was_exported(
    memories: list[Memory], data: st.DataObject
) -> None:
    first = memories[: data.draw(st.integers(0, len(memories)))]
    pages, _ = claude_code_pages(first, {}, load_yaml)
    edited = {name for name in pages if data.draw(st.booleans())}
    names = data.draw(st.sets(st.sampled_from([memory.id for memory in memories])))
    foreign = {f"{name}.md": data.draw(LINES.map("\n".join)) for name in names if "/" not in name} | {"MEMORY.md": ""}
    present = foreign | {name: text + "\nmore" * (name in edited) for name, text in pages.items()}
    try:
        written, problems = claude_code_pages(memories, sources(present), load_yaml)
    except ContextasmError:  # as an import of that folder would
        return
    assert not written.keys() & (edited | foreign.keys() - pages.keys())
    assert {problem.path for problem in problems} >= edited
    after = checked_entries(read_claude_code([*sources(present | written).values()], load_yaml))
    assert {memory.id for memory in memories} <= {entry.id for entry in after.entries}


@given(st.lists(MEMORIES, min_size=1, max_size=5, unique_by=lambda memory: memory.id))
def test_law_a_bundle_has_a_concept_for_each_memory(memories: list[Memory]) -> None:
    *concepts, (index, listing) = write_okf(memories)
    assert index == "index.md"
    assert 'okf_version: "0.2"' in listing
    assert len({name.casefold() for name, _ in concepts} - {"index.md", "log.md"}) == len(memories)
    for memory, (name, text) in zip(memories, concepts, strict=True):
        document = decode_document(name, text.encode())
        assert isinstance(document, Document)
        front = document.front
        assert (front["type"], front["id"], front.get("created", "")) == (memory.type, memory.id, memory.created)
        assert document.text.strip() == memory.text.strip()
        assert sum(line.endswith(f"]({name})") for line in listing.split("\n")) == 1
